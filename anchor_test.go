package snowfence

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// testClock runs on the virtual time of a synctest bubble. Its wall clock can
// be stepped, and it counts the timers that were asked for.
type testClock struct {
	system Clock
	offset atomic.Int64 // of the wall clock
	timers atomic.Int64
}

// bubble runs rule in virtual time, with a clock that stands at start.
func bubble(t *testing.T, start time.Time, rule func(t *testing.T, clock *testClock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := &testClock{system: SystemClock()}
		clock.set(start)
		rule(t, clock)
	})
}

func (c *testClock) Wall() time.Time {
	return c.system.Wall().Add(time.Duration(c.offset.Load()))
}

func (c *testClock) Monotonic() time.Duration { return c.system.Monotonic() }

func (c *testClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	c.timers.Add(1)
	return c.system.After(d)
}

// step moves the wall clock alone.
func (c *testClock) step(d time.Duration) { c.offset.Add(int64(d)) }

// set moves the wall clock to an instant.
func (c *testClock) set(wall time.Time) { c.step(wall.Sub(c.Wall())) }

// pass lets time pass on both clocks, and everything happen that is due.
func (c *testClock) pass(d time.Duration) {
	expired, _ := c.system.After(d)
	<-expired
	synctest.Wait()
}

func TestMonotonicTimeIgnoresSteps(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		wall, monotonic := clock.Wall(), clock.Monotonic()
		clock.step(-time.Hour)
		clock.pass(time.Second)
		if got := clock.Monotonic() - monotonic; got != time.Second {
			t.Errorf("monotonic went on by %s, want 1s", got)
		}
		if got := clock.Wall().Sub(wall); got != time.Second-time.Hour {
			t.Errorf("wall went on by %s, want 1s less an hour", got)
		}
	})
}

// testStart is an instant well inside the default layout.
var testStart = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// msAfter returns the tick of the next id, in milliseconds since start.
func msAfter(t *testing.T, g *Generator, start Tick) int64 {
	t.Helper()
	return int64(mustNext(t, g).Tick - start)
}

func TestSmallStepBackHalvesThePaceUntilTheWallHasCaughtUp(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := DefaultLayout()
		start := l.TickAt(testStart)
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Clock: clock})
		clock.pass(time.Second)
		if got := msAfter(t, g, start); got != 1000 {
			t.Fatalf("tick %d after 1 s, want 1000", got)
		}
		clock.step(-2 * time.Second)
		g.CheckClock()
		// Ahead by 2 s: after 4 s at half pace, now is at 3 s and so is the wall.
		for _, want := range []struct{ pass, tick, behind int64 }{
			{0, 1000, 2000}, {1000, 1500, 1500}, {1000, 2000, 1000}, {1000, 2500, 500}, {1000, 3000, 0}, {1000, 4000, 0},
		} {
			clock.pass(time.Duration(want.pass) * time.Millisecond)
			got, s := msAfter(t, g, start), g.Status()
			if got != want.tick || s.Behind.Milliseconds() != want.behind || s.ClockLost {
				t.Errorf("tick %d, behind %s, lost %t; want %d, %d ms", got, s.Behind, s.ClockLost, want.tick, want.behind)
			}
		}
	})
}

func TestLargeStepBackIsRefusedUntilTheClockReturns(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		before := mustNext(t, g).Tick
		clock.step(-time.Minute)
		clock.pass(compareEvery)
		var wait *WaitError
		_, err := g.Next(t.Context())
		if !errors.As(err, &wait) || !errors.Is(err, ErrClockBehind) {
			t.Fatalf("refused with %v", err)
		}
		// A minute behind, of which 5 s are tolerated.
		if wait.Need < 54*time.Second || wait.Need > 56*time.Second || wait.Limit != time.Second {
			t.Errorf("needs %s of %s, want about 55 s of 1 s", wait.Need, wait.Limit)
		}
		select {
		case <-g.ClockLost():
		default:
			t.Error("the loss of the clock is not announced")
		}
		if s := g.Status(); !s.ClockLost || s.Revoked != nil {
			t.Errorf("status %+v: want the clock lost, the generator not revoked", s)
		}
		clock.step(time.Minute)
		clock.pass(compareEvery)
		if p := mustNext(t, g); p.Tick <= before || g.Status().ClockLost {
			t.Errorf("after the clock's return: tick %d (before: %d), status %+v", p.Tick, before, g.Status())
		}
	})
}

func TestNowNeverGoesBack(t *testing.T) {
	generate(t, GeneratorConfig{Policy: Policy{MaxRollback: time.Second}}, func(t *testing.T, clock *testClock, g *Generator) {
		steps := []time.Duration{0, -time.Millisecond, 3 * time.Second, -time.Second, -999 * time.Millisecond, -10 * time.Second, time.Minute, -20 * time.Microsecond, -time.Hour, time.Hour}
		var last Tick
		for round := range 200 {
			clock.step(steps[round%len(steps)])
			clock.pass(time.Duration(round%7) * 40 * time.Millisecond)
			if now := g.Status().Now; now < last {
				t.Fatalf("round %d: now %d after %d", round, now, last)
			} else {
				last = now
			}
		}
	})
}

// A monotonic clock that was suspended makes the wall seem to step forward, too.
func TestStepForwardMovesNowAndEndsTheTermBeyondTenMinutes(t *testing.T) {
	for step, ends := range map[time.Duration]bool{9 * time.Minute: false, 10*time.Minute + time.Second: true} {
		generate(t, GeneratorConfig{}, func(t *testing.T, clock *testClock, g *Generator) {
			clock.step(step)
			clock.pass(compareEvery)
			if !ends {
				if got, want := mustNext(t, g).Tick, g.layout.TickAt(clock.Wall()); got != want {
					t.Errorf("tick %d, want the wall's %d", got, want)
				}
				return
			}
			checkNext(t, g, ErrClockStepped, "after the step")
			checkNext(t, g, ErrRevoked, "after the step")
			select {
			case <-g.ClockLost():
			default:
				t.Error("the loss of the clock is not announced")
			}
		})
	}
}

// However small a step back was, idle time at a slower pace is no step forward.
func TestIdleTimeIsNoStepForward(t *testing.T) {
	for _, back := range []time.Duration{0, 1, time.Millisecond, 3 * time.Second, time.Minute} {
		generate(t, GeneratorConfig{}, func(t *testing.T, clock *testClock, g *Generator) {
			mustNext(t, g)
			clock.step(-back)
			g.CheckClock()
			clock.pass(45 * time.Minute)
			if got, want := mustNext(t, g).Tick, g.layout.TickAt(clock.Wall()); got != want {
				t.Errorf("%s back, then idle: tick %d, want %d", back, got, want)
			}
		})
	}
}

func TestClockThatReturnsAfterAnyTimeIsNoStepForward(t *testing.T) {
	generate(t, GeneratorConfig{}, func(t *testing.T, clock *testClock, g *Generator) {
		l := g.layout
		mustNext(t, g)
		clock.step(-time.Hour)
		for range 15 * 60 {
			clock.pass(time.Second)
			g.CheckClock()
		}
		clock.step(time.Hour)
		clock.pass(compareEvery)
		if got, want := mustNext(t, g).Tick, l.TickAt(clock.Wall()); got != want {
			t.Errorf("tick %d after the clock's return, want %d", got, want)
		}
		clock.step(11 * time.Minute)
		clock.pass(compareEvery)
		checkNext(t, g, ErrClockStepped, "a real step forward later")
	})
}

func TestClockBeforeTheEpochIsLost(t *testing.T) {
	generate(t, GeneratorConfig{}, func(t *testing.T, clock *testClock, g *Generator) {
		mustNext(t, g)
		clock.set(time.Unix(0, 0))
		clock.pass(compareEvery)
		checkNext(t, g, ErrBeforeEpoch, "a call")
		if s := g.Status(); !s.ClockLost || s.Behind == 0 {
			t.Errorf("status %+v: want the clock lost", s)
		}
	})
}

func TestOwnBurstIsNoClockThatIsBehind(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{WallEveryCall: true, MaxRollback: 1}}, func(t *testing.T, _ *testClock, g *Generator) {
		for range 1000 {
			mustNext(t, g)
		}
		if s := g.Status(); s.ClockLost {
			t.Errorf("status %+v", s)
		}
	})
}

func TestFloorAheadOfTheClockIsWhereNowBegins(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := DefaultLayout()
		floor := l.TickAt(testStart) + 3000
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Floor: floor, Clock: clock})
		if got := mustNext(t, g).Tick; got != floor {
			t.Errorf("tick %d, want the floor %d", got, floor)
		}
		clock.pass(6 * time.Second)
		if got, want := mustNext(t, g).Tick, l.TickAt(clock.Wall()); got != want {
			t.Errorf("tick %d after 6 s at half pace, want the wall's %d", got, want)
		}
	})
}

func TestDivisionByTheUnitIsExact(t *testing.T) {
	units := []time.Duration{time.Microsecond, 7 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, 3999999 * time.Microsecond, 4 * time.Second, 5 * time.Second, time.Hour}
	for _, unit := range units {
		g := &Generator{unit: uint64(unit), inverse: inverse(uint64(unit))}
		top := uint64(unit + compareEvery)
		for _, n := range []uint64{0, 1, uint64(unit) - 1, uint64(unit), uint64(unit) + 1, top / 2, top - 1, top/uint64(unit)*uint64(unit) - 1, top / uint64(unit) * uint64(unit)} {
			if got, want := g.divide(n), n/uint64(unit); got != want {
				t.Errorf("%d / %s = %d, want %d", n, unit, got, want)
			}
		}
	}
}

func FuzzDivisionByTheUnit(f *testing.F) {
	f.Add(uint64(1000), uint64(999_999))
	f.Fuzz(func(t *testing.T, microseconds, n uint64) {
		unit := (microseconds%3_600_000_000 + 1) * 1000
		g := &Generator{unit: unit, inverse: inverse(unit)}
		n %= unit + uint64(compareEvery)
		if got := g.divide(n); got != n/unit {
			t.Errorf("%d / %d = %d", n, unit, got)
		}
	})
}

func TestCallsWaitForAClockThatIsALittleBehind(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{MaxBurst: 1, MaxRollback: 50 * time.Millisecond}}, func(t *testing.T, clock *testClock, g *Generator) {
		mustNext(t, g)
		clock.step(-100 * time.Millisecond)
		g.CheckClock() // 50 ms too far back: stands still for those
		started := clock.Monotonic()
		mustFill(t, g, 28)
		if waited := clock.Monotonic() - started; waited < 50*time.Millisecond || waited > 60*time.Millisecond {
			t.Errorf("waited %s, want 50 ms and a few ticks at half pace", waited)
		}
	})
}
