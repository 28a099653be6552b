package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"snowfence.example/snowfence/store"
)

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

// lists yields the matching registers.
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
