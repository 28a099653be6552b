package snowfence

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// wideLayout holds so many ids a tick that virtual time need not move.
func wideLayout() Layout {
	l := DefaultLayout()
	l.Fields = []Field{{Kind: Time, Bits: 41}, {Kind: Worker, Bits: 1}, {Kind: Sequence, Bits: 21}}
	return l
}

// cachedBubble runs rule with a generator whose cached clock is running.
func cachedBubble(t *testing.T, cfg GeneratorConfig, rule func(t *testing.T, clock *testClock, g *Generator)) {
	t.Helper()
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Clock, cfg.CachedClock = clock, NewCachedClock(clock)
		g := newTestGenerator(t, cfg)
		stopped := make(chan struct{})
		go func() { cfg.CachedClock.Run(ctx); close(stopped) }()
		synctest.Wait()
		rule(t, clock, g)
		cancel()
		<-stopped
		if g.express.Load() != 0 {
			t.Error("calls still go by a clock that has stopped")
		}
		mustNext(t, g)
	})
}

// makeBusy makes ids until the cached clock has taken the generator over.
func makeBusy(t *testing.T, clock *testClock, g *Generator) {
	t.Helper()
	for range 10_000 {
		mustNext(t, g)
	}
	clock.pass(period)
	if g.express.Load() == 0 {
		t.Fatal("the cached clock does not serve a busy generator")
	}
}

func TestCachedClockSparesBusyCallersTheClock(t *testing.T) {
	cachedBubble(t, GeneratorConfig{Layout: wideLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		makeBusy(t, clock, g)
		l := g.layout
		for range 50 {
			var last Parts
			for range 1000 {
				p := mustNext(t, g)
				if p.Tick < last.Tick || p.Tick == last.Tick && p.Sequence <= last.Sequence {
					t.Fatalf("%+v after %+v", p, last)
				}
				last = p
			}
			if lag := l.TickAt(clock.Wall()) - last.Tick; lag < 0 || lag > 1 {
				t.Errorf("tick lags %d behind the clock", lag)
			}
			clock.pass(time.Millisecond)
		}
		if g.express.Load() == 0 {
			t.Error("the clock has parked under load")
		}
	})
}

func TestCachedClockParksWhenIdle(t *testing.T) {
	cachedBubble(t, GeneratorConfig{Layout: wideLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		makeBusy(t, clock, g)
		clock.pass(100 * period)
		if g.express.Load() != 0 {
			t.Error("still running for an idle generator")
		}
		timers := clock.timers.Load()
		clock.pass(time.Minute)
		if got := clock.timers.Load(); got != timers {
			t.Errorf("%d timers while parked", got-timers)
		}
		makeBusy(t, clock, g)
	})
}

func TestCachedClockStaysParkedAtLowRates(t *testing.T) {
	cachedBubble(t, GeneratorConfig{Layout: wideLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		for range 20_000 {
			mustNext(t, g)
			clock.pass(10 * time.Microsecond)
		}
		if n := clock.timers.Load(); n != 0 {
			t.Errorf("%d timers at 100,000 ids a second", n)
		}
	})
}

func TestCachedClockNeverStampsPastTheWindow(t *testing.T) {
	l := wideLayout()
	until := l.TickAt(testStart) + 20
	cachedBubble(t, GeneratorConfig{Layout: l, Until: until}, func(t *testing.T, clock *testClock, g *Generator) {
		makeBusy(t, clock, g)
		for {
			id, err := g.Next(t.Context())
			if err != nil {
				break
			}
			if p := parts(t, g, id); p.Tick >= until {
				t.Fatalf("tick %d at a bound of %d", p.Tick, until)
			}
			if id&1023 == 0 {
				clock.pass(50 * time.Microsecond)
			}
		}
		if err := g.Extend(until + 1000); err != nil {
			t.Fatal(err)
		}
		clock.pass(time.Millisecond)
		if p := mustNext(t, g); p.Tick < until {
			t.Errorf("tick %d after the extension, want at least %d", p.Tick, until)
		}
	})
}

func TestCachedClockDoesNotServeAGeneratorThatStandsStill(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		g := pulsed(t, GeneratorConfig{Clock: clock})
		clock.step(-time.Minute)
		g.CheckClock()
		if g.pulse() || g.express.Load() != 0 {
			t.Error("calls go by the cached clock")
		}
	})
}

// pulsed returns a generator that one pulse of a cached clock has just served. No
// more come but by hand.
func pulsed(t *testing.T, cfg GeneratorConfig) *Generator {
	t.Helper()
	cfg.CachedClock = NewCachedClock(cfg.Clock)
	g := newTestGenerator(t, cfg)
	if !g.pulse() || g.express.Load() == 0 {
		t.Fatal("calls do not go by the cached clock")
	}
	return g
}

// A generator that reports all the time must not keep the clock from pulsing
// the others.
func TestBusyGeneratorDoesNotStarveTheOthersOfACachedClock(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		ctx, cancel := context.WithCancel(t.Context())
		cache := NewCachedClock(clock)
		other := newTestGenerator(t, GeneratorConfig{Layout: wideLayout(), Clock: clock, CachedClock: cache})
		stopped := make(chan struct{})
		go func() { cache.Run(ctx); close(stopped) }()
		synctest.Wait()
		makeBusy(t, clock, other)
		hot := newTestGenerator(t, GeneratorConfig{Layout: wideLayout(), Clock: clock, CachedClock: cache})
		for range 200 {
			select {
			case cache.busy <- hot: // as a beat does
			default:
			}
			clock.pass(period / 5)
			for range 200 {
				mustNext(t, other)
			}
		}
		if lag := other.layout.TickAt(clock.Wall()) - mustNext(t, other).Tick; lag > 1 {
			t.Errorf("tick lags %d behind the clock", lag)
		}
		cancel()
		<-stopped
	})
}

// A generator that stands still issues nothing, not even until the next pulse.
func TestCachedClockServesNobodyOnceTheGeneratorStandsStill(t *testing.T) {
	cachedBubble(t, GeneratorConfig{Layout: wideLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		makeBusy(t, clock, g)
		clock.step(-time.Minute)
		g.CheckClock()
		if _, err := g.Next(t.Context()); !errors.Is(err, ErrClockBehind) {
			t.Errorf("got %v, want %v", err, ErrClockBehind)
		}
		clock.step(time.Minute)
	})
}

func TestRevocationEndsTheCachedClocksService(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		ctx, cancel := context.WithCancel(t.Context())
		cache := NewCachedClock(clock)
		g := newTestGenerator(t, GeneratorConfig{Layout: wideLayout(), Clock: clock, CachedClock: cache})
		go cache.Run(ctx)
		synctest.Wait()
		makeBusy(t, clock, g)
		last := mustNext(t, g)
		if reserved := g.Revoke(nil); reserved <= last.Tick {
			t.Errorf("reserved up to %d, issued %d", reserved, last.Tick)
		}
		for range 3 {
			if _, err := g.Next(t.Context()); err == nil {
				t.Error("issues after its revocation")
			}
			clock.pass(period)
		}
		timers := clock.timers.Load()
		clock.pass(time.Second)
		if got := clock.timers.Load(); got != timers {
			t.Errorf("%d timers for a revoked generator", got-timers)
		}
		cancel()
		synctest.Wait()
	})
}
