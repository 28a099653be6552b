package snowfence

import (
	"errors"
	"testing"
	"time"
)

func TestNothingIsIssuedFromTheExpiryOnWhateverTheWallClockSays(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := smallLayout()
		floor := l.TickAt(testStart)
		until := floor + 100_000
		expires := clock.Monotonic() + 50*time.Millisecond
		g := newTestGenerator(t, GeneratorConfig{Layout: l, Floor: floor, Until: until, Expires: expires, Clock: clock})
		for clock.Monotonic() < expires {
			if left := g.Status().Left; left != expires-clock.Monotonic() {
				t.Errorf("ids are said to last for %s, want %s", left, expires-clock.Monotonic())
			}
			mustNext(t, g)
			clock.pass(5 * time.Millisecond)
		}
		fails := func(when string) {
			t.Helper()
			if _, err := g.Next(t.Context()); !errors.Is(err, ErrWindowEnded) {
				t.Errorf("%s, Next: %v", when, err)
			}
			if err := g.Fill(t.Context(), make([]ID, 3)); !errors.Is(err, ErrWindowEnded) {
				t.Errorf("%s, Fill: %v", when, err)
			}
		}
		fails("at the expiry")
		if left := g.Status().Left; left != 0 {
			t.Errorf("after the expiry ids are said to last for %s", left)
		}
		if err := g.Extend(until + 1); err != nil {
			t.Fatal(err)
		}
		fails("with more ticks, and no more time")
		if err := g.ExtendWithin(until+1, expires-time.Millisecond); err != nil {
			t.Fatal(err)
		}
		fails("with an expiry that moved back")
		// A pause of the process: its next call sees the time.
		if err := g.ExtendWithin(until+1, clock.Monotonic()+10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		mustNext(t, g)
		clock.pass(time.Hour)
		fails("after a pause")
		if err := g.ExtendWithin(until+10_000_000, clock.Monotonic()+10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if p := mustNext(t, g); p.Tick != l.TickAt(clock.Wall()) {
			t.Errorf("tick %d, want now, %d", p.Tick, l.TickAt(clock.Wall()))
		}
	})
}

func TestExpiryIsRefusedWhereEachCallReadsTheWallClockAlone(t *testing.T) {
	worker := int64(0)
	_, err := NewGenerator(GeneratorConfig{Worker: &worker, Until: 10, Expires: time.Second, Policy: Policy{WallEveryCall: true}})
	if err == nil {
		t.Error("the generator was made")
	}
}
