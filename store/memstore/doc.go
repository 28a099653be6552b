// Package memstore is the reference store: a map under a lock, with every rule
// of package store kept in the plainest way. It lives and dies with its
// process, so it is for tests, for simulation and for trying things out.
//
// A [Memory] is the store, and [Memory.Client] opens a client of it, as
// independent of the other clients as two connections to one server are:
//
//	memory := memstore.New()
//	a, b := memory.Client(), memory.Client()
//
// [Open] and [OpenURL] open a memory of one client.
//
// It can also fail as real engines do, on command and no further than it
// declares: [Memory.Failover] takes away the youngest acknowledged writes of a
// lossy memory, and [Memory.Restore] rolls the whole store back, which engines do not declare, and
// which their operators can do to every engine.
package memstore
