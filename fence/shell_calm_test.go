package fence_test

import (
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// settled checks that whoever may have a worker id issues ids when the faults have
// ended.
func (w *world) settled() {
	begun := w.now()
	limit := 2*w.plan.window + w.plan.loss + w.plan.window/4 + 2*w.plan.timeout + time.Second
	for _, m := range w.machines {
		m.mu.Lock()
		m.issues = false
		m.mu.Unlock()
	}
	owed := w.owed()
	for {
		w.look()
		missing := w.missing(owed)
		if missing == "" {
			return
		}
		if w.now()-begun > limit {
			if missing = w.missing(w.owed()); missing != "" {
				w.breaks("live", "%s after the faults ended: %s", w.now()-begun, missing)
			}
			return
		}
		pass(w.plan.window / 20)
	}
}

// owed returns how many machines of each group are to issue: those of the pool,
// and those of each pinned worker id.
func (w *world) owed() map[int64]int {
	owed := map[int64]int{}
	free := w.free()
	for _, m := range w.machines {
		if worker, ok := m.bars(); ok {
			free[worker] = false
		}
	}
	for _, m := range w.machines {
		switch g := m.group(); {
		case g < 0:
			owed[g]++
		case free[g]:
			owed[g] = 1
		}
	}
	return owed
}

// bars returns the worker id that the machine keeps from its own group: pinned, it
// waits for its clock to be back where it has been; of the pool, it holds one that
// others are pinned to.
func (m *machine) bars() (worker int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return 0, false
	}
	s := m.process.holder.Load().Status()
	return s.Worker, s.Term > 0 && (m.pin == nil || s.Generator.ClockLost)
}

// group is the pinned worker id, or -1 for the pool.
func (m *machine) group() int64 {
	if m.pin == nil {
		return -1
	}
	return *m.pin
}

// free returns the worker ids that can be claimed within a window from now, and
// those whose ticks have come.
func (w *world) free() map[int64]bool {
	free := map[int64]bool{}
	client := w.memory.Client()
	record, err := client.Get(context.Background(), stored.NamespaceKey(stored.DefaultNamespace))
	if err != nil {
		for n := range w.plan.layout.Workers() {
			free[n] = true
		}
		return free
	}
	namespace, err := stored.DecodeNamespace(record.Value)
	if err != nil {
		w.breaks("harness", "%v", err)
	}
	for n := range w.plan.layout.Workers() {
		e, err := client.Get(context.Background(), stored.RegisterKey(stored.DefaultNamespace, w.plan.layout, n))
		if err != nil {
			free[n] = true
			continue
		}
		r, ok := register(e.Key, e.Value, w.plan.layout.String())
		if !ok {
			w.breaks("harness", "an unreadable register of worker %d", n)
			continue
		}
		free[n] = namespace.Judge(r, w.plan.layout, w.clock.Wall().Add(w.plan.window), w.plan.policy.WithDefaults(w.plan.layout).MaxRollback) == stored.Free
	}
	return free
}

// missing says who should issue and does not.
func (w *world) missing(owed map[int64]int) string {
	issuing := map[int64]int{}
	for _, m := range w.machines {
		m.mu.Lock()
		if m.issues {
			issuing[m.group()]++
		}
		m.mu.Unlock()
	}
	for g, want := range owed {
		if issuing[g] < want {
			return fmt.Sprintf("of group %d (-1 is the pool) %d issue, and %d should", g, issuing[g], want)
		}
	}
	return ""
}
