package fence_test

import (
	"sync"
	"time"

	"snowfence.example/snowfence"
)

// wristwatch is the clock of one machine in a bubble. Its wall clock may be set,
// and may run fast or slow; its monotonic one is the bubble's. While the machine
// is stopped its timers do not ring: they ring together when it goes on.
type wristwatch struct {
	bubble snowfence.Clock

	mu      sync.Mutex
	offset  time.Duration // of the wall clock, when the drift began
	ppm     int64         // how fast it runs besides, in parts per million
	since   time.Duration // when it began to
	touched time.Duration // when it was last set

	stopped bool
	at      time.Duration      // since when
	stood   time.Duration      // for how long, before that
	goOn    chan struct{}      // closed when it goes on
	due     []chan<- time.Time // who should have rung meanwhile
}

func newWristwatch() *wristwatch {
	goOn := make(chan struct{})
	close(goOn)
	return &wristwatch{bubble: snowfence.SystemClock(), goOn: goOn, touched: -time.Hour}
}

func (c *wristwatch) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bubble.Wall().Add(c.off())
}

func (c *wristwatch) Monotonic() time.Duration { return c.bubble.Monotonic() }

func (c *wristwatch) After(d time.Duration) (<-chan time.Time, func() bool) {
	expired := make(chan time.Time, 1)
	timer := time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stopped {
			c.due = append(c.due, expired)
			return
		}
		expired <- time.Time{}
	})
	return expired, timer.Stop
}

// off needs c.mu.
func (c *wristwatch) off() time.Duration {
	return c.offset + (c.bubble.Monotonic()-c.since)/1_000_000*time.Duration(c.ppm)
}

// set sets the wall clock to so far from the bubble's, where it drifts on.
func (c *wristwatch) set(offset time.Duration, ppm int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = c.bubble.Monotonic()
	c.offset, c.ppm, c.touched = offset, ppm, c.since
}

// settled reports whether the wall clock was left alone for long enough that a
// generator has noticed what it shows.
func (c *wristwatch) settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bubble.Monotonic()-c.touched > 250*time.Millisecond
}

// stop stops the machine, and start lets it go on.
func (c *wristwatch) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.at, c.goOn = true, c.bubble.Monotonic(), make(chan struct{})
}

func (c *wristwatch) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		return
	}
	c.stopped = false
	c.stood += c.bubble.Monotonic() - c.at
	for _, expired := range c.due {
		expired <- time.Time{}
	}
	c.due = nil
	close(c.goOn)
}

// standing returns for how long the machine has been stopped so far, and a
// channel that is closed while it is not.
func (c *wristwatch) standing() (stood time.Duration, goOn <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stood = c.stood
	if c.stopped {
		stood += c.bubble.Monotonic() - c.at
	}
	return stood, c.goOn
}

func (c *wristwatch) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}
