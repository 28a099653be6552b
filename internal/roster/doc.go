// Package roster reads and operates the registers of a namespace. It shows which process
// holds which worker id until when, and writes the few marks of an operator.
//
//	r, err := roster.Open(ctx, roster.Config{Store: s, Namespace: "orders"})
//	for w, err := range r.Workers(ctx) { … }
//	w, err := r.Worker(ctx, 7)
//	err = r.Operate(ctx, roster.Patience{}, func(d *roster.Desk) error { w, err = d.Release(ctx, w); return err })
//
// It is for people and the programs that help them. Holders do not need it.
//
// # Promises
//
// Its writes keep the theorem of docs/proof.md, whatever runs meanwhile.
// Each write is one swap under the exact version of the register that was read and
// shown; if the register changed since, nothing happens and a [*ConflictError] shows
// what it is now. On a lossy store it is confirmed by a second swap: see [Roster.Operate].
// Until is never lowered. A running holder whose register was changed
// finds that out at its next extension, within a third of its window, ends its term
// and issues nothing more under it; the ticks that it stamps before that lie below
// the until that stands in the register, and the next claim begins there.
//
// A list leaves nothing out. It also yields a register that can't be decoded, a register
// that the store can't read, and a key of another kind.
//
// # Clocks
//
// A [Worker] is judged by one clock, the reference: the store's, where its engine has one,
// else this host's. A register does not allow an exact comparison of two machines' clocks,
// because the time of the write is not known. [Worker.Age] is known: the reference's time of
// reading minus the writer's time of writing. A holder writes once in a third of its window.
// So the age of a living holder with a right clock is between zero and a third. Less than
// zero means that the writer's clock is ahead, by at least as much. More means that the
// writer is behind, or has not written. A write of this package carries the reference's
// time, since the clock of an operator's host has not been judged.
package roster
