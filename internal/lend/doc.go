// Package lend lends worker ids to programs that have no fence of their own. A borrower claims a worker id with its bounds,
// mints in its own process, extends the bounds and gives the worker id back, each by one request to any daemon of the store.
// No two ids are equal, whichever daemons answer, however often and however late, as long as borrowers keep the five rules
// of docs/lending.md.
//
// A lease is the register of its worker id at the version that the borrower got last. An extension and a release swap
// the register under that version and no other. So a daemon keeps nothing, and which one answers does not matter. A request
// has a random mark, which is a part of the register that it writes: so its copies find the effect of
// the first.
//
//	lease.go     the lease as a text, which is its key
//	request.go   the borrower's requests, and the answer
//	claim.go     a claim, by package lease
//	exchange.go  an extension or a release, a call to the store at a time
//	lender.go    these for callers that wait
//	held.go      the lease as its borrower knows it
//
// A [Claim] and an [Exchange] are functions of the store's answers, as package lease is: they do no I/O.
// docs/lending.md has the messages, docs/proof.md the proof.
package lend
