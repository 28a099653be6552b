package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

// Store is one client of a [Memory]. It is safe for concurrent use. No call
// ever blocks, so a context matters only if it has ended before the call.
type Store struct {
	memory *Memory
	life   *storeclient.Life
}

// OpenURL opens a memory of its own, the durable one that the URL mem:// or mem:
// means.
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open opens a memory of its own, of the kind that c describes. It is without other clients.
// [New] is for a memory with several clients. An error names the field that is wrong.
func Open(_ context.Context, c Config) (*Store, error) {
	if c.Loss < 0 {
		return nil, fmt.Errorf("memstore: loss %v: must not be negative", c.Loss)
	}
	return NewWith(c).client(), nil
}

// ParseURL returns the config that a URL means: mem:// or mem:, and nothing after it.
func ParseURL(url string) (Config, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case !ok || !strings.EqualFold(scheme, "mem"):
		return Config{}, errors.New("memstore: URL: must be mem://")
	case rest != "" && rest != "//":
		return Config{}, errors.New("memstore: URL: nothing may stand after mem://")
	}
	return Config{}, nil
}

// Get implements [store.Store]. It is never stale.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := cmp.Or(s.life.Usable(ctx), store.ValidateKey(key)); err != nil {
		return store.Entry{}, err
	}
	r, ok := s.memory.get(key)
	if !ok {
		return store.Entry{}, store.ErrNotFound
	}
	return entry(key, r), nil
}

// Swap implements [store.Store]. Besides the errors named there it returns only errors of the memory's
// random source, and then nothing took effect.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(s.life.Usable(ctx), store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	return s.memory.swap(key, prev, value)
}

// List implements [store.Store]. It takes the keys at once and then reads each
// register when its turn comes.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		if err := s.life.Usable(ctx); err != nil {
			return err
		}
		for _, key := range s.memory.keys() {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := s.life.Usable(ctx); err != nil {
				return err
			}
			// A key can vanish meanwhile, but only by Restore or Failover.
			if r, ok := s.memory.get(key); ok && !yield(entry(key, r)) {
				return nil
			}
		}
		return nil
	})
}

// Traits implements [store.Store].
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	loss := s.memory.loss
	return s.life.Traits(ctx, store.Traits{Engine: "memory", Durable: loss == 0, Loss: loss, OneHost: true})
}

// Name implements [store.Named]. Each [Memory] has another name.
func (s *Store) Name() string { return s.memory.name }

// Close implements [store.Store]. The memory and its other clients live on.
func (s *Store) Close() error { return s.life.End(nil) }

// entry copies the value, so that the caller may do with it as it likes.
func entry(key string, r register) store.Entry {
	return store.Entry{Key: key, Value: slices.Clone(r.value), Version: r.version}
}

// Unwrap returns the store with the memory's clock, or nil if the memory has none.
// [store.ClockOf] looks there.
func (s *Store) Unwrap() store.Store {
	if s.memory.now == nil {
		return nil
	}
	return &clocked{s}
}

// clocked is a client of a memory that has a clock.
type clocked struct{ *Store }

// Now implements [store.Clock].
func (c *clocked) Now(ctx context.Context) (time.Time, error) {
	if err := c.life.Usable(ctx); err != nil {
		return time.Time{}, err
	}
	return c.memory.now(), nil
}
