package snowfence

import (
	"cmp"
	"context"
	"time"
)

const (
	// beatMask selects the slots at which a busy caller reports to the cached
	// clock: one in 512.
	beatMask = 1<<9 - 1

	// busy is the time between two beats below which a generator is worth a
	// cached clock: about half a million ids a second.
	busy = time.Millisecond

	// period is how often a running clock pulses. Timers of common systems
	// make it about a millisecond.
	period = 500 * time.Microsecond

	// quietIDs and quietPulses say when a generator is idle again.
	quietIDs    = 128
	quietPulses = 8
)

// CachedClock reads the clock for the callers of busy generators, about once a millisecond.
// Reading the clock is most of the cost of an id. It is lazy: it begins when a generator
// makes half a million ids a second, and parks when that generator is quiet. So an idle
// process pays nothing.
//
// It has a price. An id's tick may lag behind the clock by the time between two readings,
// usually one to two milliseconds, and longer when the process is starved of processors.
// After a pause of the whole process, calls may return ids of the time before it until the
// clock has run again. Uniqueness and the order within a generator are untouched: every
// such tick lies in the window.
//
// A generator uses it through [GeneratorConfig.CachedClock]; one cached clock
// may serve many. It does nothing until its owner calls [CachedClock.Run], and
// calls for batches never need it: they read the clock once for all their ids.
type CachedClock struct {
	clock Clock
	busy  chan *Generator
}

// NewCachedClock returns a cached clock whose pulses are timed by clock. Nil
// means [SystemClock].
func NewCachedClock(clock Clock) *CachedClock {
	return &CachedClock{clock: cmp.Or(clock, SystemClock()), busy: make(chan *Generator, 16)}
}

// Run serves the generators until ctx is done; then they read the clock
// themselves again. Its owner calls it once, in a goroutine of its own.
func (c *CachedClock) Run(ctx context.Context) {
	active := make(map[*Generator]bool)
	pulse := func(g *Generator) {
		if active[g] = g.pulse(); !active[g] {
			delete(active, g)
		}
	}
	defer func() {
		for g := range active {
			g.park()
		}
	}()
	var expired <-chan time.Time // nil while nothing is to pulse
	stop := func() bool { return true }
	for {
		if expired == nil && len(active) > 0 {
			expired, stop = c.clock.After(period)
		}
		select {
		case <-ctx.Done():
			stop()
			return
		case g := <-c.busy:
			if !active[g] { // it may have reported more than once
				pulse(g)
			}
		case <-expired:
			expired = nil
			for g := range active {
				pulse(g)
			}
		}
	}
}

// beat reports a busy generator to the cached clock. A generator is busy if it has taken all
// the slots since its last beat in less than a millisecond. beat never blocks. Callers that
// race here can at worst report once too often.
func (g *Generator) beat(slot uint64) {
	now := int64(g.clock.Monotonic())
	since, last := now-g.beaten.at.Swap(now), g.beaten.slot.Swap(slot)
	if last+beatMask+1 != slot || since >= int64(busy) {
		return
	}
	select {
	case g.cache.busy <- g:
	default:
	}
}

// pulse moves the state word to the present tick and lets calls take slots up
// to the bound without reading the clock. It reports whether to go on.
//
// The word is moved before the bound is published. So a call that sees the bound takes its
// slot in the present tick or a later one, never below the floor.
func (g *Generator) pulse() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, old := g.look(), g.state.Load()
	if old-g.pulsed >= quietIDs {
		g.quiet = 0
	} else {
		g.quiet++
	}
	if v.err != nil || v.still || g.quiet >= quietPulses {
		g.quiet = 0
		g.serve()
		g.express.Store(0)
		return false
	}
	if g.queue.calls.Len() > 0 {
		g.express.Store(0)
		g.pulsed = old
		return true
	}
	next := g.enter(old, uint64(v.now))
	for !g.move(old, next, uint64(v.now)) {
		old = g.state.Load()
		next = g.enter(old, uint64(v.now))
	}
	g.pulsed = next
	if bound := g.bound(uint64(v.now)); next < bound {
		g.express.Store(bound)
	}
	return true
}

// park makes calls read the clock themselves again.
func (g *Generator) park() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.express.Store(0)
}
