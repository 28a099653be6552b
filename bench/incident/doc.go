// Command incident re-enacts known incidents of id generators, with the
// ways in which worker ids are handed out there and with Snowfence's own, on the
// same plan. It is for the page docs/incidents.md, whose tables it makes.
//
//	GOWORK=off go run ./incident                               # prints them
//	GOWORK=off go run ./incident -page ../docs/incidents.md    # what `make incidents` does
//
// An [Incident] is a plan of package sim, written down as a scenario in testdata,
// and a [Fleet], which says what the machines are like: their addresses, process
// ids, names. An [Allocator] is a way to come by a worker id. Each incident runs
// with each allocator on the same seeds, and what is counted is the ids, those of
// them that were issued before, and for how long a machine refused.
//
// # Why it is fair
//
// Only the allocation differs, and the clock with it: Leaf's manner and its fork's
// have Leaf's policy, those of bwmarrin's library its clock, and all others
// Twitter's policy, which refuses. All of them mint by the real
// [snowfence.Generator], so none repeats an id by a flaw of its own while its
// process lives. They speak to the same store, whose clock is right, and which
// keeps what it acknowledged but where the incident is that it does not; that one
// is not run for those whose store is a quorum. Ours is run without the store's
// clock, too. A race that such a store rules out (two owners of one key) is ruled
// out for them too. Where the field knows a better and a worse form of a manner,
// the better one is here, and the worse one beside it if it is common. Each of
// them issues no id twice in a run in which nothing goes wrong, and a test holds
// that.
//
// # Where to read
//
//	machine.go    what the machines are like
//	incident.go   the incidents, whose plans are in testdata, and the allocators
//	process.go    what the naive ones have in common
//	dialogue.go   and how they speak to the store
//	derived.go    worker ids from configuration, address, process id, name
//	slot.go       worker ids for a time: Redis keys with a TTL, ZooKeeper's sessions
//	counter.go    Leaf: a number for each address, the time uploaded every 3 s; INCR
//	recycle.go    numbers that are used again after an hour of silence
//	compare.go    the runs, and what is counted
//	main.go       the tables
package main
