package filestore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// mostRemains is how many contents that no head names a writer leaves in a register's
// folder before it sweeps. Each is of a writer that was killed in a swap, or of one that
// is just making one.
const mostRemains = 8

// swap is the whole of compare-and-swap. It takes effect with the rename of the head,
// which checks and changes the version in one step: a head's name is made once and never
// again, so a rename whose source is gone came too late.
func (s *Store) swap(key string, prev store.Version, value []byte) (store.Version, error) {
	swept := false
	for {
		r, err := s.find(key)
		if err != nil {
			return "", err
		}
		if r.entry.Version != prev {
			return "", store.ErrConflict
		}
		if !swept && r.crowded() {
			swept = true // once, lest two writers sweep each other's marks for ever
			if err := s.sweep(r); err != nil && !errors.Is(err, errChanged) {
				return "", err
			}
			continue
		}
		version, err := s.draw()
		if err != nil {
			return "", err
		}
		content := encodeRegister(key, version, value)
		if r.present {
			err = s.advance(key, r, version, content)
		} else {
			err = s.begin(key, r, version, content)
		}
		if !errors.Is(err, errChanged) {
			return store.Version(version.String()), err
		}
	}
}

// advance makes a swap of a register that has a folder. Its error is errChanged if
// another swap or a sweep came first: then this one had no effect and never will.
func (s *Store) advance(key string, r register, version storeclient.Token, content []byte) error {
	path := r.path + "/" + version.String()
	if err := s.put(path, content); err != nil {
		return err
	}
	if err := s.rename(r, head{string(r.entry.Version), version.String()}); err != nil {
		if errors.Is(err, errChanged) {
			_ = s.disk.Remove(path) // nobody needs it, and it is swept otherwise
		}
		return err
	}
	if err := s.syncFolder(r.path); err != nil {
		return err
	}
	if r.fresh {
		s.tidy(key)
	}
	s.clear(r.path, append(r.names, string(r.entry.Version)))
	return nil
}

// begin makes the first swap in a register's folder. The folder is made under another
// name, with an empty file in it that stands for the version before. Its error is
// errChanged if there is a folder already.
func (s *Store) begin(key string, r register, version storeclient.Token, content []byte) error {
	made, path := newPath(key, version), registerPath(key)
	first := head{cmp.Or(string(r.entry.Version), absent), version.String()}
	if err := s.disk.Mkdir(made); err != nil {
		return s.lost(err, shardOf(key).folder())
	}
	err := s.build(made, first, content)
	if err == nil {
		err = s.wrap(s.disk.Rename(made, path))
	}
	if err != nil {
		s.discard(made)
		// The register's folder is in the way, or the maker of that one has cleared
		// this one away.
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			return errChanged
		}
		return err
	}
	if err := s.syncFolder(shardOf(key).folder()); err != nil {
		return err
	}
	s.tidy(key)
	s.clear(path, []string{first.before})
	return nil
}

// build fills the folder of a first version, durably.
func (s *Store) build(made string, first head, content []byte) error {
	err := s.put(made+"/"+first.after, content)
	for _, name := range []string{first.name(), first.before} {
		if err == nil {
			err = s.touch(made + "/" + name)
		}
	}
	if err != nil {
		return err
	}
	err = s.disk.Sync(made)
	if errors.Is(err, disk.ErrSync) {
		return s.fail(err)
	}
	return s.wrap(err)
}

// sweep removes contents that no head names, and keeps the version. It renames the head,
// so that whoever wrote one of them comes too late. The new head's mark is a file of its
// own: the owner of any other would remove that too soon.
func (s *Store) sweep(r register) error {
	mark, err := s.draw()
	if err != nil {
		return err
	}
	path := r.path + "/" + mark.String()
	if err := s.touch(path); err != nil {
		return err
	}
	if err := s.rename(r, head{mark.String(), r.head.after}); err != nil {
		if errors.Is(err, errChanged) {
			_ = s.disk.Remove(path)
		}
		return err
	}
	if err := s.syncFolder(r.path); err != nil {
		return err
	}
	remains := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return name == r.head.after })
	s.clear(r.path, append(remains, mark.String()))
	return nil
}

// crowded reports whether a register's folder is to be swept. It is not where the content
// of the head's own version is gone: there the head's name is all that says which counts.
func (r register) crowded() bool {
	if !r.present || string(r.entry.Version) != r.head.after {
		return false
	}
	remains := 0
	for _, name := range r.names {
		if name != r.head.before && name != r.head.after {
			remains++
		}
	}
	return remains > mostRemains
}

// rename makes next the head of a register, if its head is still the one that was found.
func (s *Store) rename(r register, next head) error {
	err := s.disk.Rename(r.path+"/"+r.head.name(), r.path+"/"+next.name())
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	return s.wrap(err)
}

// put writes a new file, durably. A failed fsync ends the store's use.
func (s *Store) put(path string, content []byte) error {
	f, err := s.disk.Create(path)
	if err != nil {
		return s.wrap(err)
	}
	if err := f.Write(content); err != nil {
		return s.wrap(errors.Join(err, f.Close(), s.disk.Remove(path)))
	}
	// The content must be on the disk before a head names it, or a power failure could
	// leave the head with nothing behind it.
	if err := f.Sync(); err != nil {
		return s.fail(errors.Join(fmt.Errorf("fsync: %w", err), f.Close()))
	}
	return s.wrap(f.Close())
}

// touch makes an empty file.
func (s *Store) touch(path string) error {
	f, err := s.disk.Create(path)
	if err != nil {
		return s.wrap(err)
	}
	return s.wrap(f.Close())
}

// tidy removes all that the first swap in a register's folder leaves beside it: the
// register of format 1, and the folders of others that wanted to be first. The version
// before stays until this is done, so that the next writer does it if this one can't.
// Errors do not matter, here and in what follows: the swap is made.
func (s *Store) tidy(key string) {
	_ = s.disk.Remove(earlierPath(key))
	folder := shardOf(key).folder()
	names, _ := s.disk.Names(folder)
	for _, name := range names {
		if isUnfinished(name, key) {
			s.discard(folder + "/" + name)
		}
	}
}

// discard removes a folder in which a first version was made. Its maker may still be at it:
// the register's own folder is there, so that comes too late.
func (s *Store) discard(path string) {
	names, _ := s.disk.Names(path)
	s.clear(path, names)
	_ = s.disk.Remove(path)
}

// clear removes files of a folder. All of them were there before the caller's own change
// of the head, so no later change needs them.
func (s *Store) clear(folder string, names []string) {
	for _, name := range names {
		_ = s.disk.Remove(folder + "/" + name)
	}
}

// draw returns a version that never was and never will be again.
func (s *Store) draw() (storeclient.Token, error) {
	t, err := storeclient.DrawToken(s.random)
	if err != nil {
		return t, fmt.Errorf("filestore: %w", err)
	}
	return t, nil
}

// fail ends the use of the store for good, and returns the error that every
// later call returns. The first cause is the one that counts.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrFailed, s.path, cause)
	s.broken.CompareAndSwap(nil, &err)
	return *s.broken.Load()
}
