package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// mostCalls is how many calls use the disk at once. Each keeps a thread, also when its context has ended, and a program
// that has 10,000 threads ends. So a disk that hangs must not collect more calls.
const mostCalls = 64

// Store is an open store in a folder. It is safe for concurrent use, by the
// goroutines of this process and by other processes that opened the folder.
type Store struct {
	disk   disk.Folder
	path   string // of the folder, absolute; for messages
	named  string // the name of the store
	system disk.System
	clock  snowfence.Clock
	random io.Reader

	life  *storeclient.Life
	calls chan struct{} // room for mostCalls: each call that uses the disk puts in one
	busy  sync.RWMutex  // held for reading by each call that uses the disk; Close waits for them

	// broken is set by the first failure that ends the store's use, and never
	// cleared.
	broken atomic.Pointer[error]
}

// Get implements [store.Store]. It lists one small folder and reads one file. Beside a
// swap that is not durable yet it makes two fsyncs, so that it returns nothing that a
// power failure takes back. It waits for no other process. Besides the errors named
// there it returns a *FileError for a register that can't be trusted.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := cmp.Or(s.usable(ctx), store.ValidateKey(key)); err != nil {
		return store.Entry{}, err
	}
	return call(ctx, s, func() (store.Entry, error) {
		r, err := s.find(key)
		if err == nil && r.entry.Version == "" {
			err = store.ErrNotFound
		}
		return r.entry, err
	})
}

// Swap implements [store.Store]. It costs two fsyncs, and three for a register's first.
// It waits for no other process. A context that ends makes Swap return at once, but the
// swap goes on: its outcome is unknown. A full disk is an error, and the store can be
// used on.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(s.usable(ctx), store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	value = slices.Clone(value) // the swap may outlive this call
	return call(ctx, s, func() (store.Version, error) { return s.swap(key, prev, value) })
}

// List implements [store.Store]. It holds the names of one of 256 folders at a time.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		for i := range shards {
			at := shardAt(i)
			keys, err := call(ctx, s, func() ([]string, error) { return s.keys(at) })
			if err != nil {
				return err
			}
			for _, key := range keys {
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				e, err := s.Get(ctx, key)
				if errors.Is(err, store.ErrNotFound) {
					// Registers are never removed, so this one was, by somebody else.
					err = s.explain(damaged(registerPath(key), "it is missing"))
				}
				if err != nil || !yield(e) {
					return err
				}
			}
		}
		return nil
	})
}

// Traits implements [store.Store]: durable, one host.
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	if err := s.usable(ctx); err != nil {
		return store.Traits{}, err
	}
	return store.Traits{Engine: "file", Durable: true, OneHost: true}, nil
}

// Warnings returns the sentences that the operator must read whenever the store is used: that
// its folder is on a file system which forgets everything, in memory or in a
// container's own layer. It is fit for tests alone.
func (s *Store) Warnings() []string {
	warning := s.system.Warning()
	if warning == "" {
		return nil
	}
	return []string{fmt.Sprintf("the store's folder %s does not last: %s, and a clock that is set back then repeats ids; give the store a folder on a disk or a volume", s.path, warning)}
}

// Name implements [store.Named]: the name is the folder, after symbolic links.
func (s *Store) Name() string { return s.named }

// Close implements [store.Store]. It waits for swaps that have begun to write.
func (s *Store) Close() error {
	return s.life.End(func() error {
		s.busy.Lock() // and never given back
		return s.disk.Close()
	})
}

// call runs f, which uses the disk, while the folder is the one that was opened. It waits while mostCalls use the disk.
// If the context or the store's life ends first, call returns. An f that has begun runs on: a context can't call the
// disk back.
func call[T any](ctx context.Context, s *Store, f func() (T, error)) (T, error) {
	if err := s.enter(ctx); err != nil {
		var none T
		return none, err
	}
	value, err := storeclient.Call(ctx, s.life, func() (value T, err error) {
		defer func() { <-s.calls }()
		if !s.busy.TryRLock() { // it fails beside Close alone
			return value, store.ErrClosed
		}
		defer s.busy.RUnlock()
		if err = cmp.Or(s.usable(ctx), s.same()); err == nil {
			value, err = f()
		}
		return value, s.explain(err)
	})
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("filestore: wait for the disk: %w", err)
	}
	return value, err
}

// enter waits until fewer than mostCalls use the disk, and counts the caller as one.
func (s *Store) enter(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	select {
	case s.calls <- struct{}{}:
		return nil
	case <-s.life.Context().Done():
		return store.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("filestore: wait for the disk: %w", ctx.Err())
	}
}

// keys returns the keys of a shard's registers. It lists the folder twice: a register that
// is converted from format 1 has two names, and a listing may miss the one that comes and
// the one that goes.
func (s *Store) keys(at shard) ([]string, error) {
	var keys []string
	for range 2 {
		names, err := s.disk.Names(at.folder())
		if err != nil {
			return nil, needed(err, at.folder())
		}
		for _, name := range names {
			key, err := keyAt(at, name)
			if err != nil {
				return nil, err
			}
			if key != "" {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// same returns ErrReplaced, in a *FileError, if the folder is no longer to be found where
// it was opened.
func (s *Store) same() error {
	same, err := s.disk.Same()
	if err == nil && !same {
		return &FileError{Err: ErrReplaced}
	}
	return err
}

// usable returns why the store can't be used, if so.
func (s *Store) usable(ctx context.Context) error {
	if broken := s.broken.Load(); broken != nil && !s.life.Ended() {
		return *broken
	}
	return s.life.Usable(ctx)
}
