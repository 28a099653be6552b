// Package lease is the protocol by which holders keep worker ids. It is a function: a
// state, an event and the time give the next state and the requests to carry out. Goroutines, clocks,
// I/O and random numbers are its caller's. Package drive runs it, for programs and for simulators.
// docs/proof.md explains and proves it.
//
//	state, err := lease.New(config)
//	state, requests := state.Step(lease.Started{}, now)
//	for each request: carry it out; the answer is the next event
//	at state.Wake(): state, requests = state.Step(lease.Woken{}, now)
//
// # The phases
//
//	 Started                             Started with a journal's page
//	    │                                      │
//	┌─► Opening ◄── the register changed ── Resuming ◄─► Comparing: the store's time
//	│   │ the namespace's record is read       │         is asked for, if it has one
//	│   Judging                                │
//	│   │ the clock will do                    │
//	│   Probing ◄─────────┐                    │
//	│   │ one is free     │ taken              │
//	│   Claiming ─────────┘                    │
//	│   │ the swap took effect                 │
//	│   Confirming, on a lossy store           │
//	│   │ a second swap took effect            │
//	│   Verifying                              │
//	│   │ the record is still the same         │
//	│   Recording, with a journal ◄────────────┘
//	│   │ the first page is durable
//	│   Holding ◄─► Comparing: a resumed term issues, but the store was silent.
//	│   │           Its time is asked for before the term is extended.
//	└───┘ the term is lost
//
//	Opening to Verifying   the claim fails: Resting, then Opening
//	Opening to Holding     the clock steps forward: Opening
//	at any time            another layout or incarnation is read: Failed
//	at any time            ReleaseAsked: Releasing if there may be a term, then Stopped
//
// The outcome of a write is open in Claiming, Confirming, Holding and Releasing. A term's
// next write waits until it is known. A claim may be given up undecided, when its register
// is damaged or its time is over: nothing is ever issued under it.
//
// # Where to read
//
//	event.go     the events, and the requests
//	state.go     the state, and the step
//	flow.go      how the machines follow each other
//	search.go    a worker id is looked for; also judge.go, probe.go and pool.go
//	term.go      claim, extend and confirm; also write.go and settle.go
//	journal.go   the term's page on this machine's disk; also page.go and resume.go
//	end.go       terms are lost, released and given up
//	outage.go    whether ids can be issued, or the reason
//	step.go      the inputs of a step, and its requests
//
// Package stored has the records of the store and of the journal, and who may claim one.
package lease
