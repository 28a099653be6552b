// Package sim runs the lease protocol and its generators through years of
// faults in seconds, and checks their promises at every step.
//
//	report := sim.Run(sim.Draw(seed), sim.Config{})
//
// It runs the real code: packages internal/lease and drive, the generators of package
// snowfence with calls that wait, package internal/journal, package internal/lend for borrowers
// and for the daemons that lend to them, and the reference store.
// Clocks, machines, disks and the network are simulated. All of it runs in one goroutine
// on virtual time, and a [Plan] decides all of it, so every finding can be repeated.
//
// A plan is data. It is drawn from a seed ([Draw]), written down as a scenario
// ([Parse], [Plan.String]), made smaller while it still fails ([Shrink]), and
// run ([Run]).
//
// # The rules
//
//	unique    no two ids of a layout are equal
//	fenced    a tick of a worker id is stamped by one generator only
//	bounded   a stamped tick lies in its term's interval as the store has it
//	order     the ids of a generator increase
//	strict    with one worker id, the ids of all generators increase, except where a monotonic
//	          clock stood still or a limit was passed
//	monotone  until comes down only by a rollback of the store, or by a release: then to the
//	          term's floor or above, and above every tick that was stamped
//	waiting   a call for ids ends within max-wait, and at once when its generator
//	          was sealed
//	layout    ids are issued only under the layout of the namespace's record, which was there
//	          from the start or was made by the first process. Ids of two layouts are not
//	          compared: this rule keeps them apart
//	live      when the faults have ended, every node for which there is a worker
//	          id issues again within two windows plus the store's loss and a short time
//	outage    a holder reports that ids can't be issued, with the start and the reason, if and
//	          only if its generator issues none; it reports this when calls begin to be refused,
//	          and then reports the end; it looks again in time, and counts right
//	events    the driver takes each event to the state once, in order, with fresh random bits;
//	          reports each loss of the clock once; drops a revoked generator; and is not woken
//	          all the time
//	answer    a missing answer is unknown, and has a reason
//	lending   a daemon that lends writes registers, and never the namespace's record
//	broken    a process fails for good only for a reason in the plan
//	harness   the simulation itself is sound
//
// A borrower is held to these rules, too: its issuer is the lease. A limit below excuses it as it
// excuses a generator.
//
// Two kinds of faults are limits, which a store can't fence: a rollback of the store beyond
// its declared loss, even to an empty store, and a copy of a process's memory. In plans with
// a limit, ids may be repeated, and repetitions are counted. They must lie below the bounds
// that were forgotten, or that both copies knew, and one of the two issuers must have used a
// nonce that was written before the rollback, or that both copies had. When people find out
// that a store loses writes, ids that were issued earlier may be repeated, too. Two later
// processes must not repeat each other, even if they go on with earlier terms. Any other
// repetition is a finding.
//
// # Where to read
//
// A [Plan] comes from draw.go, lapse.go, scenario.go and shrink.go. world.go runs it on an
// [Agenda], with machines (node.go, clock.go, disk.go, folder.go), the way to the stores
// (network.go) and the stores (server.go, forget.go); strike.go applies the faults.
// A machine runs an [Allocator]: ours is holder.go, and intake.go and supply.go judge it.
// Another one is borrower.go, a program without a fence; lending.go takes its questions to
// the daemons, which live beside our holders. caller.go makes the calls for ids. The ids
// come to ledger.go, and recovery.go checks that nodes issue again when the faults have
// ended. record.go writes the steps of a run for package trace, which holds them against
// the model of the protocol. testdata holds scenarios, each of which opens with the claim that it proves.
package sim
