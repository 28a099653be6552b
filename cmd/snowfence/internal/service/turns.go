package service

import (
	"context"
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

// enter waits for a turn, for which the client leaves later. It reports whether there was one in time.
func (t *turns) enter(ctx context.Context, who Who, expired <-chan time.Time) bool {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return true
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
		return true
	case <-ctx.Done():
	case <-expired:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[who], turn); i >= 0 {
		t.forget(who, i)
		return false
	}
	return true // the turn came just now
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

// inSlices mints n ids of a fenced generator in turn with other clients, for as long as its requests may wait.
func (s *Service) inSlices(ctx context.Context, who Who, m *served, n int, into *kind.Batch) error {
	begun := s.clock.Monotonic()
	expired, stop := s.clock.After(m.maxWait)
	defer stop()
	for n > 0 {
		if !m.turns.enter(ctx, who, expired) {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return &snowfence.WaitError{Reason: snowfence.ErrSaturated, Need: s.clock.Monotonic() - begun, Limit: m.maxWait}
		}
		some := min(n, slice)
		err := m.Mint(ctx, some, into)
		m.turns.leave()
		if err != nil {
			return err
		}
		n -= some
	}
	return nil
}
