package snowfence

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

const (
	// compareEvery is how long an anchor lasts while the generator is in use.
	compareEvery = 100 * time.Millisecond

	// slew is how far the monotonic clock may run ahead of the wall clock before it
	// counts as a step. It covers 100 ms of the steepest usual adjustment (500 ppm, as NTP
	// daemons slew) and the time between two readings, with room.
	slew = time.Millisecond

	// maxStep is the forward step of the wall clock that ends a term.
	maxStep = 10 * time.Minute
)

// The paces at which now follows the monotonic clock: the elapsed time is shifted right by them.
const (
	fullPace  = 0
	halfPace  = 1
	stillPace = 63
)

// anchor ties the generator's now to the monotonic clock for a while. It is
// immutable; a new one replaces it when it has lasted its time.
//
// Now never goes back: a new anchor begins at the old one's now or later.
type anchor struct {
	monotonic time.Duration // when it was set
	lasts     time.Duration // for how long it may be used; 0 for a single look
	tick      uint64        // now at that instant, in whole ticks
	rest      time.Duration // and the part of a tick beyond
	pace      uint8
	behind    time.Duration // how far the wall clock was behind now
	lag       time.Duration // by how much a slower pace has held now back since it last met the wall
	err       error         // why nothing may be issued, if so
}

// now returns the present tick, or false when the clocks must be compared first. It is lock-free:
// the anchor is read before the clock, so the clock can't be before the anchor.
func (g *Generator) now() (uint64, bool) {
	if g.policy.WallEveryCall {
		return g.wallNow()
	}
	a := g.anchor.Load()
	elapsed := g.clock.Monotonic() - a.monotonic
	if uint64(elapsed) >= uint64(a.lasts) {
		return 0, false
	}
	return a.tick + g.divide(uint64(a.rest+elapsed>>(a.pace&63))), true
}

// wallNow is now under WallEveryCall.
func (g *Generator) wallNow() (uint64, bool) {
	tick := g.layout.TickAt(g.clock.Wall())
	return uint64(tick), tick >= g.floor && tick < g.horizon
}

// inverse returns 2^64/unit rounded up, with which divide multiplies, or 0 for
// units so long that the product would not be exact.
//
// With m = ceil(2^64/d), the high word of n·m is floor(n/d) whenever n·(d·m − 2^64) < 2^64, and d·m
// − 2^64 < d. Here n is less than one unit plus compareEvery, so units up to 4 s are exact.
func inverse(unit uint64) uint64 {
	if unit > uint64(4*time.Second) {
		return 0
	}
	return (1<<64-1)/unit + 1
}

// divide returns n/unit for n below one unit plus compareEvery.
func (g *Generator) divide(n uint64) uint64 {
	if g.inverse == 0 {
		return n / g.unit
	}
	ticks, _ := bits.Mul64(n, g.inverse)
	return ticks
}

// view is the result of one look at the clocks.
type view struct {
	now    Tick
	rest   time.Duration // elapsed of that tick
	behind time.Duration // how far the wall clock is behind now, or the last tick stamped
	still  bool          // behind by more than the policy's MaxRollback
	half   bool          // behind by less
	err    error         // why nothing may be issued, if so
}

// look returns the present view. It compares the clocks when the anchor's time is over. It
// needs g.mu.
func (g *Generator) look() view {
	a := g.anchor.Load()
	elapsed := g.clock.Monotonic() - a.monotonic
	if g.policy.WallEveryCall || uint64(elapsed) >= uint64(a.lasts) {
		a, elapsed = g.drop(), 0
	}
	total := a.rest + elapsed>>a.pace
	ticks := g.divide(uint64(total))
	v := view{
		now:    Tick(a.tick + ticks),
		rest:   total - time.Duration(ticks*g.unit),
		behind: a.behind - elapsed + elapsed>>a.pace,
		still:  a.pace == stillPace || g.policy.WallEveryCall && a.behind > g.policy.MaxRollback,
		half:   a.pace == halfPace,
		err:    a.err,
	}
	switch {
	case g.revoked != nil:
		v.err = g.revoked
	case v.err == nil && v.now >= g.until:
		v.err = ErrWindowEnded
	}
	return v
}

// drop drops a new anchor: it compares now with the wall clock and sets the
// pace at which now goes on. It needs g.mu.
func (g *Generator) drop() *anchor {
	monotonic, wall := g.clock.Monotonic(), g.clock.Wall()
	a := &anchor{monotonic: monotonic, lasts: compareEvery}
	wallTick, wallRest := g.split(wall)
	last := g.anchor.Load()
	if last == nil {
		// The generator begins: at the wall clock, or at the floor if that is ahead of it.
		a.tick, a.rest = uint64(max(wallTick, g.floor)), 0
		if wallTick >= g.floor {
			a.rest = wallRest
		}
	} else {
		a.tick, a.rest = g.after(last, monotonic)
		elapsed := monotonic - last.monotonic
		a.lag = last.lag + elapsed - elapsed>>last.pace
	}
	g.anchors++

	ahead := g.distance(Tick(a.tick), a.rest, wallTick, wallRest)
	if g.policy.WallEveryCall {
		ahead = g.lead(wallTick, wallRest)
	}
	lost := false
	switch {
	case wallTick < 0:
		a.err, a.lasts, a.pace = ErrBeforeEpoch, 0, stillPace
		a.behind, lost = max(ahead, 0), ahead > max(g.policy.MaxRollback, slew)
	case -ahead > maxStep+a.lag && last != nil && last.err == nil && !g.policy.WallEveryCall:
		lost = true
		// Ids stamped with a time this far ahead would leave a register that can't
		// be claimed before that time has come.
		g.seal(fmt.Errorf("%w: by %s", ErrClockStepped, -ahead))
		fallthrough
	case ahead <= 0 || g.policy.WallEveryCall:
		a.tick, a.rest = uint64(max(wallTick, 0)), wallRest
		a.behind, a.lag = max(ahead, 0), 0
		lost = lost || a.behind > g.policy.MaxRollback
	case ahead <= max(g.policy.MaxRollback, slew):
		a.pace, a.behind = halfPace, ahead
		a.lasts = min(a.lasts, 2*ahead)
	default:
		// Nothing is issued, so every call looks at the clocks again.
		a.pace, a.behind, a.lasts, lost = stillPace, ahead, 0, true
	}

	if g.expires != 0 {
		if a.lasts = max(0, min(a.lasts, g.expires-monotonic)); monotonic >= g.expires && a.err == nil {
			a.err = ErrWindowEnded
		}
	}

	// An anchor ends at the horizon, so that now never runs past it and a slot
	// never outgrows its word.
	switch left := g.horizon - Tick(a.tick); {
	case left <= 0:
		a.tick, a.rest, a.lasts, a.pace, a.err = uint64(g.horizon), 0, 0, stillPace, ErrPastHorizon
	case g.span(left) < a.lasts+a.rest:
		a.lasts = g.span(left) - a.rest
	}
	g.anchor.Store(a)
	g.lose(lost)
	return a
}

// after returns an anchor's now at a later monotonic instant, however long it has been idle.
func (g *Generator) after(a *anchor, monotonic time.Duration) (tick uint64, rest time.Duration) {
	total := uint64(a.rest + (monotonic-a.monotonic)>>a.pace)
	return a.tick + total/g.unit, time.Duration(total % g.unit)
}

// lead returns how far the last tick stamped is ahead of the wall clock, less a burst. It is for
// WallEveryCall, which has only this now. Others may have stamped ticks below the floor, so the floor
// counts as stamped from the start.
func (g *Generator) lead(wallTick Tick, wallRest time.Duration) time.Duration {
	last := max(Tick(max(g.state.Load()&^sealed, 1)-1)>>g.seqBits, g.floor) - Tick(g.burst)
	if last <= wallTick {
		return g.distance(last, 0, wallTick, 0)
	}
	return g.distance(last, 0, wallTick, wallRest)
}

// lose records whether the clock makes the term unusable now.
func (g *Generator) lose(lost bool) {
	if g.lostNow = lost || errors.Is(g.revoked, ErrClockStepped); !g.lostNow {
		return
	}
	select {
	case <-g.lost:
	default:
		close(g.lost)
	}
}

// split returns the wall clock as a tick and the part of a tick beyond.
func (g *Generator) split(wall time.Time) (Tick, time.Duration) {
	tick := g.layout.TickAt(wall)
	return tick, wall.Sub(g.layout.TimeOf(tick))
}

// distance returns how far the instant a is after b, negative when it is before. A greater
// distance than the longest duration is that duration.
func (g *Generator) distance(a Tick, aRest time.Duration, b Tick, bRest time.Duration) time.Duration {
	if a < b {
		return -g.distance(b, bRest, a, aRest)
	}
	whole := g.span(a - b)
	if whole > 1<<62 {
		return 1<<63 - 1
	}
	return whole + aRest - bRest
}

// GeneratorStatus is the state of a [Generator] at one moment.
type GeneratorStatus struct {
	// Now is the generator's present tick.
	Now Tick
	// Reserved is the first tick above all that were reserved; the floor if none was.
	Reserved Tick
	// Floor and Until are the window: ticks in [Floor, Until).
	Floor, Until Tick
	// Left is how long ids can be issued without an extension: to Until, or to the generator's expiry
	// if that comes first.
	Left time.Duration
	// Behind is how far the wall clock was behind the generator's now at the last look.
	Behind time.Duration
	// Drift is how far the last tick stamped is ahead of now; zero when it is not.
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

// ClockLost returns a channel that is closed once the clock made this term unusable: the clock fell
// behind by more than MaxRollback, or stepped forward by more than ten minutes. Such a step also
// revokes the generator. Calls for ids and [Generator.CheckClock] look at the clock.
func (g *Generator) ClockLost() <-chan struct{} { return g.lost }

// CheckClock compares the monotonic clock with the wall clock now. Calls for ids do so by
// themselves every 100 ms; it is for the owner of a generator that may be idle. Under WallEveryCall
// a step forward is not noticed: that policy takes the wall clock at its word.
func (g *Generator) CheckClock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop()
	g.serve()
}
