package snowfence

import "time"

// Clock is the source of time and of waits for a [Generator] and the code around it. It is
// passed in, so that tests, simulations and replays can bring a time of their own.
// Implementations are safe for concurrent use.
type Clock interface {
	// Wall is the wall clock. It may step in either direction at any moment.
	Wall() time.Time

	// Monotonic is the time since some fixed point of this process. It never
	// goes back, but it may stand still while the machine is suspended.
	Monotonic() time.Duration

	// After sends one value on expired once d has passed on the monotonic clock. stop ends the wait
	// early and frees its resources. It reports whether the value was still to come.
	After(d time.Duration) (expired <-chan time.Time, stop func() bool)
}

// SystemClock returns the clock of this machine: the operating system's wall
// and monotonic clocks and the runtime's timers.
func SystemClock() Clock {
	return &systemClock{start: time.Now()}
}

// systemClock holds the instant that its monotonic time counts from. That
// instant carries a monotonic reading, so time.Since never sees a wall step.
type systemClock struct{ start time.Time }

// Wall strips the monotonic reading: differences of wall times must show the
// steps that the wall clock made.
func (*systemClock) Wall() time.Time { return time.Now().Round(0) }

func (c *systemClock) Monotonic() time.Duration { return time.Since(c.start) }

func (*systemClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}
