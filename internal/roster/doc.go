// Package roster reads and operates the registers of a namespace: who holds
// which worker id until when, and the few marks that an operator may write.
//
//	r, err := roster.Open(ctx, roster.Config{Store: s, Namespace: "orders"})
//	for w, err := range r.Workers(ctx) { … }
//	w, err := r.Worker(ctx, 7)
//	w, err = r.Release(ctx, w)
//
// It is for people and for the programs that help them, and stands beside the
// protocol of package fence, not in it: no holder needs it.
//
// # What it promises
//
// Whatever is written here keeps the theorem of docs/proof.md, whoever runs
// meanwhile. Each write is one swap under the exact version of the register that
// was read and shown, so it applies to that and to nothing else; if the register
// changed since, nothing happens and a [*ConflictError] shows what it is now.
// Until is never lowered. A running holder whose register was changed finds that
// out at its next extension, within a third of its window, ends its term and
// issues nothing more under it; the ticks that it stamps before that lie below
// the until that stands in the register, and whoever claims next begins there.
//
// Nothing is left out of what is read: a register that can't be decoded, one
// that the store can't read, a key that is no worker id's, all are yielded as
// what they are.
//
// # Clocks
//
// A [Worker] is judged by one clock, the reference: the store's, where its
// engine has one, else this host's. Two machines' clocks can't be compared
// through a register exactly, because nobody knows when the other one wrote. What
// is known is [Worker.Age]: the reference's time of reading minus the writer's
// time of writing. A holder writes once in a third of its window, so for one that
// lives and has a right clock it lies between zero and that. Less than zero means
// that the writer's clock is ahead, by at least as much. More means that the
// writer is behind, or has not written. What is written here carries the
// reference's time, since nobody has judged the clock of an operator's host.
package roster
