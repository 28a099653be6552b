package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// run is ids that follow each other.
type run struct {
	first snowfence.ID
	count int
}

// last is the greatest id of the run.
func (r run) last() snowfence.ID { return r.first + snowfence.ID(r.count-1) }

// ride is one request and the calls that wait for its ids. Each call has a place: the ids from an
// offset on. The fields of the answer are written before done is closed, and read after that.
type ride struct {
	began time.Time // when the first of the calls came
	ahead bool      // its ids are for a block: no call has a place

	n     int // ids of all places; guarded by the client's lock, as is calls
	calls int // that wait; a ride without any is not sent

	runs []run
	err  error
	done chan struct{}
}

// newRide puts a ride at the end of the queue. It needs the lock.
func (c *Client) newRide() *ride {
	r := &ride{done: make(chan struct{})}
	c.queue = append(c.queue, r)
	if !c.asking {
		c.asking = true
		c.done.Go(c.ask)
	}
	return r
}

// travel fills ids, at most Batch, by a request that is not sent yet.
func (c *Client) travel(ctx context.Context, ids []snowfence.ID) error {
	r, at, err := c.join(len(ids))
	if err != nil {
		return err
	}
	if err := c.wait(ctx, r); err != nil {
		c.leave(r)
		return err
	}
	r.fill(at, ids)
	return nil
}

// join finds a place for n ids on the last ride of the queue.
func (c *Client) join(n int) (r *ride, at int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0, ErrClosed
	}
	if len(c.queue) > 0 {
		r = c.queue[len(c.queue)-1]
	}
	if r == nil || r.ahead || r.n+n > c.config.Batch {
		r = c.newRide()
	}
	if r.calls == 0 {
		r.began = now() // it is new, or all that joined it have left
	}
	r.n += n
	r.calls++
	return r, r.n - n, nil
}

// leave ends a call's wait. Its place stays empty: its ids are lost.
func (c *Client) leave(r *ride) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.calls--; r.calls == 0 {
		r.n = 0
	}
}

// ask sends requests as long as calls wait. It is the one goroutine of a client, and ends when
// nothing is to be asked for.
func (c *Client) ask() {
	for r, n := c.depart(); r != nil; r, n = c.depart() {
		r.runs, r.err = c.servers.fetch(c.ctx, n, r.began)
		if r.ahead {
			c.arrive(r, n)
		}
		close(r.done)
	}
}

// depart takes the next ride from the queue, and the number of its ids. It is closed to more calls, so
// all of its calls began before the request is sent. It returns nil when no call waits.
func (c *Client) depart() (r *ride, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		r, c.queue = c.queue[0], c.queue[1:]
		if r.calls > 0 {
			return r, r.n
		}
	}
	c.asking = false
	return nil, 0
}

// wait waits until a ride's ids are there, or the context ends.
func (c *Client) wait(ctx context.Context, r *ride) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	err := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // the caller has left
	}
	if reason := c.servers.reason.Load(); reason != nil {
		err = fmt.Errorf("%w: %w", err, *reason)
	}
	return fmt.Errorf("%w yet: %w", ErrUnavailable, err)
}

// fill writes the ids from a place on.
func (r *ride) fill(at int, ids []snowfence.ID) {
	for _, run := range r.runs {
		for ; at < run.count && len(ids) > 0; at++ {
			ids[0], ids = run.first+snowfence.ID(at), ids[1:]
		}
		at = max(at-run.count, 0)
	}
}
