// Package sim runs the lease protocol and its generators through years of
// faults in seconds, and checks at every step what they promise.
//
//	report := sim.Run(sim.Draw(seed), sim.Config{})
//
// It is the real code: packages internal/lease and drive, the generators of package
// snowfence with calls that wait, package internal/journal, and the reference store. What is made up is everything around them: clocks, machines, disks, the
// network and the hour. All of it runs in one goroutine on virtual time, and a [Plan] decides
// all of it, so what is found once is found again.
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
//	broken    no process fails for good without a reason in the plan
//	harness   the simulation itself is sound
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
//	agenda.go    what is still to happen
//	clock.go     a machine's clocks
//	plan.go, fault.go               what a run is about
//	draw.go, lapse.go, scenario.go, shrink.go where plans come from
//	server.go    a store, and what is known of its registers
//	forget.go    what a store forgets, and which repeated ids that explains
//	network.go   the way to it
//	process.go   what may run on a machine: write an [Allocator] to simulate another
//	holder.go    ours: a shell around the driver that ships
//	intake.go    how the driver takes events
//	supply.go    what it says of its outages
//	bugs.go      what tests put in the place of right code
//	caller.go    the calls for ids, which may wait
//	node.go, trouble.go, arm.go     machines, and what befalls them
//	disk.go, papers.go              their journals, and the folders of these
//	ledger.go    every id that was issued, as ranges
//	world.go     all of it together
//	calm.go      what is owed when the faults have ended
//	tally.go     what happened how often
//	testdata     scenarios, each of which opens with the claim that it proves
//	describe.go, version.go         for people, and for runs that are resumed
package sim
