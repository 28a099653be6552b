// Package lease is the protocol by which worker ids are held, as a function
// from a state, an event and the time to the next state and what is to be
// done. It starts no goroutine, reads no clock, does no I/O and draws no random
// number: a shell does, and tells it. Package fence is the shell of running
// programs, and its comment is the chapter that explains and proves the
// protocol. This package is for that shell, for simulators, and for readers.
//
//	state, err := lease.New(config)
//	state, requests := state.Step(lease.Started{}, now)
//	for each request: carry it out; those to the store are answered by a Reply
//	at state.Wake(): state, requests = state.Step(lease.Woken{}, now)
//
// A [State] is a value, and [State.Step] leaves it as it was.
//
// # The phases
//
//	            Started
//	               │
//	           ┌───▼────┐ another layout, another incarnation
//	      ┌───►│Opening ├───────────────────────────────────────► Failed
//	      │    └───┬────┘ (also from Verifying and Holding)
//	      │        │ record read
//	      │    ┌───▼────┐ the clock is off
//	      │    │Judging ├───────────────────────────────────────┐
//	      │    └───┬────┘                                       │
//	      │        │ the clock will do        none is free      │
//	      │    ┌───▼────┐ before the claim-wait is over    ┌────▼───┐
//	      │    │Probing ├─────────────────────────────────►│Resting │
//	      │    └─▲─┬────┘                                  └────┬───┘
//	      │ taken│ │ one is free                                │
//	      │    ┌─┴─▼────┐                                       │
//	      │    │Claiming│ swap: term+1, nonce, floor, until     │
//	      │    └───┬────┘                                       │
//	      │        │ acknowledged, or read back                 │
//	      │    ┌───▼────┐                                       │
//	      │    │Verifying  the namespace's record again         │
//	      │    └───┬────┘                                       │
//	      │        ├────────────┐ the store is lossy            │
//	      │        │     ┌──────▼───┐                           │
//	      │        │     │Confirming│ a second swap             │
//	      │        │     └──────┬───┘                           │
//	      │    ┌───▼────┐       │                               │
//	      │    │Holding │◄──────┘ extends at each third         │
//	      │    └───┬────┘                                       │
//	      │  lost, │ or the clock is                            │
//	      └────────┴────────────────────────────────────────────┘
//
//	With a journal, Recording stands before Holding: the term's first page is
//	written. Started with a page of an earlier process leads to Resuming, where
//	the page is written again and the store is asked once; from there to Recording, or to Opening if the store
//	says that the term is gone.
//
//	ReleaseAsked, in any phase: Releasing, if there is or may be a term; Stopped
//
// While a write's outcome is open, in Claiming, Confirming, Holding and
// Releasing, nothing else is written; see settle in write.go.
//
// # Where to read
//
//	event.go     what happens, and what is asked for
//	state.go     the state, and the step
//	open.go      the namespace's record: created, read, read again
//	judge.go     this clock against others
//	probe.go     looking for a worker id
//	standing.go  who may claim a register
//	hold.go      claim, extend, confirm, lose, release
//	write.go     a write, and how its outcome is decided
//	journal.go   the term's page on this machine's disk, and its bound
//	resume.go    going on with the term of an earlier process's page
//	page.go      what the journal keeps
//	register.go, namespace.go, record.go   what the store keeps
package lease
