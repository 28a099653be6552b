package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"snowfence.example/snowfence/store"
)

// openLimit bounds one attempt to open a store that Lazy returned.
const openLimit = 10 * time.Second

// Lazy returns the store that the URL names, and opens it when it is first used,
// and again until that succeeds: so that a program can start while its store is
// away. An attempt may outlive the call that began it, so that short calls open a
// slow store too. It calls opened once, with the store, when it is open; nil means that
// no call is wanted. It returns a *[URLError] when the URL names no store.
func Lazy(storeURL string, opened func(store.Store)) (store.Store, error) {
	open, err := find(storeURL)
	if err != nil {
		return nil, err
	}
	if opened == nil {
		opened = func(store.Store) {}
	}
	l := newLazy(open, opened)
	if hasClock(storeURL) {
		return &clockedLazy{l}, nil
	}
	return l, nil
}

// lazy is a store that may not be open yet. A call that can't open it has
// reached no engine, and fails.
type lazy struct {
	open   opener
	opened func(store.Store)
	life   context.Context //nolint:containedctx // ends an attempt that is under way when the store is closed
	end    context.CancelFunc

	mu      sync.Mutex // guards what follows
	store   store.Store
	attempt *attempt // under way or successful, or nil
	failure error    // of the attempt before
}

// attempt is one to open the store. What became of it is there when it is done.
type attempt struct {
	done  chan struct{}
	store store.Store
	err   error
}

func newLazy(open opener, opened func(store.Store)) *lazy {
	l := &lazy{open: open, opened: opened}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// clockedLazy is one whose engine has a clock, which is known before it is open:
// who claims by it asks at the start whether there is one.
type clockedLazy struct{ *lazy }

// Now implements [store.Clock].
func (l *clockedLazy) Now(ctx context.Context) (time.Time, error) {
	s, err := l.get(ctx)
	if err != nil {
		return time.Time{}, err
	}
	clock, ok := store.ClockOf(s)
	if !ok {
		return time.Time{}, errors.New("the store has no clock")
	}
	return clock.Now(ctx)
}

// Get implements [store.Store].
func (l *lazy) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	s, err := l.get(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	return s.Get(ctx, key)
}

// Swap implements [store.Store].
func (l *lazy) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := store.ValidateKey(key); err != nil {
		return "", err
	}
	if err := store.ValidateValue(value); err != nil {
		return "", err
	}
	s, err := l.get(ctx)
	if err != nil {
		return "", err
	}
	return s.Swap(ctx, key, prev, value)
}

// List implements [store.Store].
func (l *lazy) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.ValidatePrefix(prefix); err != nil {
			yield(store.Entry{}, err)
			return
		}
		s, err := l.get(ctx)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for e, err := range s.List(ctx, prefix) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Traits implements [store.Store].
func (l *lazy) Traits(ctx context.Context) (store.Traits, error) {
	s, err := l.get(ctx)
	if err != nil {
		return store.Traits{}, err
	}
	return s.Traits(ctx)
}

// Unwrap returns the store once it is open, and nil before.
func (l *lazy) Unwrap() store.Store {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store
}

// Close implements [store.Store].
func (l *lazy) Close() error {
	l.mu.Lock()
	s, closed := l.store, l.closed()
	l.end()
	l.mu.Unlock()
	if s == nil || closed {
		return nil
	}
	return s.Close()
}

// get returns the store, which it begins to open if no call has yet. When ctx ends,
// the attempt goes on for the calls that follow.
func (l *lazy) get(ctx context.Context) (store.Store, error) {
	switch {
	case l.closed():
		return nil, store.ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	a, failure := l.begin()
	select {
	case <-a.done:
		return a.store, a.err
	case <-l.life.Done():
		return nil, store.ErrClosed
	case <-ctx.Done():
	}
	if failure != nil {
		return nil, fmt.Errorf("%w: the store is being opened, the last attempt failed: %w", ctx.Err(), failure)
	}
	return nil, fmt.Errorf("%w: the store is being opened", ctx.Err())
}

// begin returns the attempt that counts, and why the one before failed.
func (l *lazy) begin() (*attempt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attempt == nil {
		l.attempt = &attempt{done: make(chan struct{})}
		go l.try(l.attempt)
	}
	return l.attempt, l.failure
}

// try is one attempt.
func (l *lazy) try(a *attempt) {
	defer close(a.done)
	ctx, cancel := context.WithTimeout(l.life, openLimit)
	defer cancel()
	s, err := l.open(ctx, false)
	l.mu.Lock()
	closed := l.closed()
	switch {
	case err != nil:
		l.attempt, l.failure = nil, err
	case !closed:
		l.store = s
	}
	l.mu.Unlock()
	switch {
	case closed:
		if err == nil {
			_ = s.Close() // no call was given it
		}
		s, err = nil, store.ErrClosed
	case err == nil:
		l.opened(s)
	}
	a.store, a.err = s, err
}

func (l *lazy) closed() bool { return l.life.Err() != nil }
