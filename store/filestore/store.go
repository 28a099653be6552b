package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/localdisk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// Store is an open store in a folder. It is safe for concurrent use, by the
// goroutines of this process and by other processes that opened the folder.
type Store struct {
	disk   disk
	path   string // of the folder, absolute; for messages
	named  string // the name of the store
	system localdisk.System
	clock  snowfence.Clock
	random io.Reader

	life *storeclient.Life
	turn chan struct{} // holds a value while a goroutine of this Store has, or waits for, the lock

	// broken is set by the first failure that ends the store's use, and never
	// cleared.
	broken atomic.Pointer[error]
}

// Get implements [store.Store]. It reads one file, and waits only for a swap
// under way in the same one of 256 folders. Besides the errors named there it
// returns a *FileError for a register that can't be trusted.
//
// Reading takes no lock, because a rename shows a reader the whole old file or
// the whole new one. The mark is looked at after the register, and that order
// matters: the writer of what was read had set the mark before its rename, so
// if the mark is clear now, the folder has been fsynced since.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := cmp.Or(s.usable(ctx), store.ValidateKey(key)); err != nil {
		return store.Entry{}, err
	}
	if err := s.disk.same(); err != nil {
		return store.Entry{}, s.unlessClosed(err)
	}
	e, err := s.read(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Entry{}, s.unlessClosed(err)
	}
	m, markErr := s.disk.readMark()
	if markErr != nil {
		return store.Entry{}, s.unlessClosed(markErr)
	}
	if m.clears(shardOf(key)) {
		return e, err
	}
	return exclusive(ctx, s, func() (store.Entry, error) { return s.read(key) })
}

// Swap implements [store.Store]. It costs two fsyncs, and swaps of one folder
// are made one at a time. Once the disk is being written to, a context that
// ends makes Swap return at once, but the swap goes on: its outcome is
// unknown. A full disk is an error, and the store can be used on.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(s.usable(ctx), store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	value = slices.Clone(value) // the swap may outlive this call
	return exclusive(ctx, s, func() (store.Version, error) { return s.swap(key, prev, value) })
}

// List implements [store.Store]. It takes no lock, and holds the names of one
// of 256 folders at a time.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		for i := range shards {
			keys, err := s.keys(ctx, shardAt(i))
			if err != nil {
				return err
			}
			for _, key := range keys {
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				e, err := s.entry(ctx, key)
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

// Warnings returns what the operator must know whenever the store is used: that
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

// Close implements [store.Store]. It waits for a swap that has begun to write.
func (s *Store) Close() error {
	return s.life.End(func() error {
		s.turn <- struct{}{} // and never given back
		return s.disk.close()
	})
}

// keys returns the keys of a shard's registers.
func (s *Store) keys(ctx context.Context, at shard) ([]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	names, err := s.disk.names(at.folder())
	if err != nil {
		return nil, s.unlessClosed(s.lost(err, at.folder()))
	}
	var keys []string
	for _, name := range names {
		// Anything without the suffix can't be a register: a swap under way,
		// or what some file manager left.
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		key, err := keyAt(at, name)
		if err != nil {
			return nil, s.name(err, at.folder()+"/"+name)
		}
		keys = append(keys, key)
	}
	// Some file systems show a name twice that is replaced meanwhile.
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// entry reads the register of a key that was listed.
func (s *Store) entry(ctx context.Context, key string) (store.Entry, error) {
	if err := s.usable(ctx); err != nil {
		return store.Entry{}, err
	}
	e, err := s.read(key)
	if errors.Is(err, store.ErrNotFound) {
		// Registers are never removed, so this one was, by somebody else.
		err = s.missing(registerPath(key))
	}
	return e, s.unlessClosed(err)
}

// read returns the register of key as the file system shows it.
func (s *Store) read(key string) (store.Entry, error) {
	path := registerPath(key)
	content, err := s.disk.readFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		// A missing folder has lost registers. It is not an empty one.
		f, err := s.folder(shardOf(key).folder())
		if err != nil {
			return store.Entry{}, err
		}
		if err := f.Close(); err != nil {
			return store.Entry{}, s.wrap(err)
		}
		return store.Entry{}, store.ErrNotFound
	}
	if errors.Is(err, errTooLong) {
		return store.Entry{}, s.name(&FileError{Err: ErrForeign, Detail: "it is longer than any register"}, path)
	}
	if err != nil {
		return store.Entry{}, s.wrap(err)
	}
	e, err := decodeRegister(content)
	if err != nil {
		return store.Entry{}, s.name(err, path)
	}
	if e.Key != key {
		return store.Entry{}, s.name(&FileError{Err: ErrForeign, Detail: fmt.Sprintf("it holds the register of %q", e.Key)}, path)
	}
	return e, nil
}

// usable returns why the store can't be used, if so.
func (s *Store) usable(ctx context.Context) error {
	if broken := s.broken.Load(); broken != nil && !s.life.Ended() {
		return *broken
	}
	return s.life.Usable(ctx)
}

// unlessClosed returns err, or ErrClosed in its place if the store has been
// closed meanwhile: the files then fail for that reason.
func (s *Store) unlessClosed(err error) error {
	if err != nil && s.life.Ended() {
		return store.ErrClosed
	}
	return err
}

// at returns the path of something in the store, for messages.
func (s *Store) at(path string) string { return filepath.Join(s.path, filepath.FromSlash(path)) }

// wrap says which store an error of the operating system is about.
func (s *Store) wrap(err error) error { return fmt.Errorf("filestore: in %s: %w", s.path, err) }

// name puts the path into a *FileError.
func (s *Store) name(err error, path string) error {
	var f *FileError
	if errors.As(err, &f) {
		f.Path = s.at(path)
	}
	return err
}

// folder opens a folder of the store for fsync.
func (s *Store) folder(path string) (file, error) {
	f, err := s.disk.openFolder(path)
	if err != nil {
		return nil, s.lost(err, path)
	}
	return f, nil
}

// lost says what is wrong with a folder that must be there.
func (s *Store) lost(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return s.missing(path)
	}
	return s.wrap(err)
}

// missing is the error for a part of the store that is not there.
func (s *Store) missing(path string) error {
	return &FileError{Path: s.at(path), Err: ErrDamaged, Detail: "it is missing"}
}
