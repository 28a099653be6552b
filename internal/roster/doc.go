// Package roster reads and operates the registers of a namespace. It shows which process
// holds which worker id until when, and writes the few marks of an operator.
//
//	r, err := roster.Open(ctx, roster.Config{Store: s, Namespace: "orders"})
//	for w, err := range r.Workers(ctx) { … }
//	w, err := r.Worker(ctx, 7)
//	w, err = r.Release(ctx, w)
//
// It is for people and for the programs that help them. It is beside the protocol of
// package fence, not in it: no holder needs it.
//
// # What it promises
//
// Every write keeps the theorem of docs/proof.md, also while holders run. A write is one
// swap, guarded by the exact version of the register that was read and shown. If the
// register has changed since, nothing happens, and a [*ConflictError] shows the register as
// it is now. A lost reply is settled by the rule of package lease, in three tries; after them
// the error says that the outcome is unknown, and [ConflictError.Unsure] that an earlier try
// may have taken effect. Until is never lowered. A running holder notices the change of its register at
// its next extension, within a third of its window. Then it ends its term and issues
// nothing more under it. The ticks that it stamps before that lie below the register's
// until, and the next claim begins there.
//
// A list leaves nothing out. It also yields a register that can't be decoded, a register
// that the store can't read, and a key that is no worker id's.
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
