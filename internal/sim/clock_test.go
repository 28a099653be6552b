package sim

import (
	"testing"
	"time"
)

func TestClockDoesWhatRealOnesDo(t *testing.T) {
	var a Agenda
	begin := time.Date(2026, 6, 30, 23, 59, 0, 0, time.UTC)
	c := &clock{agenda: &a, begin: begin}
	pass := func(d time.Duration) { a.After(d, func() {}); a.Proceed() }
	is := func(what string, wall, monotonic time.Duration) {
		t.Helper()
		if got := c.Wall().Sub(begin); got != wall || c.Monotonic() != monotonic {
			t.Errorf("%s: the wall clock shows %s and the monotonic one %s, want %s and %s", what, got, c.Monotonic(), wall, monotonic)
		}
	}
	pass(time.Minute)
	is("after a minute", time.Minute, time.Minute)
	c.step(-time.Hour)
	is("set back", time.Minute-time.Hour, time.Minute)
	c.right()
	is("set right", time.Minute, time.Minute)
	c.drift(100)
	pass(10 * time.Second)
	is("10 s at 100 ppm", 70*time.Second+time.Millisecond, 70*time.Second)
	c.drift(-100)
	pass(10 * time.Second)
	is("10 s at -100 ppm", 80*time.Second, 80*time.Second)
	c.right()
	c.suspend()
	pass(10 * time.Hour)
	is("asleep", 10*time.Hour+80*time.Second, 80*time.Second)
	c.suspend()
	pass(time.Second)
	c.resume()
	c.resume()
	is("awake", 10*time.Hour+81*time.Second, 80*time.Second)
	pass(time.Second)
	is("a second later", 10*time.Hour+82*time.Second, 81*time.Second)
	c.slew(500)
	pass(10 * time.Second)
	is("10 s with the monotonic clock at 500 ppm", 10*time.Hour+92*time.Second, 91*time.Second+5*time.Millisecond)
	c.slew(-500)
	c.suspend()
	pass(time.Hour)
	c.resume()
	pass(10 * time.Second)
	is("an hour asleep and 10 s at -500 ppm", 11*time.Hour+102*time.Second, 101*time.Second)
}
