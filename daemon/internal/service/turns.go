package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// leastSlice is the least of [sliceOf].
const leastSlice = 256

// sliceOf returns how many ids of a layout are minted at a time for a request that asks for more: as many as one worker may
// issue in a sixteenth of a millisecond. Requests for a few ids wait for at most one slice.
func sliceOf(l snowfence.Layout) int {
	return max(leastSlice, int(min(l.RatePerWorker()/16_000, 1<<20)))
}

// turns lets one large request at a time mint a slice. Clients take turns, independent of the number of
// their requests, and a client keeps its turn until another one waits. Requests for a few ids work
// without a turn.
type turns struct {
	mu      sync.Mutex // guards the fields below
	taken   bool
	clients []any // that wait, by [Client.Who], the next one first
	waiting map[any][]chan struct{}
}

// enter waits for a turn, which the client leaves later.
func (t *turns) enter(ctx context.Context, who any) error {
	t.mu.Lock()
	if err := context.Cause(ctx); err != nil || !t.taken {
		t.taken = t.taken || err == nil
		t.mu.Unlock()
		return err
	}
	turn := make(chan struct{})
	if t.waiting == nil {
		t.waiting = map[any][]chan struct{}{}
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

// forget removes a waiting request. It needs the lock.
func (t *turns) forget(who any, i int) {
	if t.waiting[who] = slices.Delete(t.waiting[who], i, i+1); len(t.waiting[who]) == 0 {
		delete(t.waiting, who)
		t.clients = slices.DeleteFunc(t.clients, func(other any) bool { return other == who })
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

// keep reports whether a client keeps its turn. If another client waits, it passes the turn on and
// returns false.
func (t *turns) keep(who any) bool {
	t.mu.Lock()
	others := len(t.clients) > 1 || len(t.clients) == 1 && t.clients[0] != who
	t.mu.Unlock()
	if others {
		t.leave()
	}
	return !others
}

// errLate ends a large request that has waited for as long as a request may.
var errLate = errors.New("the request has waited for too long")

// inSlices mints n numbers of a fenced generator in turn with other clients, within the time that a request may wait. The
// numbers increase: when a slice is of a later term, whose numbers may be lower, it begins again.
func (u *Use) inSlices(ctx context.Context, n int, into *kind.Batch) error {
	m, who := u.m, u.client.Who()
	begun, had := u.client.service.clock.Monotonic(), into.Len()
	ctx, cancel := context.WithTimeoutCause(ctx, m.maxWait, errLate)
	defer cancel()
	turn := false
	defer func() {
		if turn {
			m.turns.leave()
		}
	}()
	for into.Len() < had+n {
		at, err := into.Len(), error(nil)
		if !turn {
			err = m.turns.enter(ctx, who)
			turn = err == nil
		}
		if err == nil {
			err = m.Mint(ctx, min(had+n-at, m.slice), into)
		}
		switch ids := into.Numbers(); {
		case err != nil && errors.Is(context.Cause(ctx), errLate):
			return u.late(begun)
		case err != nil:
			return err
		case at > had && ids[at] < ids[at-1]:
			into.Truncate(had)
		}
		turn = m.turns.keep(who)
	}
	return nil
}

// late returns the error of a request that has waited for its longest time: the generator's problem, or too few ids for all.
func (u *Use) late(begun time.Duration) error {
	if ready := u.m.caps.Ready; ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	return &snowfence.WaitError{Reason: snowfence.ErrSaturated, Need: u.client.service.clock.Monotonic() - begun, Limit: u.m.maxWait}
}
