package client

import (
	"context"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
)

// block is a run of ids that is given out one by one. The zero value is empty.
//
// A call takes the id at the place that one atomic addition gives it, so no two calls get the same
// one. To withdraw a block is an addition, too: it moves the place beyond the end.
type block struct {
	run
	taken  atomic.Int64
	half   int64       // the place at which the next block is fetched; -1 if not by this one
	expiry func() bool // stops the timer that withdraws the block
}

// gone is above every place of a block, and far from an overflow by the calls that find it empty.
const gone = 1 << 40

func (b *block) withdraw() { b.taken.Add(gone) }

// nextOfBlock returns the next id of the present block.
func (c *Client) nextOfBlock(ctx context.Context) (snowfence.ID, error) {
	for {
		b := c.block.Load()
		at := b.taken.Add(1) - 1
		if at < int64(b.count) {
			if at == b.half {
				c.mu.Lock()
				c.fetchAhead()
				c.mu.Unlock()
			}
			return b.first + snowfence.ID(at), nil
		}
		r, err := c.turn(b)
		if err != nil {
			return 0, err
		}
		if r != nil {
			if err := r.wait(ctx); err != nil {
				return 0, err
			}
		}
	}
}

// turn puts the next block in the place of one that is used up. If none is there it returns the ride
// that fetches one.
func (c *Client) turn(used *block) (*ride, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, ErrClosed
	case c.block.Load() != used:
		return nil, nil // another call was first
	}
	if used.expiry != nil {
		used.expiry()
	}
	for len(c.ready) > 0 {
		b := c.ready[0]
		c.ready = c.ready[1:]
		if b.taken.Load() < int64(b.count) {
			c.block.Store(b)
			return nil, nil
		}
	}
	return c.fetchAhead(), nil
}

// fetchAhead fetches the next block, unless it is on its way. It needs the lock.
func (c *Client) fetchAhead() *ride {
	if c.ahead != nil || c.closed {
		return c.ahead
	}
	r := &ride{n: c.config.Prefetch, done: make(chan struct{})}
	r.arrived = func() { c.arrive(r) }
	c.ahead = r
	c.queue = append(c.queue, r)
	c.start()
	return r
}

// arrive takes what a ride has fetched ahead. Each run is a block of its own. The age of all counts
// from when their request was sent.
func (c *Client) arrive(r *ride) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = nil
	left := c.config.MaxAge - (c.config.Clock.Monotonic() - r.sent)
	for i, run := range r.runs {
		b := &block{run: run, half: -1}
		if i == len(r.runs)-1 {
			b.half = int64(run.count / 2)
		}
		b.expiry = time.AfterFunc(max(left, 0), b.withdraw).Stop
		c.ready = append(c.ready, b)
	}
}
