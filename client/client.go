package client

import (
	"context"
	"sync"
	"sync/atomic"

	"snowfence.example/snowfence"
)

// Source is where a program gets ids from: a [Client], or a holder of package fence.
type Source interface {
	// Next returns a new id.
	Next(ctx context.Context) (snowfence.ID, error)
	// Fill fills ids with new ones. When it fails, none of them may be used.
	Fill(ctx context.Context, ids []snowfence.ID) error
	// Close gives back what the source holds, at the latest when the context ends.
	Close(ctx context.Context) error
}

// Client gets the ids of one generator. Use [New] to make one. It is safe for concurrent use.
type Client struct {
	config Config
	block  atomic.Pointer[block] // never nil; empty without prefetch
	ctx    context.Context       //nolint:containedctx // of all requests; ended by Close
	cancel context.CancelFunc
	done   sync.WaitGroup // the goroutine that asks

	mu     sync.Mutex // guards the fields below
	queue  []*ride    // not yet sent
	asking bool       // a goroutine asks
	closed bool
	ready  []*block // fetched ahead and not begun
	ahead  []*ride  // that fetch ahead
	stock  int      // ids of both

	servers *servers // for the goroutine that asks; others load the reason only
}

// New returns a client. It connects when the first id is asked for. An error of
// [snowfence.ClassUsage] is returned for a configuration that can't be used.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	c := &Client{config: cfg, servers: newServers(cfg)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.block.Store(new(block))
	return c, nil
}

// Next returns a new id. [ErrClosed] is returned after Close, a [*ServerError] when a server refused for good, an error
// that wraps [ErrUnavailable] when no server gave ids within MaxWait or the context's time, and else the context's cause.
func (c *Client) Next(ctx context.Context) (snowfence.ID, error) {
	if c.config.Prefetch > 0 {
		return c.nextOfBlock(ctx)
	}
	var id [1]snowfence.ID
	err := c.travel(ctx, id[:])
	return id[0], err
}

// Fill fills ids with new ones. Ids of one request, at most Batch, increase. It leaves the ids that
// were fetched ahead alone. It fails as Next does. When it fails, none of the ids may be used.
func (c *Client) Fill(ctx context.Context, ids []snowfence.ID) error {
	for len(ids) > 0 {
		n := min(len(ids), c.config.Batch)
		if err := c.travel(ctx, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// Close ends the calls under way with [ErrClosed], closes the connections, and waits until the client's
// goroutine has ended. The context's cause is returned when that ended first.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.block.Swap(new(block)).withdraw()
	ended := make(chan struct{})
	go func() {
		c.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
