package openstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// openLimit bounds one attempt to open a store that Lazy returned.
const openLimit = 10 * time.Second

// Lazy returns the store that the URL names, and opens it when it is first used, and
// again until that succeeds: so a program can start while its store is away. An attempt
// may outlive the call that began it, so that short calls open a slow store too. Each
// reads the files that the URL names. Lazy calls opened, unless it is nil, once, with
// the open store. If the store must exist, Lazy makes nothing, like [OpenFor]. It returns a *[URLError]
// when the URL does not name a store.
func Lazy(storeURL string, mustExist bool, opened func(store.Store)) (store.Store, error) {
	p, err := parse(storeURL)
	if err != nil {
		return nil, err
	}
	l := newLazy(func(ctx context.Context) (store.Store, error) {
		s, err := p.open(ctx, mustExist)
		err = gone(err, mustExist)
		if err == nil && opened != nil {
			opened(s)
		}
		return s, err
	})
	l.name = p.name
	if p.engine.Clock {
		return &clockedLazy{l}, nil
	}
	return l, nil
}

// lazy is a store that may not be open yet. A call that can't open it fails without the engine.
type lazy struct {
	name   string
	stores storeclient.Opener[store.Store]
}

func newLazy(open func(context.Context) (store.Store, error)) *lazy {
	return &lazy{stores: storeclient.Opener[store.Store]{
		Life: storeclient.Begin(), Limit: openLimit, Open: open, Works: func(store.Store) bool { return true },
	}}
}

// clockedLazy is one whose engine has a clock, which is known before it is open:
// who claims by it asks at the start whether there is one.
type clockedLazy struct{ *lazy }

// Now implements [store.Clock].
func (l *clockedLazy) Now(ctx context.Context) (time.Time, error) {
	s, err := l.stores.Get(ctx)
	if err != nil {
		return time.Time{}, err
	}
	clock, ok := store.ClockOf(s)
	if !ok {
		return time.Time{}, errors.New("the store has no clock")
	}
	return clock.Now(ctx)
}

func (l *lazy) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	s, err := l.stores.Get(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	return s.Get(ctx, key)
}

func (l *lazy) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	s, err := l.stores.Get(ctx)
	if err != nil {
		return "", err
	}
	return s.Swap(ctx, key, prev, value)
}

func (l *lazy) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		s, err := l.stores.Get(ctx)
		if err != nil {
			return err
		}
		for e, err := range s.List(ctx, prefix) {
			if err != nil || !yield(e) {
				return err
			}
		}
		return nil
	})
}

func (l *lazy) Traits(ctx context.Context) (store.Traits, error) {
	s, err := l.stores.Get(ctx)
	if err != nil {
		return store.Traits{}, err
	}
	return s.Traits(ctx)
}

// Name implements [store.Named]: the name that the store has once it is open.
func (l *lazy) Name() string { return l.name }

// Unwrap returns the store once it is open, and nil before.
func (l *lazy) Unwrap() store.Store {
	s, _ := l.stores.Value()
	return s
}

func (l *lazy) Close() error {
	return l.stores.Life.End(func() error {
		l.stores.Wait()
		if s, ok := l.stores.Value(); ok {
			return s.Close()
		}
		return nil
	})
}
