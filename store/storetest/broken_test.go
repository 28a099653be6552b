package storetest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"

	"snowfence.example/snowfence/store"
)

// The stores of this file, and of files whose names begin as its own does, are wrong on purpose, each
// in one way in which a real engine might be. Here it is about swaps and versions.

// overwrite swaps under whatever version there is.
func overwrite(ctx context.Context, s store.Store, key string, value []byte) (store.Version, error) {
	for {
		e, err := s.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		version, err := s.Swap(ctx, key, e.Version, value)
		if !errors.Is(err, store.ErrConflict) {
			return version, err
		}
	}
}

func comparesNothing(s store.Store) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, _ store.Version, value []byte) (store.Version, error) {
		return overwrite(ctx, s, key, value)
	}}
}

func createsOver(s store.Store) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		if prev == "" {
			return overwrite(ctx, s, key, value)
		}
		return s.Swap(ctx, key, prev, value)
	}}
}

func createsUnderAnyVersion(s store.Store) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		if _, err := s.Get(ctx, key); errors.Is(err, store.ErrNotFound) {
			prev = ""
		}
		return s.Swap(ctx, key, prev, value)
	}}
}

// afterConflict replaces the steps after a conflict.
func afterConflict(s store.Store, then func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error)) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		version, err := s.Swap(ctx, key, prev, value)
		if errors.Is(err, store.ErrConflict) {
			return then(ctx, key, prev, value)
		}
		return version, err
	}}
}

func takesOthersVersions(s store.Store) store.Store {
	return afterConflict(s, func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		for e, err := range s.List(ctx, "") {
			if err == nil && e.Version == prev && e.Key != key {
				if _, err := s.Get(ctx, key); err == nil {
					return overwrite(ctx, s, key, value)
				}
			}
		}
		return "", store.ErrConflict
	})
}

func conflictsAfterWriting(s store.Store) store.Store {
	return afterConflict(s, func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		if _, err := s.Get(ctx, key); err == nil {
			if _, err := overwrite(ctx, s, key, value); err != nil {
				return "", err
			}
		}
		return "", store.ErrConflict
	})
}

func idempotent(s store.Store) store.Store {
	return afterConflict(s, func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		if e, err := s.Get(ctx, key); err == nil && bytes.Equal(e.Value, value) {
			return e.Version, nil
		}
		return "", store.ErrConflict
	})
}

func repeatsFailures(s store.Store) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		version, err := s.Swap(ctx, key, prev, value)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return s.Swap(ctx, key, prev, value)
		}
		return version, err
	}}
}

// history remembers, for all clients of a store, which value came with a
// version of a key.
type history struct {
	mu     sync.Mutex
	values map[string][]byte
	queue  []queued
	last   store.Version
}

type queued struct {
	key          string
	guard, value []byte
}

func newHistory() *history { return &history{values: make(map[string][]byte)} }

func (h *history) at(key string, version store.Version) ([]byte, bool) {
	value, ok := h.values[key+" "+string(version)]
	return value, ok
}

func (h *history) add(key string, version store.Version, value []byte) {
	h.values[key+" "+string(version)] = bytes.Clone(value)
}

func comparesValue() func(store.Store) store.Store {
	h := newHistory()
	return func(s store.Store) store.Store {
		return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			e, err := s.Get(ctx, key)
			if guard, ok := h.at(key, prev); ok && err == nil && bytes.Equal(guard, e.Value) {
				prev = e.Version
			}
			version, err := s.Swap(ctx, key, prev, value)
			if err == nil {
				h.add(key, version, value)
			}
			return version, err
		}}
	}
}

// queuesConflicts keeps refused swaps and makes them once the register holds
// again the value that they were guarded by.
func queuesConflicts() func(store.Store) store.Store {
	h := newHistory()
	return func(s store.Store) store.Store {
		return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			version, err := s.Swap(ctx, key, prev, value)
			if guard, ok := h.at(key, prev); ok && errors.Is(err, store.ErrConflict) {
				h.queue = append(h.queue, queued{key, guard, bytes.Clone(value)})
			}
			if err != nil {
				return "", err
			}
			h.add(key, version, value)
			for _, q := range h.queue {
				if q.key == key && bytes.Equal(q.guard, value) {
					if _, err := s.Swap(ctx, key, version, q.value); err != nil {
						return "", err
					}
				}
			}
			return version, nil
		}}
	}
}

// conflictsFalsely keeps one version for its whole table: whoever's register
// was not the last to be swapped meets a conflict first, and succeeds when it
// has read again.
func conflictsFalsely() func(store.Store) store.Store {
	h := newHistory()
	return func(s store.Store) store.Store {
		return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			e, err := s.Get(ctx, key)
			if err == nil && e.Version == prev && h.last != prev {
				h.last = prev
				return "", store.ErrConflict
			}
			version, err := s.Swap(ctx, key, prev, value)
			if e, err := s.Get(ctx, key); err == nil && e.Version != prev {
				h.last = e.Version
			}
			return version, err
		}}
	}
}

// countsVersions numbers the swaps of each key, and starts again at 1 after
// circle of them, if that is not zero. The counts are registers too, so that a
// rollback of the store rolls them back as well.
func countsVersions(circle int) func() func(store.Store) store.Store {
	return func() func(store.Store) store.Store {
		var mu sync.Mutex
		return func(s store.Store) store.Store { return counting(s, circle, &mu) }
	}
}

func counting(s store.Store, circle int, mu *sync.Mutex) store.Store {
	counter := func(key string) string { return fmt.Sprintf("counts/%x", sha256.Sum256([]byte(key))) }
	count := func(key string) int {
		e, err := s.Get(context.Background(), counter(key))
		if err != nil {
			return 0
		}
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return 0
		}
		return n
	}
	version := func(n int) store.Version {
		if circle > 0 {
			n = n%circle + 1
		}
		return store.Version(strconv.Itoa(n))
	}
	return &broken{
		Store: s,
		get: func(ctx context.Context, key string) (store.Entry, error) {
			mu.Lock()
			defer mu.Unlock()
			e, err := s.Get(ctx, key)
			if err == nil {
				e.Version = version(count(key))
			}
			return e, err
		},
		swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			mu.Lock()
			defer mu.Unlock()
			e, err := s.Get(ctx, key)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return "", err
			}
			n := count(key)
			if (e.Version == "") != (prev == "") || prev != "" && prev != version(n) {
				return "", store.ErrConflict
			}
			if _, err := s.Swap(ctx, key, e.Version, value); err != nil {
				return "", err
			}
			_, err = overwrite(context.Background(), s, counter(key), strconv.AppendInt(nil, int64(n+1), 10))
			return version(n + 1), err
		},
		list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
			return func(yield func(store.Entry, error) bool) {
				for e, err := range s.List(ctx, prefix) {
					if err == nil {
						mu.Lock()
						e.Version = version(count(e.Key))
						mu.Unlock()
					}
					if !yield(e, err) {
						return
					}
				}
			}
		},
	}
}
