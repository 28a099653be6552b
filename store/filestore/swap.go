package filestore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// swap is the whole of compare-and-swap. It takes effect with the rename of the head,
// which checks and changes the version in one step: a head's name is made once and never
// again, so a rename whose source is gone came too late.
func (s *Store) swap(key string, prev store.Version, value []byte) (store.Version, error) {
	for {
		r, err := s.find(key)
		if err != nil {
			return "", err
		}
		if r.entry.Version != prev {
			return "", store.ErrConflict
		}
		version, err := storeclient.DrawToken(s.random)
		if err != nil {
			return "", err
		}
		content := encodeRegister(key, version, value)
		if r.path == "" {
			err = s.begin(key, r, version, content)
		} else {
			err = s.advance(key, r, version.String(), content)
		}
		if err == nil {
			return store.Version(version.String()), nil
		}
		if !errors.Is(err, errChanged) {
			return "", err
		}
	}
}

// advance puts the content of a version into a register's folder, and then renames the head. It
// removes the files that were there before. Its error is errChanged if another swap came first:
// then this call is without effect for good.
func (s *Store) advance(key string, r register, name string, content []byte) error {
	path, next := r.path+"/"+name, head{string(r.entry.Version), name}
	if err := s.put(path, content); err != nil {
		return err
	}
	err := s.disk.Rename(r.path+"/"+r.head.name(), r.path+"/"+next.name())
	if errors.Is(err, fs.ErrNotExist) {
		_ = s.disk.Remove(path) // it is useless, and the next swap removes it otherwise
		return errChanged
	}
	if err != nil {
		return err
	}
	if err := s.syncFolder(r.path); err != nil {
		return err
	}
	if r.fresh {
		s.tidy(key)
	}
	s.clear(r.path, append(r.names, next.before))
	return nil
}

// begin makes the first swap in a register's folder. The folder is made under another
// name, with an empty file in it that stands for the version before. Its error is
// errChanged if there is a folder already.
func (s *Store) begin(key string, r register, version storeclient.Token, content []byte) error {
	folder, made, path := shardOf(key).folder(), newPath(key, version), registerPath(key)
	first := head{cmp.Or(string(r.entry.Version), absent), version.String()}
	if err := s.disk.Mkdir(made); err != nil {
		return needed(err, folder)
	}
	err := s.put(made+"/"+first.after, content)
	for _, name := range []string{first.name(), first.before} {
		if err == nil {
			err = s.put(made+"/"+name, nil)
		}
	}
	if err == nil {
		err = s.sync(made)
	}
	if err == nil {
		err = s.disk.Rename(made, path)
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
	if err := s.syncFolder(folder); err != nil {
		return err
	}
	s.tidy(key)
	s.clear(path, []string{first.before})
	return nil
}

// put writes a new file. A content must be on the disk before a head names it, or a power
// failure could leave the head with nothing behind it; an empty file has all in its name.
// A failed fsync ends the store's use.
func (s *Store) put(path string, content []byte) error {
	f, err := s.disk.Create(path)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return f.Close()
	}
	if err := f.Write(content); err != nil {
		return errors.Join(err, f.Close(), s.disk.Remove(path))
	}
	if err := f.Sync(); err != nil {
		return s.fail(errors.Join(fmt.Errorf("fsync: %w", err), f.Close()))
	}
	return f.Close()
}

// tidy removes all that the first swap in a register's folder leaves beside it: the
// register of format 1, and the folders of others that wanted to be first. The version
// before stays until this is done, so that the next writer does it if this one can't.
// Errors do not matter, from here on: the swap is made.
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
