package storeclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"snowfence.example/snowfence/store"
)

// An Opener opens something that calls share, such as a connection, when one of
// them needs it. There is one attempt at a time. It may outlive the call that began
// it, so that short calls suffice for a slow opening. An Opener is safe for concurrent
// use.
type Opener[T any] struct {
	Life  *Life
	Limit time.Duration // bounds an attempt
	Open  func(context.Context) (T, error)
	Works func(T) bool // reports whether the opened value is still of use

	mu   sync.Mutex
	last *attempt[T] // nil before the first
}

// attempt is one to open. The value and the error are there when it is done.
type attempt[T any] struct {
	done   chan struct{}
	value  T
	err    error
	before error // of the attempt before
}

// Get returns the open value. It begins an attempt if nothing is, and waits for the
// attempt, ctx or the end of the life.
func (o *Opener[T]) Get(ctx context.Context) (T, error) {
	var none T
	if err := o.Life.Usable(ctx); err != nil {
		return none, err
	}
	a := o.begin()
	select {
	case <-a.done:
		return a.value, a.err
	case <-o.Life.ctx.Done():
		return none, store.ErrClosed
	case <-ctx.Done():
	}
	if a.before != nil {
		return none, fmt.Errorf("%w: being opened, the last attempt failed: %w", ctx.Err(), a.before)
	}
	return none, fmt.Errorf("%w: being opened", ctx.Err())
}

// Value returns the value of the last attempt, and whether it was opened. It does not wait.
func (o *Opener[T]) Value() (value T, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil || !o.last.ended() || o.last.err != nil {
		return value, false
	}
	return o.last.value, true
}

// Wait waits for the attempt under way. After the end of the life it returns soon,
// and none follows.
func (o *Opener[T]) Wait() {
	o.mu.Lock()
	a := o.last
	o.mu.Unlock()
	if a != nil {
		<-a.done
	}
}

// begin returns the attempt that counts.
func (o *Opener[T]) begin() *attempt[T] {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.last
	if a != nil && (!a.ended() || a.err == nil && o.Works(a.value)) {
		return a
	}
	next := &attempt[T]{done: make(chan struct{})}
	if a != nil {
		next.before = a.err
	}
	if o.Life.Ended() { // Wait may have returned
		next.err = store.ErrClosed
		close(next.done)
		return next
	}
	o.last = next
	go func() {
		defer close(next.done)
		ctx, cancel := context.WithTimeout(o.Life.ctx, o.Limit)
		defer cancel()
		next.value, next.err = o.Open(ctx)
	}()
	return next
}

func (a *attempt[T]) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}
