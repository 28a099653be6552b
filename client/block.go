package client

import (
	"context"
	"sync/atomic"

	"snowfence.example/snowfence"
)

// block is a run of ids that is given out one by one. The zero value is empty. A call takes the id at
// the place that one atomic addition gives it, so no two calls get the same one. To withdraw a
// block is an addition, too: it moves the place beyond the end.
type block struct {
	run
	stop  func() bool // stops the timer that withdraws the block; nil for none
	_     [64]byte    // what each call writes has a cache line of its own
	taken atomic.Int64
}

// gone is above every place of a block, and far from an overflow by the calls that find it empty.
const gone = 1 << 40

func (b *block) withdraw() { b.taken.Add(gone) }

// nextOfBlock returns the next id of the present block.
func (c *Client) nextOfBlock(ctx context.Context) (snowfence.ID, error) {
	for {
		b := c.block.Load()
		if at := b.taken.Add(1) - 1; at < int64(b.count) {
			return b.first + snowfence.ID(at), nil
		}
		r, err := c.turn(b)
		if err == nil && r != nil {
			err = c.wait(ctx, r)
		}
		if err != nil {
			return 0, err
		}
	}
}

// turn replaces a block that is used up by the next. If none is there it returns the ride that fetches one.
func (c *Client) turn(used *block) (*ride, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, ErrClosed
	case c.block.Load() != used:
		return nil, nil // another call was first
	}
	if used.stop != nil {
		used.stop()
	}
	if len(c.ready) == 0 {
		c.order()
		return c.ahead[0], nil
	}
	c.block.Store(c.ready[0])
	c.stock -= c.ready[0].count
	c.ready = c.ready[1:]
	c.order()
	return nil, nil
}

// order fetches more when half of the stock or less is left. It needs the lock.
func (c *Client) order() {
	for low := c.stock <= c.config.Prefetch/2; low && c.stock < c.config.Prefetch; {
		r := c.newRide()
		r.began, r.ahead, r.calls, r.n = now(), true, 1, min(c.config.Prefetch-c.stock, c.config.Batch)
		c.stock += r.n
		c.ahead = append(c.ahead, r)
	}
}

// arrive takes the call's part of the first ride ahead. Each run is a block of its own. Their
// age counts from now, not from their request, because blocks of a slow server could be too old at once.
func (c *Client) arrive(r *ride, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = c.ahead[1:]
	if r.err != nil {
		c.stock -= n
		return
	}
	for _, run := range r.runs {
		b := &block{run: run}
		b.stop = after(c.config.MaxAge, b.withdraw)
		c.ready = append(c.ready, b)
	}
}
