package sim

import "time"

// clock is the two clocks of one machine. The wall clock may be set, may run
// fast or slow, and may repeat or leave out a second; the monotonic one counts
// true time, and stands still while the machine is suspended.
type clock struct {
	agenda *Agenda
	begin  time.Time // true time zero
	caller *caller   // whose calls wait on it; nil for none

	offset  time.Duration // of the wall clock, when the drift began
	ppm     int64         // how fast it runs besides, in parts per million
	since   time.Duration // when it began to
	stopped time.Duration // for how long the monotonic clock stood still so far
	frozen  bool          // it stands still
	at      time.Duration // since when
}

// Wall implements [snowfence.Clock].
func (c *clock) Wall() time.Time { return c.begin.Add(c.agenda.Now() + c.off()) }

// Monotonic implements [snowfence.Clock].
func (c *clock) Monotonic() time.Duration {
	if c.frozen {
		return c.at - c.stopped
	}
	return c.agenda.Now() - c.stopped
}

// After implements [snowfence.Clock], for the one call that is under way. Its
// wait ends when the machine's caller is resumed.
func (c *clock) After(d time.Duration) (<-chan time.Time, func() bool) {
	expired := make(chan time.Time, 1)
	if c.caller == nil || !c.caller.running {
		expired <- c.Wall()
	} else {
		c.caller.expired, c.caller.due = expired, c.Monotonic()+d
	}
	return expired, func() bool { return false }
}

// off is how far the wall clock is from true time.
func (c *clock) off() time.Duration {
	return c.offset + (c.agenda.Now()-c.since)/1_000_000*time.Duration(c.ppm)
}

// step sets the wall clock forward, or back if d is negative.
func (c *clock) step(d time.Duration) { c.offset += d }

// drift lets it run that much faster from now on.
func (c *clock) drift(ppm int64) {
	c.offset, c.since, c.ppm = c.off(), c.agenda.Now(), ppm
}

// right sets it to true time, at which it stays.
func (c *clock) right() { c.offset, c.since, c.ppm = 0, c.agenda.Now(), 0 }

// suspend stops the monotonic clock, and resume lets it go on.
func (c *clock) suspend() {
	if !c.frozen {
		c.frozen, c.at = true, c.agenda.Now()
	}
}

func (c *clock) resume() {
	if c.frozen {
		c.frozen = false
		c.stopped += c.agenda.Now() - c.at
	}
}
