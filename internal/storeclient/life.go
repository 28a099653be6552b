package storeclient

import (
	"context"
	"sync"

	"snowfence.example/snowfence/store"
)

// Life is how long a store is open. It is safe for concurrent use.
type Life struct {
	ctx  context.Context //nolint:containedctx // ends when the store is closed
	end  context.CancelFunc
	once sync.Once
}

// Begin returns a life that lasts until End.
func Begin() *Life {
	l := &Life{}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// End ends the life, then calls release, unless that is nil, and returns its error.
// Only the first call does so; later ones wait for it and return nil.
func (l *Life) End(release func() error) (err error) {
	l.once.Do(func() {
		l.end()
		if release != nil {
			err = release()
		}
	})
	return err
}

// Context returns a context that ends with the life.
func (l *Life) Context() context.Context { return l.ctx }

// Ended reports whether the life has ended.
func (l *Life) Ended() bool { return l.ctx.Err() != nil }

// Usable returns [store.ErrClosed] when the life has ended, else the error of ctx.
func (l *Life) Usable(ctx context.Context) error {
	if l.Ended() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Traits is a store's Traits, which do not change.
func (l *Life) Traits(ctx context.Context, t store.Traits) (store.Traits, error) {
	if err := l.Usable(ctx); err != nil {
		return store.Traits{}, err
	}
	return t, nil
}

// Bound returns a context that ends with ctx and with the life. Its cancel
// function must be called.
func (l *Life) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// Call returns f's results. When ctx or the life ends first, it returns that
// error at once. Then f goes on, and its answer is dropped. An error that f returns
// after such an end is replaced by the end's: the end is its cause.
func Call[T any](ctx context.Context, l *Life, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // room for an answer that no call awaits
	go func() {
		value, err := f()
		answers <- answer{value, err}
	}()
	var none T
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		select {
		case a = <-answers: // known after all
		default:
			return none, l.Usable(ctx)
		}
	case <-l.ctx.Done():
		return none, store.ErrClosed
	}
	if a.err == nil {
		return a.value, nil
	}
	if err := l.Usable(ctx); err != nil {
		return none, err
	}
	return a.value, a.err
}
