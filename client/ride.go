package client

import (
	"context"
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
// offset on. What the request brought is written before done is closed, and read after that.
type ride struct {
	n    int // ids of all calls
	done chan struct{}
	runs []run
	err  error

	sent    time.Duration // when the request was sent
	arrived func()        // called before done is closed; nil for none
}

// join finds a place for n ids, at most Batch, on a request that is not sent yet.
func (c *Client) join(n int) (r *ride, at int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0, ErrClosed
	}
	if len(c.queue) > 0 {
		r = c.queue[len(c.queue)-1]
	}
	if r == nil || r.n+n > c.config.Batch {
		r = &ride{done: make(chan struct{})}
		c.queue = append(c.queue, r)
	}
	at = r.n
	r.n += n
	c.start()
	return r, at, nil
}

// start starts the goroutine that asks. It needs the lock.
func (c *Client) start() {
	if !c.asking {
		c.asking = true
		c.done.Go(c.ask)
	}
}

// ask sends requests as long as calls wait. It is the one goroutine of a client, and ends when
// nothing is to be asked for.
func (c *Client) ask() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.asking = false
			c.mu.Unlock()
			return
		}
		r := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		// From here on no call joins, so each began before the request is sent.
		r.sent = c.config.Clock.Monotonic()
		r.runs, r.err = c.servers.fetch(c.ctx, r.n)
		if r.err != nil && c.ctx.Err() != nil {
			r.err = ErrClosed
		}
		if r.arrived != nil {
			r.arrived()
		}
		close(r.done)
	}
}

// wait waits until the ride's ids are there. A call that leaves earlier leaves its ids: no other
// call gets them.
func (r *ride) wait(ctx context.Context) error {
	if ctx.Done() == nil {
		<-r.done // cheaper than to wait for two
		return r.err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// id returns the id at a place.
func (r *ride) id(at int) snowfence.ID {
	for _, run := range r.runs {
		if at < run.count {
			return run.first + snowfence.ID(at)
		}
		at -= run.count
	}
	return 0 // never: fetch sees to it that there are as many as were asked for
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
