package filestore

import (
	"sync"
	"time"
)

// countingClock lets every wait end at once. After limit waits it calls
// reached, if there is one.
type countingClock struct {
	limit   int
	reached func()

	mu    sync.Mutex
	waits []time.Duration
}

func (c *countingClock) Wall() time.Time          { return time.Unix(0, 0) }
func (c *countingClock) Monotonic() time.Duration { return 0 }

func (c *countingClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	c.mu.Lock()
	c.waits = append(c.waits, d)
	n := len(c.waits)
	c.mu.Unlock()
	if n == c.limit && c.reached != nil {
		c.reached()
	}
	expired := make(chan time.Time, 1)
	expired <- time.Unix(0, 0)
	return expired, func() bool { return true }
}
