package snowfence

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// A seeded run of calls, steps of the clock, extensions and cancellations, of
// which every rule must hold at once: ids strictly increase; every tick lies
// in the window that was acknowledged when its call returned, and at most a
// burst ahead of now; a call that ends in an error has used nothing up, but
// for one slot that it may have given up, and for a batch that failed half way.
func TestEveryRuleHoldsInRandomRuns(t *testing.T) {
	for seed := range uint64(1000) {
		bubble(t, testStart, func(t *testing.T, clock *testClock) { randomRun(t, clock, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func randomRun(t *testing.T, clock *testClock, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	l := smallLayout()
	l.Fields[2].Bits = []int{1, 4, 9, 12}[r.IntN(4)]
	l.Unit = []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[r.IntN(3)]
	policy := Policy{
		MaxBurst:      []time.Duration{0, 1, 3 * l.Unit}[r.IntN(3)],
		MaxRollback:   []time.Duration{0, 1, 20 * time.Millisecond}[r.IntN(3)],
		WallEveryCall: r.IntN(4) == 0,
		Start:         []SequenceStart{{}, {Rule: StartZero}, {Rule: StartRandom, Max: 1}, {Rule: StartVibration, Max: 1}, {Rule: StartCarry, Max: 1}}[r.IntN(5)],
	}
	if policy.WallEveryCall {
		policy.MaxBurst = 1
	}
	now := l.TickAt(clock.Wall())
	until := now + Tick(6+r.IntN(2000))
	g := newTestGenerator(t, GeneratorConfig{Layout: l, Policy: policy, Clock: clock, Floor: now - 5 + Tick(r.IntN(10)), Until: until, Rand: r.Uint64})
	var last ID
	check := func(ids []ID) {
		t.Helper()
		s := g.Status()
		for _, id := range ids {
			p := parts(t, g, id)
			switch {
			case id <= last:
				t.Errorf("id %d after %d", id, last)
			case p.Tick < s.Floor || p.Tick >= until:
				t.Errorf("tick %d outside [%d, %d)", p.Tick, s.Floor, until)
			case !policy.WallEveryCall && p.Tick > s.Now+Tick(g.burst):
				t.Errorf("tick %d is more than %d ahead of now, %d", p.Tick, g.burst, s.Now)
			}
			last = id
		}
	}
	for range 60 {
		switch r.IntN(8) {
		case 0, 1, 2:
			before := g.state.Load()
			id, err := g.Next(t.Context())
			if err == nil {
				check([]ID{id})
			} else if g.state.Load()-before > 1 {
				t.Errorf("failed with %v and used %d slots", err, g.state.Load()-before)
			}
		case 3:
			ids, before := make([]ID, 1+r.IntN(1<<r.IntN(12))), g.state.Load()
			started := clock.Monotonic()
			err := g.Fill(t.Context(), ids)
			if err == nil {
				check(ids)
			} else if clock.Monotonic() == started && g.state.Load() != before {
				t.Errorf("refused at once with %v and used %d slots", err, g.state.Load()-before)
			}
			if waited := clock.Monotonic() - started; waited > g.policy.MaxWait {
				t.Errorf("waited %s, at most %s allowed", waited, g.policy.MaxWait)
			}
		case 4:
			clock.step(time.Duration(r.Int64N(int64(40*time.Millisecond))) - 20*time.Millisecond)
		case 5:
			clock.pass(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
		case 6:
			until += Tick(r.IntN(300))
			if err := g.Extend(until); err != nil {
				t.Error(err)
			}
		case 7:
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			id, before := ID(0), g.state.Load()
			go func() {
				var err error
				id, err = g.Next(ctx)
				done <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-done; err == nil {
				check([]ID{id})
			} else if g.state.Load()-before > 1 {
				t.Errorf("cancelled (%v) and used %d slots", err, g.state.Load()-before)
			}
		}
	}
	reserved := g.Revoke(errors.New("over"))
	if last != 0 && parts(t, g, last).Tick >= reserved {
		t.Errorf("tick %d issued, reserved below %d", parts(t, g, last).Tick, reserved)
	}
}
