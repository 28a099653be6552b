package snowfence

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A peerRule is something that a peer documents of its behaviour, told as what
// is wrong with a generator that does not keep it; empty when it does.
type peerRule func(g *Generator, clock *testClock) string

// rejects holds when the clock's step back is refused at once.
func rejects(back time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		_, _ = g.Next(ctx)
		clock.step(-back)
		g.CheckClock()
		_, err := g.Next(ctx)
		if !errors.Is(err, ErrClockBehind) || clock.Monotonic() != started {
			return fmt.Sprintf("%s back: %v after %s, want a refusal at once", back, err, clock.Monotonic()-started)
		}
		return ""
	}
}

// waits holds when a call waits out the clock's step back and then gets an id
// of the tick that the clock shows.
func waits(back time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		_, _ = g.Next(ctx)
		clock.step(-back)
		g.CheckClock()
		id, err := g.Next(ctx)
		waited := clock.Monotonic() - started
		if err != nil || waited < back || waited > 2*back {
			return fmt.Sprintf("%s back: %v after %s, want an id after %s to %s", back, err, waited, back, 2*back)
		}
		p, err := g.layout.Decompose(id)
		if err != nil || p.Tick != g.layout.TickAt(clock.Wall()) {
			return fmt.Sprintf("id of tick %d, the clock shows %d", p.Tick, g.layout.TickAt(clock.Wall()))
		}
		return ""
	}
}

// givesUp holds when a call waits for a clock that does not come back in time
// and is refused then.
func givesUp(back, after time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		_, _ = g.Next(ctx)
		clock.step(-back)
		failed := make(chan error, 1)
		go func() { _, err := g.Next(ctx); failed <- err }()
		clock.pass(time.Millisecond)
		clock.step(-after) // and again, while the call waits
		err := <-failed
		if waited := clock.Monotonic() - started; !errors.Is(err, ErrClockBehind) || waited > after+time.Millisecond {
			return fmt.Sprintf("behind for long: %v after %s, want a refusal after %s at most", err, waited, after)
		}
		return ""
	}
}

// keepsOn holds when a step back does not keep ids from coming.
func keepsOn(back time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		first, _ := g.Next(ctx)
		clock.step(-back)
		clock.pass(time.Second)
		started += time.Second
		for range 1000 {
			id, err := g.Next(ctx)
			if err != nil || id <= first || clock.Monotonic()-started > 2*time.Second {
				return fmt.Sprintf("%s back: id %d after %d, %v, waited %s", back, id, first, err, clock.Monotonic()-started)
			}
			clock.pass(time.Millisecond)
			started += time.Millisecond
		}
		return ""
	}
}

// nextTick holds when a tick that is full makes a call wait for the next.
func nextTick(g *Generator, clock *testClock) string {
	started := clock.Monotonic()
	ids := make([]ID, g.mask+2)
	if err := g.Fill(context.Background(), ids); err != nil {
		return err.Error()
	}
	if waited := clock.Monotonic() - started; waited < time.Millisecond || waited > 20*time.Millisecond {
		return fmt.Sprintf("one id more than a tick holds: waited %s, want one tick", waited)
	}
	return ""
}

// ahead holds when a burst is stamped ahead of the clock by up to d.
func ahead(d time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		started := clock.Monotonic()
		if err := g.Fill(context.Background(), make([]ID, (g.mask+1)*uint64(d/g.layout.Unit))); err != nil {
			return err.Error()
		}
		if waited := clock.Monotonic() - started; waited != 0 {
			return fmt.Sprintf("a burst of %s waited %s", d, waited)
		}
		return ""
	}
}

// starts holds when ticks that start idle begin where want allows, and, all
// together, at as many different points as want says.
func starts(below int64, different int) peerRule {
	return func(g *Generator, clock *testClock) string {
		seen := map[int64]bool{}
		for range 3000 {
			id, err := g.Next(context.Background())
			if err != nil {
				return err.Error()
			}
			p, err := g.layout.Decompose(id)
			if err != nil {
				return err.Error()
			}
			if p.Sequence >= below {
				return fmt.Sprintf("a tick begins at %d, want less than %d", p.Sequence, below)
			}
			seen[p.Sequence] = true
			clock.pass(g.layout.Unit)
		}
		if len(seen) < different {
			return fmt.Sprintf("ticks begin at %d points, want %d", len(seen), different)
		}
		return ""
	}
}

// The policy of every peer keeps what the peer documents, and the default
// policy, with the peer's layout, keeps none of it.
func TestPeersPoliciesBehaveAsDocumented(t *testing.T) {
	ms := time.Millisecond
	rules := map[string][]peerRule{
		"twitter":                 {rejects(1 * ms), rejects(time.Second), nextTick, starts(1, 1)},
		"leaf":                    {waits(1 * ms), waits(5 * ms), rejects(6 * ms), givesUp(5*ms, 10*ms), nextTick, starts(100, 100)},
		"bwmarrin":                {keepsOn(time.Minute), starts(1, 1)},
		"shardingsphere":          {waits(1 * ms), waits(10 * ms), rejects(11 * ms), nextTick, starts(2, 2)},
		"shardingsphere-shanghai": {waits(1 * ms), waits(10 * ms), rejects(11 * ms), nextTick, starts(2, 2)},
		"jsnowflake":              {rejects(1 * ms), nextTick, starts(100, 100)},
		"beyondfeng":              {rejects(1 * ms), nextTick, starts(1, 1)},
		"simple":                  {rejects(1 * ms), nextTick, starts(1, 1)},
		"simple-class":            {rejects(1 * ms), nextTick, starts(1, 1)},
		"cosid":                   {rejects(1 * ms), nextTick, starts(2049, 2000)},
		"sonyflake-v1":            {keepsOn(time.Minute), starts(1, 1)},
		"sonyflake-v2":            {keepsOn(time.Minute), starts(1, 1)},
		"discord":                 {starts(1, 1)},
		"instagram":               {starts(1, 1)},
		"mastodon":                {starts(1<<16, 2800)},
		"seata":                   {starts(1, 1)},
		"yitter":                  {ahead(2 * time.Second), starts(1, 1)},
		"tsid":                    {starts(4096, 2000)},
	}
	for name, rules := range rules {
		preset, err := PresetByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, rule := range rules {
			t.Run(fmt.Sprintf("%s/%d", name, i+1), func(t *testing.T) {
				for policy, keeps := range map[*Policy]bool{&preset.Policy: true, {}: false} {
					bubble(t, testStart, func(t *testing.T, clock *testClock) {
						g := newTestGenerator(t, GeneratorConfig{Layout: preset.Layout, Clock: clock, Policy: *policy})
						wrong := rule(g, clock)
						if keeps && wrong != "" {
							t.Error(wrong)
						}
						if !keeps && wrong == "" {
							t.Error("the default policy keeps this rule too: the test shows nothing")
						}
					})
				}
			})
		}
	}
}
