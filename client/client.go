package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
)

// Source is where a program gets ids from: a [Client], or a holder of package fence.
type Source interface {
	// Next returns a new id.
	Next(ctx context.Context) (snowfence.ID, error)
	// Fill fills ids with new ones, in increasing order. When it fails, none of them may be used.
	Fill(ctx context.Context, ids []snowfence.ID) error
	// Close gives back what the source holds.
	Close(ctx context.Context) error
}

// Config says where ids come from.
type Config struct {
	// Servers are the addresses of the daemons' RESP fronts, as host:port. They are used in this
	// order. At least one is needed.
	Servers []string

	// Generator is the name of the generator. Empty means "default".
	Generator string

	// Token is shown to the servers. Empty means none.
	Token string

	// TLS is used for connections. Nil means that they are not encrypted.
	TLS *tls.Config

	// Timeout is how long a server may take to be connected to, and to answer a request. Zero means 1 s.
	Timeout time.Duration

	// MaxWait is how long a call waits while no server gives ids. Zero means 10 s. The context of a
	// call can end it earlier.
	MaxWait time.Duration

	// Batch is the most ids of one request, from 1 to 1,000,000. Zero means 1,000. It must not be
	// above the limit of the servers, which is 10,000 unless they are configured otherwise.
	Batch int

	// Prefetch is how many ids a block has, up to Batch. Zero means that nothing is fetched ahead.
	Prefetch int

	// MaxAge is how long ids of a block are given out. Zero means 1 s.
	MaxAge time.Duration

	// Strict refuses answers that are not above every id that this client has given out. It is for
	// generators without worker bits, where one server at a time gives ids, in increasing order. It
	// excludes Prefetch.
	Strict bool

	// Clock is where the time comes from. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock

	// Random spreads the times at which failed servers are tried again: it returns from 0 up to 1. It
	// is called by one goroutine at a time. Nil means a random source of the process.
	Random func() float64
}

// ConfigError is returned by [New] for a field that can't be used.
type ConfigError struct {
	Field, Value, Limit string
}

// Error names the field, its value and the limit.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("client: %s is %q: must be %s", e.Field, e.Value, e.Limit)
}

// Class is [snowfence.ClassUsage].
func (*ConfigError) Class() snowfence.Class { return snowfence.ClassUsage }

const maxBatch = 1_000_000

// complete returns the configuration with its defaults, or a *ConfigError.
func (c Config) complete() (Config, error) {
	c.Generator, c.Timeout, c.MaxWait = cmp.Or(c.Generator, "default"), cmp.Or(c.Timeout, time.Second), cmp.Or(c.MaxWait, 10*time.Second)
	c.Batch, c.MaxAge, c.Clock = cmp.Or(c.Batch, 1000), cmp.Or(c.MaxAge, time.Second), cmp.Or(c.Clock, snowfence.SystemClock())
	if c.Random == nil {
		c.Random = rand.Float64
	}
	c.Servers = slices.Clone(c.Servers)
	refuse := func(field string, value any, limit string) (Config, error) {
		return c, &ConfigError{field, fmt.Sprint(value), limit}
	}
	switch {
	case len(c.Servers) == 0:
		return refuse("Servers", "", "one address or more")
	case c.Timeout < 0:
		return refuse("Timeout", c.Timeout, "above 0")
	case c.MaxWait < 0:
		return refuse("MaxWait", c.MaxWait, "above 0")
	case c.MaxAge < 0:
		return refuse("MaxAge", c.MaxAge, "above 0")
	case c.Batch < 1 || c.Batch > maxBatch:
		return refuse("Batch", c.Batch, fmt.Sprintf("from 1 to %d", maxBatch))
	case c.Prefetch < 0 || c.Prefetch > c.Batch:
		return refuse("Prefetch", c.Prefetch, fmt.Sprintf("from 0 to Batch, which is %d", c.Batch))
	case c.Prefetch > 0 && c.Strict:
		return refuse("Prefetch", c.Prefetch, "0 with Strict")
	}
	for _, address := range c.Servers {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return refuse("Servers", address, "host:port")
		}
	}
	return c, nil
}

// Client gets the ids of one generator. Use [New] to make one. It is safe for simultaneous use by
// multiple goroutines.
type Client struct {
	config Config
	block  atomic.Pointer[block] // never nil; empty without prefetch
	ctx    context.Context       //nolint:containedctx // of all requests; ended by Close
	cancel context.CancelFunc
	done   sync.WaitGroup // the goroutine that asks

	mu     sync.Mutex // guards what follows
	queue  []*ride    // not yet sent
	asking bool       // a goroutine asks
	ready  []*block   // fetched and not begun
	ahead  *ride      // fetches the next block; nil if none is fetched
	closed bool

	servers servers // only the goroutine that asks uses it
}

// New returns a client. It connects when the first id is asked for. A [*ConfigError] is returned for
// a configuration that can't be used.
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

// Next returns a new id. [ErrClosed] is returned after Close, [ErrUnavailable] when no server gave an id
// for MaxWait, a [*ServerError] when a server refused the request for good, and the context's cause when
// it ended first.
func (c *Client) Next(ctx context.Context) (snowfence.ID, error) {
	if c.config.Prefetch > 0 {
		return c.nextOfBlock(ctx)
	}
	r, at, err := c.join(1)
	if err != nil {
		return 0, err
	}
	if err := r.wait(ctx); err != nil {
		return 0, err
	}
	return r.id(at), nil
}

// Fill fills ids with new ones, in increasing order. It fails as Next does. When it fails, none of the ids
// may be used.
func (c *Client) Fill(ctx context.Context, ids []snowfence.ID) error {
	for len(ids) > 0 {
		n := min(len(ids), c.config.Batch)
		r, at, err := c.join(n)
		if err == nil {
			err = r.wait(ctx)
		}
		if err != nil {
			return err
		}
		r.fill(at, ids[:n])
		ids = ids[n:]
	}
	return nil
}

// Close ends the calls under way with [ErrClosed], closes the connections, and waits until the client's
// goroutine has ended, or the context has, and then returns its cause.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.block.Swap(new(block)).withdraw()
	ended := make(chan struct{})
	go func() {
		c.done.Wait()
		c.servers.close()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
