package memstore

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/store"
)

// Client is one client of a [Memory]. It is safe for concurrent use. No call
// ever blocks, so a context matters only if it has ended before the call.
type Client struct {
	memory *Memory
	closed atomic.Bool
}

// Get implements [store.Store]. It is never stale.
func (c *Client) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := c.usable(ctx); err != nil {
		return store.Entry{}, err
	}
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	r, ok := c.memory.get(key)
	if !ok {
		return store.Entry{}, store.ErrNotFound
	}
	return entry(key, r), nil
}

// Swap implements [store.Store]. Besides the errors named there it returns
// only those of the memory's random source, and then nothing took effect.
func (c *Client) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := c.usable(ctx); err != nil {
		return "", err
	}
	if err := store.ValidateKey(key); err != nil {
		return "", err
	}
	if err := store.ValidateValue(value); err != nil {
		return "", err
	}
	return c.memory.swap(key, prev, value)
}

// List implements [store.Store]. It takes the keys at once and then reads each
// register when its turn comes.
func (c *Client) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.ValidatePrefix(prefix); err != nil {
			yield(store.Entry{}, err)
			return
		}
		if err := c.usable(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		for _, key := range c.memory.keys() {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := c.usable(ctx); err != nil {
				yield(store.Entry{}, err)
				return
			}
			// A key can vanish meanwhile, but only by Restore or Failover.
			if r, ok := c.memory.get(key); ok && !yield(entry(key, r), nil) {
				return
			}
		}
	}
}

// Traits implements [store.Store].
func (c *Client) Traits(ctx context.Context) (store.Traits, error) {
	if err := c.usable(ctx); err != nil {
		return store.Traits{}, err
	}
	return store.Traits{
		Engine:  "memory",
		Durable: c.memory.loss == 0,
		Loss:    c.memory.loss,
		OneHost: true,
	}, nil
}

// Close implements [store.Store]. The memory and its other clients live on.
func (c *Client) Close() error {
	c.closed.Store(true)
	return nil
}

func (c *Client) usable(ctx context.Context) error {
	if c.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// entry copies the value, so that the caller may do with it as it likes.
func entry(key string, r register) store.Entry {
	return store.Entry{Key: key, Value: slices.Clone(r.value), Version: r.version}
}

// clockedClient is a client of a memory that has a clock.
type clockedClient struct{ *Client }

// Now implements [store.Clock].
func (c *clockedClient) Now(ctx context.Context) (time.Time, error) {
	if err := c.usable(ctx); err != nil {
		return time.Time{}, err
	}
	return c.memory.now(), nil
}
