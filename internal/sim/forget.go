package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// failover takes away acknowledged writes, as far as the store declares.
func (s *server) failover(age time.Duration) {
	n, err := s.memory.Failover(age)
	if err != nil {
		s.w.breaks("harness", "%v", err)
	}
	if n == 0 {
		return
	}
	s.w.struck(Failover, s.index, "%d writes are lost", n)
	before := maps.Clone(s.registers)
	s.reread()
	for key, was := range before { // each is for itself: their order does not matter
		// What was lost had not been confirmed, so nothing was stamped by it, or
		// ever will be. Of a register that was rolled back, a holder may know more.
		switch is := s.registers[key]; {
		case was.Holder == "" || s.excused[was.Holder]:
		case was.Holder == is.Holder:
			s.bounds[was.Holder] = min(s.bounds[was.Holder], is.Until)
		default:
			s.bounds[was.Holder] = 0
		}
	}
}

// rollback puts the whole store back, and with it what it knew of ticks.
func (s *server) rollback(to memstore.Snapshot, age time.Duration) {
	s.w.struck(Rollback, s.index, "the store is as it was %s ago", age)
	for worker, until := range s.reached { // order does not matter
		s.forgotten[worker] = max(s.forgotten[worker], until)
	}
	for nonce := range s.bounds { // nor here
		s.excused[nonce] = true
	}
	s.memory.Restore(to)
	s.reread()
}

// reread forgets what was taken away: no read shows it any more, however late.
// What one rollback took away another may bring back.
func (s *server) reread() {
	for entry, err := range s.client.List(context.Background(), "") {
		if err != nil {
			s.w.breaks("harness", "%v", err)
			return
		}
		s.know(entry.Key)
	}
	for _, key := range s.keys {
		entry, err := s.client.Get(context.Background(), key)
		if err != nil {
			s.past[key] = nil
			delete(s.registers, key)
			s.noteRecord(key, nil)
			continue
		}
		s.noteRecord(key, entry.Value)
		past := s.past[key]
		kept := slices.IndexFunc(past, func(e store.Entry) bool { return e.Version == entry.Version })
		if s.past[key] = past[:kept+1]; kept < 0 {
			s.past[key] = []store.Entry{entry}
		}
		if !isRegister(key) {
			continue
		}
		if register, err := lease.DecodeRegister(entry.Value); err == nil {
			s.registers[key] = register
		}
	}
	s.keys = slices.DeleteFunc(s.keys, func(key string) bool { return len(s.past[key]) == 0 })
}

// forgiven is the tick of a worker below which ids may be repeated, because a
// limit of what a store can fence struck.
func (s *server) forgiven(worker int64) snowfence.Tick {
	if s.w.bugs.strict {
		return 0
	}
	return s.forgotten[worker]
}

// excuses reports whether two issuers may both have issued a tick of a worker,
// because of a limit. It takes one of them that the limit struck: those that
// claimed afterwards know of each other, and have no excuse. Where there are no
// nonces only the tick counts.
func (s *server) excuses(worker int64, at snowfence.Tick, one, other *issuer) bool {
	return at < s.forgiven(worker) && (one.generator == nil || s.excused[one.nonce] || s.excused[other.nonce])
}
