package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"sync"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

func ignoresContexts(s store.Store) store.Store {
	return &broken{
		Store: s,
		get: func(ctx context.Context, key string) (store.Entry, error) {
			return s.Get(context.WithoutCancel(ctx), key)
		},
		swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			return s.Swap(context.WithoutCancel(ctx), key, prev, value)
		},
		list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
			return s.List(context.WithoutCancel(ctx), prefix)
		},
	}
}

func swapsUnderEndedContexts(s store.Store) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		version, err := s.Swap(context.WithoutCancel(ctx), key, prev, value)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return version, err
	}}
}

// conflictsOnEndedContexts swaps although the context ends, and then claims
// that it did not.
func conflictsOnEndedContexts(s store.Store) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if _, bounded := ctx.Deadline(); bounded && bytes.HasPrefix(value, []byte("round ")) && bytes.HasSuffix(value, []byte("9")) {
			<-ctx.Done()
			if _, err := s.Swap(context.WithoutCancel(ctx), key, prev, value); err != nil {
				return "", err
			}
			return "", store.ErrConflict
		}
		return s.Swap(ctx, key, prev, value)
	}}
}

// forgets shows a client nothing that was written before some moment at which
// no client was open.
func forgets() func(store.Store) store.Store {
	var mu sync.Mutex
	open := 0
	written, forgotten := make(map[string]bool), make(map[string]bool)
	return func(s store.Store) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if open++; open == 1 {
			maps.Copy(forgotten, written)
		}
		forgot := func(key string) bool {
			mu.Lock()
			defer mu.Unlock()
			return forgotten[key]
		}
		var once sync.Once
		return &broken{
			Store: s,
			get: func(ctx context.Context, key string) (store.Entry, error) {
				e, err := s.Get(ctx, key)
				if err == nil && forgot(key) {
					return store.Entry{}, store.ErrNotFound
				}
				return e, err
			},
			swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
				if prev == "" && forgot(key) {
					if e, err := s.Get(ctx, key); err == nil {
						prev = e.Version
					}
				}
				version, err := s.Swap(ctx, key, prev, value)
				if err == nil || errors.Is(err, faultstore.ErrInjected) {
					mu.Lock()
					written[key] = true
					delete(forgotten, key)
					mu.Unlock()
				}
				return version, err
			},
			close: func() error {
				once.Do(func() { mu.Lock(); open--; mu.Unlock() })
				return s.Close()
			},
		}
	}
}

// remembersFirstReads caches its reads for ever, and drops them only for swaps of its own.
func remembersFirstReads(s store.Store) store.Store {
	var mu sync.Mutex
	cache := make(map[string]store.Entry)
	return &broken{
		Store: s,
		get: func(ctx context.Context, key string) (store.Entry, error) {
			e, err := s.Get(ctx, key)
			mu.Lock()
			defer mu.Unlock()
			if first, ok := cache[key]; ok && err == nil {
				first.Value = bytes.Clone(first.Value)
				return first, nil
			}
			if err == nil {
				cached := e
				cached.Value = bytes.Clone(e.Value)
				cache[key] = cached
			}
			return e, err
		},
		swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			mu.Lock()
			delete(cache, key)
			mu.Unlock()
			return s.Swap(ctx, key, prev, value)
		},
	}
}

func neverCloses(s store.Store) store.Store {
	return &broken{Store: s, close: func() error { return nil }}
}

func closesOnce(s store.Store) store.Store {
	closed := false
	return &broken{Store: s, close: func() error {
		if closed {
			return store.ErrClosed
		}
		closed = true
		return s.Close()
	}}
}

func contradictsItself(s store.Store) store.Store {
	return &broken{Store: s, traits: func(ctx context.Context) (store.Traits, error) {
		traits, err := s.Traits(ctx)
		traits.Durable = false
		return traits, err
	}}
}
