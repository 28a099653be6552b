package snowfence

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBurstRunsAheadOfNowByMaxBurstAndNoFurther(t *testing.T) {
	for burst, ticks := range map[time.Duration]Tick{1: 0, 0: 10, 1900 * time.Microsecond: 1, 5 * time.Millisecond: 5} {
		generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{MaxBurst: burst, Start: SequenceStart{Rule: StartZero}}}, func(t *testing.T, clock *testClock, g *Generator) {
			started := clock.Monotonic()
			ids := mustFill(t, g, int(16*(ticks+1)))
			if waited := clock.Monotonic() - started; waited != 0 {
				t.Errorf("burst %s: %d ids waited for %s", burst, len(ids), waited)
			}
			s := g.Status()
			if s.Drift != time.Duration(ticks)*time.Millisecond {
				t.Errorf("burst %s: drift %s", burst, s.Drift)
			}
			mustNext(t, g)
			if waited := clock.Monotonic() - started; waited < time.Millisecond || waited > time.Duration(1+ticks/8)*time.Millisecond {
				t.Errorf("burst %s: one id more waited for %s, want one tick and an eighth of a burst", burst, waited)
			}
		})
	}
}

func TestBatchThatCannotBeHadInTimeIsRefusedBeforeAnythingIsUsed(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{Start: SequenceStart{Rule: StartZero}}}, func(t *testing.T, clock *testClock, g *Generator) {
		before, started := g.Status(), clock.Monotonic()
		var wait *WaitError
		// 1.5 s of ticks, and the burst.
		err := g.Fill(t.Context(), make([]ID, 16*(1500+11)))
		if !errors.As(err, &wait) || !errors.Is(err, ErrSaturated) || wait.Need != 1500*time.Millisecond || wait.Limit != time.Second {
			t.Fatalf("refused with %v, want 1.5 s of 1 s", err)
		}
		if after := g.Status(); after.Reserved != before.Reserved || clock.Monotonic() != started {
			t.Errorf("used up to %d of %d, in %s", after.Reserved, before.Reserved, clock.Monotonic()-started)
		}
		if err := g.Fill(t.Context(), make([]ID, 16*(1000+11))); err != nil {
			t.Errorf("a batch that takes exactly max-wait: %v", err)
		}
	})
}

func TestRefusalCountsThoseThatWaitAlready(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{Start: SequenceStart{Rule: StartZero}}}, func(t *testing.T, _ *testClock, g *Generator) {
		first := make(chan error, 1)
		go func() { first <- g.Fill(t.Context(), make([]ID, 16*(800+11))) }()
		synctest.Wait()
		var wait *WaitError
		if err := g.Fill(t.Context(), make([]ID, 16*300)); !errors.As(err, &wait) || wait.Need != 1100*time.Millisecond {
			t.Errorf("300 ticks behind 800: %v", err)
		}
		if err := g.Fill(t.Context(), make([]ID, 16*100)); err != nil {
			t.Errorf("100 ticks behind 800: %v", err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestCancelledCallUsesNothingUp(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{Start: SequenceStart{Rule: StartZero}}}, func(t *testing.T, clock *testClock, g *Generator) {
		mustFill(t, g, 16*11)
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 3)
		for range 3 {
			go func() { _, err := g.Next(ctx); done <- err }()
		}
		synctest.Wait()
		state := g.state.Load()
		cancel(cause)
		for range 3 {
			if err := <-done; !errors.Is(err, cause) {
				t.Errorf("cancelled call: %v", err)
			}
		}
		if got := g.state.Load(); got != state {
			t.Errorf("%d slots used up", got-state)
		}
		if _, err := g.Next(ctx); !errors.Is(err, cause) {
			t.Errorf("call that would wait with a context already done: %v", err)
		}
		clock.pass(time.Millisecond)
		if _, err := g.Next(ctx); err != nil {
			t.Errorf("call that need not wait: %v", err)
		}
	})
}

// Refusals that drove the word on would keep ids away long after their reason
// is gone.
func TestRefusedCallsUseNoTickUp(t *testing.T) {
	generate(t, GeneratorConfig{Layout: DefaultLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		mustNext(t, g)
		clock.step(-time.Minute)
		g.CheckClock()
		for {
			if _, err := g.Next(t.Context()); err != nil {
				break
			}
		}
		before := g.state.Load()
		for range 10_000 {
			if _, err := g.Next(t.Context()); !errors.Is(err, ErrClockBehind) {
				t.Fatal(err)
			}
		}
		if used := g.state.Load() - before; used > 0 {
			t.Errorf("10,000 refused calls used %d slots up", used)
		}
		clock.step(time.Minute)
		g.CheckClock()
		mustNext(t, g)
	})
}

func TestWaitWithoutLimitIsAWait(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{MaxWait: math.MaxInt64}}, func(t *testing.T, _ *testClock, g *Generator) {
		if err := g.Fill(t.Context(), make([]ID, 16*5000)); err != nil {
			t.Error(err)
		}
	})
}

func TestReasonOfARefusalIsTheClockWhenItIs(t *testing.T) {
	cases := []struct {
		name   string
		policy Policy
		back   time.Duration
		ids    int
		want   error
	}{
		{"read every call, behind", Policy{WallEveryCall: true, MaxBurst: 1}, 3 * time.Second, 1, ErrClockBehind},
		{"read every call, too many", Policy{WallEveryCall: true, MaxBurst: 1}, 0, 16 * 2000, ErrSaturated},
		{"half pace, behind", Policy{}, 3 * time.Second, 16 * 800, ErrClockBehind},
		{"half pace, too many", Policy{}, 3 * time.Second, 16 * 8000, ErrSaturated},
		{"standing still", Policy{}, time.Minute, 16 * 20, ErrClockBehind},
	}
	for _, c := range cases {
		generate(t, GeneratorConfig{Layout: smallLayout(), Policy: c.policy}, func(t *testing.T, clock *testClock, g *Generator) {
			mustNext(t, g)
			clock.step(-c.back)
			g.CheckClock()
			started := clock.Monotonic()
			var wait *WaitError
			if err := g.Fill(t.Context(), make([]ID, c.ids)); !errors.Is(err, c.want) || !errors.As(err, &wait) || wait.Need <= wait.Limit || clock.Monotonic() != started {
				t.Errorf("%s: %v after %s, want %v at once", c.name, err, clock.Monotonic()-started, c.want)
			}
		})
	}
}

func TestWaitForTheWindowsEndSleepsSoundly(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := smallLayout()
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Clock: clock, Until: l.TickAt(testStart) + 3, Policy: Policy{MaxRollback: 500 * time.Millisecond}})
		for g.state.Load() < g.gate.Load() {
			mustNext(t, g)
		}
		clock.step(-200 * time.Millisecond)
		g.CheckClock() // half pace: the end is 6 ms away
		timers, started := clock.timers.Load(), clock.Monotonic()
		checkNext(t, g, ErrWindowEnded, "a call")
		if n, waited := clock.timers.Load()-timers, clock.Monotonic()-started; n > 3 || waited != 6*time.Millisecond {
			t.Errorf("%d timers in a wait of %s, want one or two in 6 ms", n, waited)
		}
	})
}

// A generator that stands still refuses at once, wherever its window ends, and
// one that will be right again soon makes its callers wait.
func TestStandingStillIssuesNothing(t *testing.T) {
	for back, want := range map[time.Duration]error{500 * time.Millisecond: nil, time.Hour: ErrClockBehind} {
		generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{MaxRollback: 50 * time.Millisecond}}, func(t *testing.T, clock *testClock, g *Generator) {
			mustNext(t, g)
			clock.step(-back)
			g.CheckClock()
			started := clock.Monotonic()
			_, err := g.Next(t.Context())
			if !errors.Is(err, want) {
				t.Errorf("%s back: %v, want %v", back, err, want)
			}
			waited := clock.Monotonic() - started
			if least := back - 50*time.Millisecond; err == nil && waited < least || err != nil && waited != 0 {
				t.Errorf("%s back: %v after %s", back, err, waited)
			}
		})
	}
}

func TestWaitingCallsAreServedInTheirOrder(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		mustFill(t, g, 16*9)
		const callers = 40
		ids := make([]ID, callers)
		var errs [callers]error
		for i := range callers {
			go func() { ids[i], errs[i] = g.Next(t.Context()) }()
			synctest.Wait()
		}
		clock.pass(50 * time.Millisecond)
		if !slices.IsSorted(ids) || ids[0] == 0 || errors.Join(errs[:]...) != nil {
			t.Errorf("ids %v, errors %v", ids, errors.Join(errs[:]...))
		}
	})
}

func TestWaitersDoNotHerd(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout()}, func(t *testing.T, clock *testClock, g *Generator) {
		mustFill(t, g, 16*9)
		const callers = 1600 // 100 ticks
		done := make(chan error, callers)
		for range callers {
			go func() { _, err := g.Next(t.Context()); done <- err }()
		}
		for range callers {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if n := clock.timers.Load(); n > 150 {
			t.Errorf("%d timers for 100 ticks, want about one a tick whatever the number of waiters", n)
		}
	})
}

func TestWaitEndsAtMaxWait(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{MaxWait: 50 * time.Millisecond}}, func(t *testing.T, clock *testClock, g *Generator) {
		started := clock.Monotonic()
		done := make(chan error, 1)
		go func() { done <- g.Fill(t.Context(), make([]ID, 16*40)) }()
		synctest.Wait()
		clock.step(-time.Hour) // now what it waits for is far away
		g.CheckClock()
		err := <-done
		if waited := clock.Monotonic() - started; !errors.Is(err, ErrClockBehind) || waited != 50*time.Millisecond {
			t.Errorf("after %s: %v", waited, err)
		}
	})
}

// The leader sleeps for more than the next tick. What comes free meanwhile is not for
// whoever happens to ask.
func TestLaterCallTakesNothingThatOthersWaitFor(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{Start: SequenceStart{Rule: StartZero}}}, func(t *testing.T, clock *testClock, g *Generator) {
		mustFill(t, g, 16*11)
		waits := make(chan error, 1)
		go func() { waits <- g.Fill(t.Context(), make([]ID, 16*20)) }()
		synctest.Wait()
		state := g.state.Load()
		clock.pass(2 * time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was not to wait: %v", err)
		}
		if err := <-waits; err != nil {
			t.Error(err)
		}
		if got := g.state.Load(); got != state+16*20 {
			t.Errorf("%d slots used up", got-state)
		}
	})
}

// Nor does one that need not wait, once there is enough for both.
func TestLaterCallThatNeedNotWaitIsServedAfterThoseThatDo(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout(), Policy: Policy{Start: SequenceStart{Rule: StartZero}}}, func(t *testing.T, clock *testClock, g *Generator) {
		mustFill(t, g, 16*11)
		earlier := make(chan ID, 1)
		go func() {
			id, err := g.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			earlier <- id
		}()
		synctest.Wait()
		clock.pass(time.Millisecond)
		if len(earlier) > 0 {
			t.Fatal("the call that waits was served already")
		}
		later, err := g.Next(t.Context())
		if earlier := <-earlier; err != nil || later != earlier+1 {
			t.Errorf("a later call got %d (%v), and the earlier one %d", later, err, earlier)
		}
	})
}

func TestLeaderThatGivesUpIsSucceeded(t *testing.T) {
	generate(t, GeneratorConfig{Layout: smallLayout()}, func(t *testing.T, _ *testClock, g *Generator) {
		mustFill(t, g, 16*9)
		ctx, cancel := context.WithCancel(t.Context())
		leader, second := make(chan error, 1), make(chan error, 1)
		go func() { leader <- g.Fill(ctx, make([]ID, 16*20)) }()
		synctest.Wait()
		go func() { _, err := g.Next(t.Context()); second <- err }()
		synctest.Wait()
		cancel()
		if err := <-leader; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

func TestFullRateLosesNoTickOnASleepyTimer(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		g := newTestGenerator(t, GeneratorConfig{Layout: smallLayout(), Clock: sleepyClock{clock}})
		const ticks = 1000
		started := clock.Monotonic()
		for range 16 * ticks {
			mustNext(t, g)
		}
		if took := clock.Monotonic() - started; took > ticks*time.Millisecond*101/100 {
			t.Errorf("%d ticks took %s", ticks, took)
		}
	})
}

// sleepyClock is a clock whose timers are late by more than a tick.
type sleepyClock struct{ *testClock }

func (c sleepyClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	return c.testClock.After(d + 1300*time.Microsecond)
}
