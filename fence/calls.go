package fence

import (
	"context"
	"errors"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// traits reads the store's traits, and waits for them no longer than a claim
// may wait, and than the limit.
func (c *Config) traits(ctx context.Context, limit time.Duration) (store.Traits, error) {
	for _, given := range []time.Duration{c.ClaimWait, c.RequestTimeout} {
		if given > 0 {
			limit = min(limit, given)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	expired, stop := c.Clock.After(limit)
	defer stop()
	type answer struct {
		traits store.Traits
		err    error
	}
	answers := make(chan answer, 1) // room for an answer that nobody awaits
	go func() {
		traits, err := c.Store.Traits(ctx)
		answers <- answer{traits, err}
	}()
	select {
	case a := <-answers:
		return a.traits, a.err
	case <-expired:
		cancel(errTimeout)
		return store.Traits{}, errTimeout
	case <-ctx.Done():
		return store.Traits{}, context.Cause(ctx)
	}
}

// The four requests to the store, each with its answer as the lease reads it.

func get(ctx context.Context, s store.Store, r lease.Get) lease.Reply {
	entry, err := s.Get(ctx, r.Key)
	switch {
	case err == nil:
		return lease.Reply{Outcome: lease.Found, Entry: entry}
	case errors.Is(err, store.ErrNotFound):
		return lease.Reply{Outcome: lease.Absent}
	}
	return lease.Reply{Err: err}
}

func swap(ctx context.Context, s store.Store, r lease.Swap) lease.Reply {
	version, err := s.Swap(ctx, r.Key, r.Prev, r.Value)
	switch {
	case err == nil:
		return lease.Reply{Outcome: lease.Swapped, Version: version}
	case errors.Is(err, store.ErrConflict):
		return lease.Reply{Outcome: lease.Conflict}
	}
	return lease.Reply{Err: err}
}

func list(ctx context.Context, s store.Store, r lease.List) lease.Reply {
	reply := lease.Reply{Outcome: lease.Listed}
	for entry, err := range s.List(ctx, r.Prefix) {
		if err != nil {
			return lease.Reply{Err: err, Entries: reply.Entries}
		}
		reply.Entries = append(reply.Entries, entry)
	}
	return reply
}

func ask(ctx context.Context, s store.Store, _ lease.Ask) lease.Reply {
	clock, ok := store.ClockOf(s)
	if !ok {
		return lease.Reply{Err: errors.New("the store has no clock")}
	}
	now, err := clock.Now(ctx)
	if err != nil {
		return lease.Reply{Err: err}
	}
	return lease.Reply{Outcome: lease.Told, Time: now}
}

// observe counts a request that was answered.
func (h *Holder) observe(name string, took time.Duration, reply lease.Reply) {
	if h.config.Observer != nil {
		h.config.Observer.StoreCall(name, took, reply.Err)
	}
	wall := h.config.Clock.Wall()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Store.Requests++
	h.status.Store.Latency = took
	h.refused = reply.Err
	if reply.Err != nil {
		h.status.Store.Errors++
		h.status.Store.LastError = reply.Err
	}
	if reply.Outcome == lease.Told {
		h.status.ClockOffset, h.status.ClockCompared = wall.Sub(reply.Time), true
	}
}
