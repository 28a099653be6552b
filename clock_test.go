package snowfence

import (
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
