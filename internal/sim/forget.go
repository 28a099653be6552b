package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/sim/trace"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// failover takes away acknowledged writes, as far as the store declares.
func (s *server) failover(age time.Duration) {
	if !s.lossy {
		return // it has been lucky so far
	}
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
	further := s.w.agenda.Now()-age < s.turned // beyond the known loss
	for key, was := range before {             // each is for itself: their order does not matter
		worker, ok := stored.WorkerOf(stored.DefaultNamespace, s.w.plan.Layout, key)
		if ok && further && s.registers[key].Until < was.Until {
			s.forgotten[worker] = max(s.forgotten[worker], was.Until)
		}
		// The lost writes had not been confirmed: nothing was stamped by them, or will be. A holder may
		// know a later state of a register that was rolled back.
		switch is := s.registers[key]; {
		case was.Holder == "" || s.excused[was.Holder]:
		case was.Holder == is.Holder:
			s.bounds[was.Holder] = min(s.bounds[was.Holder], is.Until)
		default:
			s.bounds[was.Holder] = 0
		}
	}
}

// declare makes it known that the store can lose writes: all processes end, and the next ones start
// with the loss. The ids of the earlier processes rest on writes that may still be lost.
func (s *server) declare() {
	if s.lossy {
		return
	}
	s.lossy, s.turned, s.ignorant = true, s.w.agenda.Now(), s.w.issuers
	s.w.struck(Lossy, s.index, "the store may lose the writes of %s", s.w.plan.Loss)
	for _, n := range s.w.nodes {
		if n.server == s && n.alive {
			n.crash(false, upTo(n.rng, s.w.plan.beat()))
		}
	}
}

// refound empties the store and founds the namespace again, as a person does who takes it for another
// store: with the misfits' layout in a plan with misfits.
func (s *server) refound() {
	if s.w.quiet {
		return
	}
	s.w.struck(Refound, s.index, "the store is empty, and somebody founds the namespace again")
	s.restore(memstore.Snapshot{})
	layout := s.w.plan.Layout
	if s.w.plan.Misfits > 0 {
		layout = misfit(layout)
	}
	s.found(s.index, layout)
}

// restore puts the whole store back, and with it the store's knowledge of ticks.
func (s *server) restore(to memstore.Snapshot) {
	for worker, until := range s.reached { // order does not matter
		s.forgotten[worker] = max(s.forgotten[worker], until)
	}
	for nonce := range s.bounds { // nor here
		s.excused[nonce] = true
	}
	s.memory.Restore(to)
	s.reread()
}

// reread forgets the writes that were taken away: even late reads stop showing them. Another rollback
// may bring them back.
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
			s.recordAt(trace.Failover, key, "", "", stored.Register{})
			continue
		}
		s.recordAt(trace.Failover, key, "", entry.Version, stored.Register{})
		s.noteRecord(key, entry.Value)
		past := s.past[key]
		kept := slices.IndexFunc(past, func(e store.Entry) bool { return e.Version == entry.Version })
		if s.past[key] = past[:kept+1]; kept < 0 {
			s.past[key] = []store.Entry{entry}
		}
		if !isRegister(key) {
			continue
		}
		if register, err := stored.DecodeRegister(entry.Value); err == nil {
			s.registers[key] = register
		}
	}
	s.keys = slices.DeleteFunc(s.keys, func(key string) bool { return len(s.past[key]) == 0 })
}

// forgiven is the tick of a worker below which ids may be repeated, because a limit struck.
func (s *server) forgiven(worker int64) snowfence.Tick {
	if s.w.bugs.strict {
		return 0
	}
	return s.forgotten[worker]
}

// excuses reports whether two issuers may both have issued a tick of a worker,
// because of a limit. The limit must have struck one of them: issuers that claimed afterwards know of
// each other, and have no excuse. Without nonces only the tick counts. When people find out that a
// store loses writes, the earlier issuers have an excuse, and later ones that go on with their terms do
// not.
func (s *server) excuses(worker int64, at snowfence.Tick, one, other *issuer) bool {
	return at < s.forgiven(worker) && (one.nonce == "" || s.excused[one.nonce] || s.excused[other.nonce] ||
		min(one.number, other.number) <= s.ignorant)
}
