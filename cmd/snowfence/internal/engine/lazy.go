package engine

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"snowfence.example/snowfence/store"
)

// Lazy returns the store that the URL names, and opens it when it is first used,
// and again until that succeeds: so that a program can start while its store is
// away. It returns a *[URLError] when the URL names none. What opened tells, once,
// is the store that was opened; nil means nobody.
func Lazy(storeURL string, opened func(store.Store)) (store.Store, error) {
	open, err := find(storeURL)
	if err != nil {
		return nil, err
	}
	if opened == nil {
		opened = func(store.Store) {}
	}
	l := &lazy{open: open, opened: opened, turn: make(chan struct{}, 1), closing: make(chan struct{})}
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
	turn   chan struct{} // held by the call that opens the store

	closing chan struct{} // closed by Close

	mu     sync.Mutex // guards what follows
	store  store.Store
	closed bool
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
	s, closed := l.store, l.closed
	if !closed {
		l.closed = true
		close(l.closing)
	}
	l.mu.Unlock()
	if s == nil || closed {
		return nil
	}
	return s.Close()
}

// get returns the store, which it opens if nobody has yet. One call at a time
// tries.
func (l *lazy) get(ctx context.Context) (store.Store, error) {
	if s, err := l.present(); s != nil || err != nil {
		return s, err
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closing:
		return nil, store.ErrClosed
	}
	if s, err := l.present(); s != nil || err != nil {
		return s, err
	}
	opening, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-l.closing:
			end()
		case <-opening.Done():
		}
	}()
	s, err := l.open(opening, false)
	if err != nil {
		if _, closed := l.present(); closed != nil {
			return nil, closed
		}
		return nil, err
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.store = s
	}
	l.mu.Unlock()
	if closed {
		_ = s.Close() // nobody ever had it
		return nil, store.ErrClosed
	}
	l.opened(s)
	return s, nil
}

func (l *lazy) present() (store.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, store.ErrClosed
	}
	return l.store, nil
}
