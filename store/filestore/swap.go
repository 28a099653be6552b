package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// Waits between two tries for a lock that another process holds, for some milliseconds or,
// if it is stopped, for long. Not waiting inside flock lets a context end the wait.
const (
	firstWait   = time.Millisecond
	longestWait = 16 * time.Millisecond
)

// exclusive runs f while this Store alone writes to the folder, with no swap
// left half-way. If the context ends while f runs, exclusive returns and f
// runs on: no context can call the disk back.
func exclusive[T any](ctx context.Context, s *Store, f func() (T, error)) (T, error) {
	if err := s.acquire(ctx); err != nil {
		var none T
		return none, err
	}
	value, err := storeclient.Call(ctx, s.life, func() (value T, err error) {
		defer s.release()
		if err = s.settle(); err == nil {
			value, err = f()
		}
		return value, err
	})
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("filestore: wait for the disk: %w", err)
	}
	return value, err
}

// acquire waits for this goroutine's turn among those of the Store, and then
// for the Store's among those of all processes. It leaves nothing behind when
// it fails.
func (s *Store) acquire(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.life.Context().Done():
		return store.ErrClosed
	}
	err := s.lockFile(ctx)
	if err != nil {
		<-s.turn
	}
	return err
}

func (s *Store) lockFile(ctx context.Context) error {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		// What has ended or broken while this goroutine waited ends its wait.
		if err := s.usable(ctx); err != nil {
			return err
		}
		locked, err := s.disk.tryLock()
		if err != nil {
			return fmt.Errorf("filestore: %s: lock: %w", s.at(lockName), err)
		}
		if locked {
			return nil
		}
		expired, stop := s.clock.After(wait)
		select {
		case <-expired:
		case <-ctx.Done():
			stop()
		case <-s.life.Context().Done():
			stop()
		}
	}
}

// release undoes acquire. A lock that can't be unlocked would be held until
// the store is closed; so the store is as good as broken.
func (s *Store) release() {
	if err := s.disk.unlock(); err != nil {
		_ = s.fail(fmt.Errorf("unlock: %w", err)) // the next call returns it
	}
	<-s.turn
}

// settle makes sure, under the lock, that this is still the store that was
// opened, and finishes what a writer left that died half-way, or that failed:
// it clears its new file away and makes what it renamed durable. A folder's fsync
// may succeed after one that failed; why that counts is said in the package's
// documentation.
func (s *Store) settle() error {
	if err := s.disk.same(); err != nil {
		return err
	}
	m, err := s.disk.readMark()
	if err != nil {
		return s.wrap(err)
	}
	if m == unmarked {
		return nil
	}
	// A mark that names no shard was torn by a power failure, or is that of a
	// young lock file. Nothing is under way then.
	if at, ok := m.shard(); ok {
		if err := s.clear(at.newPath()); err != nil {
			return err
		}
		if err := s.syncFolder(at.folder()); err != nil {
			return err
		}
	}
	return s.mark(unmarked)
}

// swap is the whole of compare-and-swap, under the lock. It takes effect with
// the rename in replace.
//
// A conflict is final because the swap is given up under the same lock under
// which it was found. On any other error the mark stays, and the next
// process settles what there is.
func (s *Store) swap(key string, prev store.Version, value []byte) (store.Version, error) {
	current, err := s.read(key) // its version stays zero if there is none
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if current.Version != prev {
		return "", store.ErrConflict
	}
	version, err := storeclient.DrawToken(s.random)
	if err != nil {
		return "", fmt.Errorf("filestore: %w", err)
	}
	at := shardOf(key)
	if err := s.mark(mark(at)); err != nil {
		return "", err
	}
	if err := s.replace(at.newPath(), registerPath(key), encodeRegister(key, version, value)); err != nil {
		return "", err
	}
	// The swap is made and durable, so it is acknowledged whether or not the
	// mark goes. One that stays costs the next writer an fsync.
	_ = s.mark(unmarked)
	return store.Version(version.String()), nil
}

// replace puts content at to, atomically and durably, by way of a new file
// at from, in the same folder. Only the holder of the lock calls it, so a new file that
// is there already is what a crash left.
func (s *Store) replace(from, to string, content []byte) error {
	if err := s.clear(from); err != nil {
		return err
	}
	f, err := s.disk.create(from)
	if err != nil {
		return s.wrap(err)
	}
	if _, err := f.Write(content); err != nil {
		return s.wrap(errors.Join(err, f.Close()))
	}
	// The content must be on the disk before the name is, or a power failure
	// could leave the name with nothing behind it.
	if err := s.sync(f); err != nil {
		return err
	}
	if err := s.disk.rename(from, to); err != nil {
		return s.wrap(err)
	}
	return s.syncFolder(path.Dir(to))
}

// clear removes a new file that was left behind, if there is one.
func (s *Store) clear(path string) error {
	if err := s.disk.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.wrap(err)
	}
	return nil
}

func (s *Store) syncFolder(path string) error {
	f, err := s.folder(path)
	if err != nil {
		return err
	}
	return s.sync(f)
}

// sync fsyncs a file or folder and closes it. A failure ends the store's use.
func (s *Store) sync(f file) error {
	if err := f.Sync(); err != nil {
		return s.fail(errors.Join(fmt.Errorf("fsync: %w", err), f.Close()))
	}
	if err := f.Close(); err != nil {
		return s.wrap(err)
	}
	return nil
}

func (s *Store) mark(m mark) error {
	if err := s.disk.writeMark(m); err != nil {
		return fmt.Errorf("filestore: %s: %w", s.at(lockName), err)
	}
	return nil
}

// fail ends the use of the store for good, and returns the error that every
// later call returns. The first cause is the one that counts.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrFailed, s.path, cause)
	s.broken.CompareAndSwap(nil, &err)
	return *s.broken.Load()
}
