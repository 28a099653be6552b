package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/kind"
)

// slice is how many ids are minted at a time for a request that asks for more. A generator makes that many in less
// than a tenth of a millisecond, and requests for a few ids wait for no more than one slice.
const slice = 256

// turns lets one large request at a time mint a slice. Each client has a turn after the other, whatever the number of
// its requests. Requests for a few ids have no need of a turn.
type turns struct {
	mu      sync.Mutex // guards what follows
	taken   bool
	clients []Who // that wait, the next one first
	waiting map[Who][]chan struct{}
}

// with calls f within a turn, or returns why the context has ended before there was one.
func (t *turns) with(ctx context.Context, who Who, f func() error) error {
	if err := t.enter(ctx, who); err != nil {
		return err
	}
	defer t.leave()
	return f()
}

// enter waits for a turn, which the client leaves later.
func (t *turns) enter(ctx context.Context, who Who) error {
	t.mu.Lock()
	if err := context.Cause(ctx); err != nil || !t.taken {
		t.taken = t.taken || err == nil
		t.mu.Unlock()
		return err
	}
	turn := make(chan struct{})
	if t.waiting == nil {
		t.waiting = map[Who][]chan struct{}{}
	}
	if len(t.waiting[who]) == 0 {
		t.clients = append(t.clients, who)
	}
	t.waiting[who] = append(t.waiting[who], turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[who], turn); i >= 0 {
		t.forget(who, i)
		return context.Cause(ctx)
	}
	return nil // the turn came just now
}

// forget takes a request out of those that wait. It needs the lock.
func (t *turns) forget(who Who, i int) {
	if t.waiting[who] = slices.Delete(t.waiting[who], i, i+1); len(t.waiting[who]) == 0 {
		delete(t.waiting, who)
		t.clients = slices.DeleteFunc(t.clients, func(other Who) bool { return other == who })
	}
}

// leave gives the turn to the next client.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken = len(t.clients) > 0; !t.taken {
		return
	}
	who := t.clients[0]
	turn := t.waiting[who][0]
	t.clients = append(t.clients[1:], who) // it is the last one now, if more of its requests wait
	t.forget(who, 0)
	close(turn)
}

// errLate ends a large request that has waited for as long as a request may.
var errLate = errors.New("the request has waited for too long")

// inSlices mints n numbers of a fenced generator in turn with other clients, within the time that a request may wait. The
// numbers increase: when a slice is of a later term, whose numbers may be lower, it begins again.
func (s *Service) inSlices(ctx context.Context, who Who, m *served, n int, into *kind.Batch) error {
	begun, had := s.clock.Monotonic(), into.Len()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	expired, stop := s.clock.After(m.maxWait)
	defer stop()
	go func() {
		select {
		case <-expired:
			cancel(errLate)
		case <-ctx.Done():
		}
	}()
	for into.Len() < had+n {
		at := into.Len()
		err := m.turns.with(ctx, who, func() error { return m.Mint(ctx, min(had+n-at, slice), into) })
		switch ids := into.Numbers(); {
		case err != nil && errors.Is(context.Cause(ctx), errLate):
			return s.late(m, begun)
		case err != nil:
			return err
		case at > had && ids[at] < ids[at-1]:
			into.Truncate(had)
		}
	}
	return nil
}

// late is the error of a request that has waited for as long as it may: why the generator gives no ids, or that there are
// too few for all.
func (s *Service) late(m *served, begun time.Duration) error {
	if c, ok := m.Minter.(checker); ok {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return &snowfence.WaitError{Reason: snowfence.ErrSaturated, Need: s.clock.Monotonic() - begun, Limit: m.maxWait}
}
