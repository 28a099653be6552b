package snowfence

import "time"

// GeneratorStatus is the state of a [Generator] at one moment.
type GeneratorStatus struct {
	// Now is the generator's present tick.
	Now Tick
	// Reserved is the first tick above all that were reserved; the floor if
	// none was.
	Reserved Tick
	// Floor and Until are the window: ticks in [Floor, Until).
	Floor, Until Tick
	// Left is how long ids can be issued without an extension: to Until, or to the generator's expiry
	// if that comes first.
	Left time.Duration
	// Behind is how far the wall clock was behind the generator's now at the last look.
	Behind time.Duration
	// Drift is how far the last tick stamped is ahead of now; zero when it is
	// not.
	Drift time.Duration
	// Waits counts the calls that waited.
	Waits uint64
	// Anchors counts the comparisons with the wall clock.
	Anchors uint64
	// ClockLost is true while the clock makes the term unusable: it is behind
	// by more than MaxRollback, or stepped forward by more than ten minutes.
	ClockLost bool
	// Revoked is the error of calls after [Generator.Revoke]; nil before.
	Revoked error
}

// Status returns the generator's status. It compares the clocks if that is due.
func (g *Generator) Status() GeneratorStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.look()
	g.serve()
	next := g.state.Load()
	s := GeneratorStatus{
		Now: v.now, Reserved: g.above(next), Floor: g.floor, Until: g.until,
		Behind: v.behind, Waits: g.waits, Anchors: g.anchors,
		ClockLost: g.lostNow, Revoked: g.revoked,
	}
	if s.Now < s.Until {
		s.Left = g.layout.TimeOf(s.Until).Sub(g.layout.TimeOf(s.Now))
	}
	if g.expires != 0 {
		s.Left = min(s.Left, max(0, g.expires-g.clock.Monotonic()))
	}
	if g.revoked != nil {
		s.Reserved = g.reserved
	}
	if last := s.Reserved - 1; last > v.now {
		s.Drift = g.span(last - v.now)
	}
	return s
}

// ClockLost returns a channel that is closed once the clock made this term unusable: the
// clock fell behind by more than MaxRollback, or stepped forward by more than ten minutes.
// Such a step also revokes the generator. Calls for ids and [Generator.CheckClock] look at
// the clock.
func (g *Generator) ClockLost() <-chan struct{} { return g.lost }

// CheckClock compares the monotonic clock with the wall clock now. Calls for
// ids do so by themselves every 100 ms; it is for the owner of a generator
// that may be idle. Under WallEveryCall a step forward is not noticed: that
// policy takes the wall clock at its word.
func (g *Generator) CheckClock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop()
	g.serve()
}
