package storetest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// The stores of this file are wrong on purpose, each in one way in which a
// real engine might be.

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

// afterConflict replaces what follows a conflict.
func afterConflict(s store.Store, then func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error)) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		version, err := s.Swap(ctx, key, prev, value)
		if errors.Is(err, store.ErrConflict) {
			return then(ctx, key, prev, value)
		}
		return version, err
	}}
}

func repeatsConflicts(s store.Store) store.Store {
	return afterConflict(s, func(ctx context.Context, key string, _ store.Version, value []byte) (store.Version, error) {
		return overwrite(ctx, s, key, value)
	})
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

// renames stores each key under another one.
func renames(s store.Store, rename func(string) string) store.Store {
	return &broken{
		Store: s,
		get: func(ctx context.Context, key string) (store.Entry, error) {
			e, err := s.Get(ctx, rename(key))
			if err == nil {
				e.Key = key
			}
			return e, err
		},
		swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
			return s.Swap(ctx, rename(key), prev, value)
		},
		list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
			return s.List(ctx, rename(prefix))
		},
	}
}

func foldsCase(s store.Store) store.Store { return renames(s, strings.ToLower) }

func foldsSigns(s store.Store) store.Store {
	return renames(s, func(key string) string { return strings.ReplaceAll(key, "_", "-") })
}

func cutsKeys(s store.Store) store.Store {
	return renames(s, func(key string) string {
		if store.ValidateKey(key) == nil {
			key = key[:min(len(key), 190)]
		}
		return key
	})
}

// lists yields what matches of all registers.
func lists(s store.Store, matches func(key, prefix string) bool) store.Store {
	return &broken{Store: s, list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
		if store.ValidatePrefix(prefix) != nil {
			return s.List(ctx, prefix)
		}
		return func(yield func(store.Entry, error) bool) {
			for e, err := range s.List(ctx, "") {
				if (err != nil || matches(e.Key, prefix)) && !yield(e, err) {
					return
				}
			}
		}
	}}
}

func listsSubstrings(s store.Store) store.Store { return lists(s, strings.Contains) }

func listsPatterns(s store.Store) store.Store {
	return lists(s, func(key, prefix string) bool {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(prefix), "_", ".")
		return regexp.MustCompile(pattern).MatchString(key)
	})
}

func listsOnePage(s store.Store) store.Store {
	return &broken{Store: s, list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
		if prefix == "" {
			return s.List(ctx, prefix)
		}
		return func(yield func(store.Entry, error) bool) {
			n := 0
			for e, err := range s.List(ctx, prefix) {
				if n++; n > 100 || !yield(e, err) {
					return
				}
			}
		}
	}}
}

func listsOnce(s store.Store) store.Store {
	return &broken{Store: s, list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
		used := false
		return func(yield func(store.Entry, error) bool) {
			if used {
				return
			}
			used = true
			s.List(ctx, prefix)(yield)
		}
	}}
}

// listsRumours lists the keys of refused swaps as well.
func listsRumours() func(store.Store) store.Store {
	var mu sync.Mutex
	heard := make(map[string]bool)
	return func(s store.Store) store.Store {
		return &broken{
			Store: s,
			swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
				version, err := s.Swap(ctx, key, prev, value)
				if _, missing := s.Get(ctx, key); errors.Is(err, store.ErrConflict) && missing != nil {
					mu.Lock()
					heard[key] = true
					mu.Unlock()
				}
				return version, err
			},
			list: func(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
				return func(yield func(store.Entry, error) bool) {
					for e, err := range s.List(ctx, prefix) {
						if !yield(e, err) {
							return
						}
					}
					mu.Lock()
					rumours := slices.Collect(maps.Keys(heard))
					mu.Unlock()
					for _, key := range rumours {
						if strings.HasPrefix(key, prefix) && !yield(store.Entry{Key: key, Version: "rumour"}, nil) {
							return
						}
					}
				}
			},
		}
	}
}

// alters stores each value altered.
func alters(s store.Store, alter func([]byte) []byte) store.Store {
	return &broken{Store: s, swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
		return s.Swap(ctx, key, prev, alter(value))
	}}
}

func cutsValues(s store.Store) store.Store {
	return alters(s, func(value []byte) []byte {
		if len(value) > 4000 && len(value) <= store.MaxValue {
			return value[:4000]
		}
		return value
	})
}

func acceptsLongValues(s store.Store) store.Store {
	return alters(s, func(value []byte) []byte { return value[:min(len(value), store.MaxValue)] })
}

func endsValuesAtNUL(s store.Store) store.Store {
	return alters(s, func(value []byte) []byte {
		if len(value) > store.MaxValue {
			return value
		}
		value, _, _ = bytes.Cut(value, []byte{0})
		return value
	})
}

func losesEmptyValues(s store.Store) store.Store {
	return &broken{Store: s, get: func(ctx context.Context, key string) (store.Entry, error) {
		e, err := s.Get(ctx, key)
		if err == nil && len(e.Value) == 0 {
			return store.Entry{}, store.ErrNotFound
		}
		return e, err
	}}
}

// aliases keeps the slices that it is passed and hands them out again.
func aliases() func(store.Store) store.Store {
	var mu sync.Mutex
	kept := make(map[store.Version][]byte)
	return func(s store.Store) store.Store {
		return &broken{
			Store: s,
			get: func(ctx context.Context, key string) (store.Entry, error) {
				e, err := s.Get(ctx, key)
				mu.Lock()
				defer mu.Unlock()
				if value, ok := kept[e.Version]; ok && err == nil {
					e.Value = value
				}
				return e, err
			},
			swap: func(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
				version, err := s.Swap(ctx, key, prev, value)
				if err == nil {
					mu.Lock()
					kept[version] = slices.Clip(value)
					mu.Unlock()
				}
				return version, err
			},
		}
	}
}

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

// remembersFirstReads caches what it reads for ever, and drops it only for
// swaps of its own.
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
