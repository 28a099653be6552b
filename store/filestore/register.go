package filestore

import (
	"errors"
	"io/fs"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// mostLooks is how often a register's folder is listed until its head is seen. Each look
// in vain means that another process has made a swap meanwhile.
const mostLooks = 100

// errChanged is returned by look when a swap was made meanwhile.
var errChanged = errors.New("changed meanwhile")

// A register is the finding of one look at a register. Its version is the zero one for a missing
// register.
type register struct {
	entry store.Entry
	path  string // of its folder; empty, as the next fields, before its first version
	head  head
	names []string // in its folder: contents, also unnamed ones

	// fresh is true until the first swap in the folder has been cleared up.
	fresh bool
}

// find returns the register of key, once it is certain that a power failure can't take
// it back.
func (s *Store) find(key string) (register, error) {
	missing := false
	for range mostLooks {
		r, err := s.look(key)
		switch {
		case errors.Is(err, errChanged):
		case !errors.Is(err, fs.ErrNotExist):
			return r, err
		case missing:
			folder := shardOf(key).folder()
			_, err := s.disk.Stat(folder)
			return register{}, needed(err, folder)
		default:
			// Its first swap since the upgrade may be made between the two looks. So
			// only a register that is in neither place, and still not in the first
			// one, is absent.
			e, err := s.read(key, earlierPath(key))
			if !errors.Is(err, fs.ErrNotExist) {
				return register{entry: e}, err
			}
			missing = true
		}
	}
	return register{}, damaged(registerPath(key), "it has no head, or more than one")
}

// look lists the register's folder and reads its head's content. Its error is
// fs.ErrNotExist if there is no folder, and errChanged if another look is needed.
func (s *Store) look(key string) (r register, err error) {
	r = register{path: registerPath(key)}
	names, err := s.disk.Names(r.path)
	if err != nil {
		return register{}, err
	}
	heads := 0
	for _, name := range names {
		if h, ok := parseHead(name); ok {
			r.head, heads = h, heads+1
		} else if name == absent || storeclient.IsToken(name) {
			r.names = append(r.names, name)
		}
	}
	if heads != 1 {
		return register{}, errChanged
	}
	r.entry, err = s.readVersion(key, r.head.after)
	if errors.Is(err, fs.ErrNotExist) {
		r.entry, err = s.readBefore(key, r.head)
	}
	if err != nil {
		return register{}, err
	}
	return r, s.settle(&r)
}

// readBefore reads the version before the head's, whose own content is gone. If the head
// is gone too, a swap has cleared up. If it is not, a power failure has taken the
// content's name, and before that nobody has believed the version: its content is synced
// first, and the version before it is kept until the head is certain. The head is looked
// for last, because a swap may clear up at any moment before.
func (s *Store) readBefore(key string, h head) (store.Entry, error) {
	path := registerPath(key)
	e, missing := s.readVersion(key, h.before)
	_, err := s.disk.Stat(path + "/" + h.name())
	if errors.Is(err, fs.ErrNotExist) {
		err = errChanged
	}
	if err != nil {
		return store.Entry{}, err
	}
	return e, needed(missing, path+"/"+h.after)
}

// settle makes sure that the head is on the disk. It is, if the version before it is
// gone, for that is removed after the fsync. The version is looked up by its name,
// because a listing may have missed it.
func (s *Store) settle(r *register) error {
	mark, err := s.disk.Read(r.path+"/"+r.head.before, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.fresh = len(mark) == 0
	if err := s.syncFolder(r.path); err != nil {
		return err
	}
	return s.syncFolder(shardOf(r.entry.Key).folder())
}

// readVersion reads one version of a register. Its error is fs.ErrNotExist if it is not
// there.
func (s *Store) readVersion(key, version string) (store.Entry, error) {
	path := registerPath(key) + "/" + version
	e, err := s.read(key, path)
	if err == nil && string(e.Version) != version {
		err = foreign(path, "it holds version %s", e.Version)
	}
	return e, err
}

// read returns the content at a path, which must be of key's register. Its error is
// fs.ErrNotExist if it is not there.
func (s *Store) read(key, path string) (store.Entry, error) {
	content, err := s.disk.Read(path, maxFile+1)
	if err != nil {
		return store.Entry{}, err
	}
	e, err := decodeRegister(path, content)
	if err == nil && e.Key != key {
		err = foreign(path, "it holds the register of %q", e.Key)
	}
	return e, err
}

// syncFolder makes the creations, renames and removals in a folder of the store durable.
func (s *Store) syncFolder(path string) error { return needed(s.sync(path), path) }

// sync is syncFolder for a folder that others may remove. A failed fsync ends the store's
// use.
func (s *Store) sync(path string) error {
	err := s.disk.Sync(path)
	if errors.Is(err, disk.ErrSync) {
		return s.fail(err)
	}
	return err
}
