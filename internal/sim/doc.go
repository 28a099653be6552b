// Package sim runs the lease protocol and its generators through years of
// faults in seconds, and checks at every step what they promise.
//
//	report := sim.Run(sim.Draw(seed), sim.Config{})
//
// It is the real code: packages internal/lease and drive, the generators of package
// snowfence with calls that wait, package internal/journal, package internal/lend for borrowers
// and for the daemons that lend to them, and the reference store.
// What is around them is made up: clocks, machines, disks and the network. All of it runs
// in one goroutine on virtual time, and a [Plan] decides all of it, so what is found once
// is found again.
//
// A plan is data. It is drawn from a seed ([Draw]), written down as a scenario
// ([Parse], [Plan.String]), made smaller while it still fails ([Shrink]), and
// run ([Run]).
//
// # What is checked
//
//	unique    no two ids of a layout are equal
//	fenced    a tick of a worker id is stamped by one generator only
//	bounded   a stamped tick lies in its term's interval as the store has it
//	order     the ids of a generator increase
//	strict    with one worker id, the ids of all generators increase, but where a monotonic
//	          clock stood still or a limit was passed
//	monotone  until comes down by a rollback of the store, or by a release, and
//	          then to no less than the term's floor and all that was stamped
//	waiting   a call for ids ends within max-wait, and at once when its generator
//	          was sealed
//	layout    nothing is issued under another layout than that of the namespace's
//	          record, be it there from the start or made by whoever came first. Ids
//	          of two layouts are not compared: this rule is what parts them
//	live      when the faults have ended, every node for which there is a worker
//	          id issues again within two windows, the store's loss and a little
//	outage    a holder says that ids can't be issued, since when and why, if and only
//	          if its generator issues none; it reports so when calls begin to be
//	          refused, and reports the end; it looks again in time, and counts right
//	events    the driver takes each event to the state once, in order, with random bits
//	          that are new; tells each loss of the clock once; keeps no generator that
//	          was revoked; and is not woken all the time
//	answer    an answer that did not come is unknown, and says why
//	lending   a daemon that lends writes registers, and never the namespace's record
//	broken    no process fails for good without a reason in the plan
//	harness   the simulation itself is sound
//
// A borrower is held to these rules, too: its issuer is the lease. A limit below excuses it as it
// excuses a generator.
//
// Two kinds of faults are limits of what a store can fence: a rollback of the
// store beyond what it declares, be it to nothing at all, and a copy of a process's
// memory. In plans that have them ids may be repeated, and are counted, but only below
// the bounds that were forgotten, or that both copies knew, and only if one of the two
// issued under a nonce that was written before the rollback, or that both copies had.
// Where it turns out that a store loses writes, so may those be that were issued before
// that was known, and by nobody who goes on with their terms. Any other repetition is a
// finding like every other.
//
// # Where to read
//
// A [Plan] comes from draw.go, lapse.go, scenario.go and shrink.go. What runs it is
// world.go, on an [Agenda], with machines (node.go, clock.go, disk.go, hand.go), the
// way to the stores (network.go) and the stores (server.go, forget.go); trouble.go
// lets the faults strike. On a machine runs an [Allocator]: ours is holder.go, and
// intake.go and supply.go judge it. Another one is borrower.go, a program without a
// fence; lending.go takes its questions to the daemons, which live beside our holders.
// caller.go makes the calls for ids. The ids come to ledger.go, and calm.go says what
// is owed when the faults have ended. record.go writes the steps of a run for package
// trace, which holds them against the model of the protocol. In testdata are scenarios,
// each of which opens with the claim that it proves.
package sim
