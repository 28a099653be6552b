package fence_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// machine runs one process after the other, as a supervisor does.
type machine struct {
	w     *world
	n     int
	rng   *rand.Rand // of its own goroutine
	pin   *int64
	clock *wristwatch
	disk  *sheet
	keeps bool                     // with a journal
	sends map[string]time.Duration // guarded by w.mu

	pids   int
	cut    atomic.Int64 // until when it does not reach the store
	oneWay atomic.Int64 // until when it hears no answers
	silent atomic.Bool  // its random source fails

	mu      sync.Mutex
	process *process // the present one; nil without
	issues  bool     // since the faults ended
}

// run is the machine's supervisor: it starts a process, lets things befall it,
// and starts the next when that has ended.
func (m *machine) run() {
	w := m.w
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-w.over:
			return
		default:
		}
		p, limit := m.start(), time.Duration(-1)
		switch dice := m.rng.IntN(10); {
		case w.quiet.Load():
		case dice == 0:
			limit = 0
		case dice < 3:
			limit = spread(m.rng, w.plan.claimWait)
		}
		if !p.open(limit) {
			if m.rng.IntN(4) == 0 {
				m.clock.set(0, 0) // somebody looks after it
			}
			pass(spread(m.rng, w.plan.window/2))
			continue
		}
		m.mu.Lock()
		m.process = p
		m.mu.Unlock()
		for i := range w.plan.callers {
			all.Go(func() { p.call(rand.New(seeded(w.plan.seed, m.n, p.pid, 10+i))) })
		}
		for m.befalls(p) {
		}
		m.mu.Lock()
		m.process = nil
		m.mu.Unlock()
	}
}

// befalls lets one thing happen to a process, and returns whether it is still
// there.
func (m *machine) befalls(p *process) bool {
	w, rng := m.w, m.rng
	calm := w.calm
	if w.quiet.Load() {
		calm = nil
	}
	expired, stop := w.clock.After(spread(rng, w.plan.window))
	defer stop()
	select {
	case <-p.gone:
		return false
	case <-w.over:
		p.close(time.Minute)
		if p.atRest > 3*w.plan.timeout+12*w.plan.ahead && w.plan.loss == 0 {
			w.breaks("close", "%s: Close took %s without any fault", p, p.atRest)
		}
		return false
	case <-calm:
		return true
	case <-expired:
	}
	if w.quiet.Load() {
		return true
	}
	switch dice := rng.IntN(20); {
	case dice < 2:
		p.closeAt(rng)
		return false
	case dice == 2:
		p.trap.Store(true)
	case dice < 5:
		w.struck("killed", "%s", p)
		p.kill()
		return false
	case dice < 9:
		d := m.shift()
		m.clock.set(d, drift(rng))
		w.struck("clock", "%s: the clock of machine %d is off by %s", p, m.n, d)
	case dice == 9:
		d := spread(rng, 2*w.plan.window)
		w.struck("stopped", "%s for %s", p, d)
		m.clock.stop()
		pass(d)
		if rng.IntN(4) == 0 {
			w.struck("killed", "%s, while it was stopped", p)
			go m.clock.start()
			p.kill()
			return false
		}
		m.clock.start()
	case dice < 12:
		d := spread(rng, 3*w.plan.window)
		m.cut.Store(int64(w.now() + d))
		w.struck("cut", "%s from the store for %s", p, d)
	case dice == 12:
		d := spread(rng, w.plan.window)
		m.oneWay.Store(int64(w.now() + d))
		w.struck("unheard", "%s hears no answers for %s", p, d)
	case dice < 15:
		d := spread(rng, 2*w.plan.window)
		w.struck("deaf", "the store of %s for %s", p, d)
		w.end(d, p.link.fallDeaf())
	case dice < 17 && m.keeps:
		m.spoilDisk(p, spread(rng, 2*w.plan.window), rng.IntN(2) == 0)
	case dice == 18:
		w.struck("stuck", "the next call of %s", p)
		p.link.stuck.Store(true)
	case dice == 17:
		d := spread(rng, w.plan.window)
		w.struck("no random bits", "%s for %s", p, d)
		m.silent.Store(true)
		w.late.Go(func() {
			pass(d)
			m.silent.Store(false)
		})
	}
	return true
}

// closeAt closes a process: at leisure, in haste, at once, or twice.
func (p *process) closeAt(rng *rand.Rand) {
	w := p.m.w
	limit := spread(rng, 3*w.plan.window)
	switch rng.IntN(4) {
	case 0:
		limit = 0
	case 1:
		limit = spread(rng, w.plan.timeout)
	case 2:
		w.late.Go(func() { _ = p.holder.Load().Close(context.Background()) })
	}
	w.struck("closed", "%s, within %s", p, limit)
	p.close(limit)
}

// spoilDisk makes the disk fail or hang for a while.
func (m *machine) spoilDisk(p *process, d time.Duration, hangs bool) {
	w := m.w
	w.struck("disk", "of %s for %s, hangs: %t", p, d, hangs)
	var held chan struct{}
	m.disk.set(func(s *sheet) {
		if hangs && s.hangs == nil {
			held = make(chan struct{})
			s.hangs = held
		} else if !hangs {
			s.fails = true
		}
	})
	w.end(d, func() {
		m.disk.set(func(s *sheet) {
			s.fails = false
			if held != nil && s.hangs == held {
				close(held)
				s.hangs = nil
			}
		})
	})
}

// end ends what befell a machine: after d, or with all faults.
func (w *world) end(d time.Duration, mend func()) {
	w.late.Go(func() {
		expired, stop := w.clock.After(d)
		select {
		case <-expired:
		case <-w.calm:
			stop()
		}
		mend()
	})
}

// shift draws what a clock is set to: right, or off by a millisecond to a year,
// to either side.
func (m *machine) shift() time.Duration {
	if m.rng.IntN(3) == 0 {
		return 0
	}
	d := time.Duration(1+m.rng.IntN(9)) * time.Millisecond
	for range m.rng.IntN(11) {
		d *= 10
	}
	d = min(d, 365*24*time.Hour)
	if m.rng.IntN(2) == 0 {
		return -d
	}
	return d
}

// drift draws how fast a clock runs.
func drift(rng *rand.Rand) int64 {
	if rng.IntN(2) == 0 {
		return 0
	}
	return int64(rng.IntN(40_001) - 20_000)
}
