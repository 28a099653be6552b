package sim

import (
	"slices"
	"sort"
	"time"
)

// Agenda is a list of planned actions, soonest first. Actions of the same time stand in the order in
// which they were planned. Time passes only from one entry to the next. The zero value is an empty one
// at time zero. It belongs to one goroutine.
type Agenda struct {
	now     time.Duration
	entries []entry // the soonest last
}

type entry struct {
	at time.Duration
	do func()
}

// Now returns the time that has passed.
func (a *Agenda) Now() time.Duration { return a.now }

// After plans an action for d from now; at once if d is negative.
func (a *Agenda) After(d time.Duration, do func()) {
	e := entry{a.now + max(0, d), do}
	// Before all that are due at the same time, which come first.
	i := sort.Search(len(a.entries), func(i int) bool { return a.entries[i].at <= e.at })
	a.entries = slices.Insert(a.entries, i, e)
}

// Proceed lets time pass until the next action and does it. It returns false if the agenda is empty.
func (a *Agenda) Proceed() bool {
	if len(a.entries) == 0 {
		return false
	}
	last := len(a.entries) - 1
	next := a.entries[last]
	a.entries = slices.Delete(a.entries, last, last+1)
	a.now = next.at
	next.do()
	return true
}

// Until does the actions that are due up to an instant, and lets time pass until then. It ends before
// an action if done returns true.
func (a *Agenda) Until(end time.Duration, done func() bool) {
	for !done() {
		if n := len(a.entries); n == 0 || a.entries[n-1].at > end {
			a.now = max(a.now, end)
			return
		}
		a.Proceed()
	}
}

// clock is the two clocks of one machine. Each may run fast or slow, as quartz
// does and as an adjustment by small steps makes it. The wall clock may be set,
// too, and may repeat or leave out a second; the monotonic one stands still while
// the machine is suspended.
type clock struct {
	agenda *Agenda
	begin  time.Time // true time zero
	caller *caller   // whose calls wait on it; may be nil

	offset time.Duration // of the wall clock, when the drift began
	ppm    int64         // how fast it runs besides, in parts per million
	since  time.Duration // when it began to

	shown  time.Duration // by the monotonic clock, when it was looked at last
	looked time.Duration // when that was
	slewed int64         // how fast it runs, in parts per million
	frozen bool          // it stands still
}

// Wall implements [snowfence.Clock].
func (c *clock) Wall() time.Time { return c.begin.Add(c.agenda.Now() + c.off()) }

// Monotonic implements [snowfence.Clock].
func (c *clock) Monotonic() time.Duration {
	if c.frozen {
		return c.shown
	}
	// In two parts, because the product of years would not fit.
	passed, pace := int64(c.agenda.Now()-c.looked), c.pace()
	return c.shown + time.Duration(passed/million*pace+passed%million*pace/million)
}

// lasting is how long it takes in truth for the monotonic clock to go on by d.
func (c *clock) lasting(d time.Duration) time.Duration {
	goes, pace := int64(max(0, d)), c.pace()
	return time.Duration(goes/pace*million + (goes%pace*million+pace-1)/pace)
}

// pace is by how much the monotonic clock goes on in a million nanoseconds.
func (c *clock) pace() int64 { return million + c.slewed }

// million is the whole of parts per million.
const million = 1_000_000

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
	return c.offset + (c.agenda.Now()-c.since)/million*time.Duration(c.ppm)
}

// step sets the wall clock forward, or back if d is negative.
func (c *clock) step(d time.Duration) { c.offset += d }

// drift lets it run that much faster from now on.
func (c *clock) drift(ppm int64) {
	c.offset, c.since, c.ppm = c.off(), c.agenda.Now(), ppm
}

// right sets it to true time, at which it stays.
func (c *clock) right() { c.offset, c.since, c.ppm = 0, c.agenda.Now(), 0 }

// slew lets the monotonic clock run that much faster from now on.
func (c *clock) slew(ppm int64) { c.look(); c.slewed = ppm }

// suspend stops the monotonic clock, and resume lets it go on.
func (c *clock) suspend() { c.look(); c.frozen = true }
func (c *clock) resume()  { c.look(); c.frozen = false }

// look is made before anything changes its pace.
func (c *clock) look() { c.shown, c.looked = c.Monotonic(), c.agenda.Now() }
