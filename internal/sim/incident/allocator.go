package incident

import "snowfence.example/snowfence/internal/sim"

// Allocator is a way to come by a worker id.
type Allocator struct {
	// Name heads its column.
	Name string
	// Manner says in a few words how it goes, and whose it is.
	Manner string
	// Program returns what runs on the machines of a fleet, for one run.
	Program func(Fleet) sim.Program
	// Ours says that it is Snowfence's own, which promises something.
	Ours bool
}

// Allocators returns all of them, ours last.
func Allocators() []Allocator {
	return []Allocator{
		{Name: "static", Manner: "a configured worker id, 0 if there is none; the clock is trusted (most libraries)", Program: derive(configured)},
		{Name: "steady", Manner: "the same, with a clock that is read at the start and runs on monotonically (bwmarrin)", Program: monotonic},
		{Name: "IP", Manner: "the low 16 bits of the address (Sonyflake)", Program: derive(lowIP)},
		{Name: "MAC", Manner: "the low 10 bits of the network card's address (DotNetCore.CAP)", Program: derive(lowMAC)},
		{Name: "PID", Manner: "the process id modulo 1,024", Program: derive(pid)},
		{Name: "MAC+PID", Manner: "five bits of the card's address, five of a hash of it and the process id (MyBatis-Plus)", Program: derive(macAndPID)},
		{Name: "name", Manner: "a hash of the host's name modulo 1,023 (SeaweedFS)", Program: derive(hostName)},
		{Name: "INCR", Manner: "a counter in Redis, modulo the number of worker ids (Hyperf)", Program: incrs},
		{Name: "TTL", Manner: "a Redis key that lasts 30 s and is prolonged every 10 s; its loss is noticed then, and another number is taken", Program: redis},
		{Name: "TTL, blind", Manner: "the same, and a loss is not noticed", Program: redisBlind},
		{Name: "session", Manner: "an ephemeral node, a start within 10 s of the peers' mean clock, then 10 s of rest (Twitter)", Program: twitter},
		{Name: "upload", Manner: "a number for each address, the clock uploaded every 3 s and compared at the start, the number in a file (Leaf)", Program: leafs},
		{Name: "recycle", Manner: "a pool with a heartbeat of 3 s, used again after an hour of silence (a fork of Leaf)", Program: recycles},
		{Name: "Snowfence", Manner: "a window of ticks under a term, by compare-and-swap; 60 s, the defaults", Program: func(Fleet) sim.Program { return sim.Ours() }, Ours: true},
	}
}
