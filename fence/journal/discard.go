package journal

import (
	"errors"
	"io/fs"

	"snowfence.example/snowfence/internal/folder"
)

// Discard implements [fence.Journal]. [ErrReplaced] is returned when the files
// are not there any more, or not these: then another process may have the page
// and go on from it, and no later call succeeds. Where nothing was kept there is
// nothing to discard, and no error.
func (j *Journal) Discard() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return ErrClosed
	case errors.Is(j.failed, ErrReplaced):
		return j.failed
	}
	err := j.discard()
	if err != nil {
		j.failed = err
	}
	return err
}

// discard removes the files, durably. Files that somebody else put there are
// his.
//
// A page is taken while both files are there, and then none of them is. So if the
// second one is still this journal's when the first one is gone, nobody has taken
// the page, and nobody will.
func (j *Journal) discard() error {
	if err := j.disk.Locked(); err != nil {
		return err
	}
	for parity := range j.files {
		if j.files[parity] != nil {
			if err := j.mine(parity); err != nil {
				return err
			}
		}
		if err := j.remove(nameOf(uint64(parity))); err != nil {
			return err
		}
		if err := j.forget(parity); err != nil {
			return j.wrap(err)
		}
	}
	j.number, j.other = 0, folder.Stamp{}
	return j.wrap(j.disk.Sync())
}

// forget closes a file, if it is open.
func (j *Journal) forget(parity int) error {
	f := j.files[parity]
	if f == nil {
		return nil
	}
	j.files[parity] = nil
	return f.Close()
}

// clear removes files, durably; the first one is kept under another name, if
// one is given, for people to look at.
func (j *Journal) clear(as string, names ...string) error {
	if as != "" {
		if err := j.disk.Rename(names[0], as); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return j.wrap(err)
		}
		names = names[1:]
	}
	for _, name := range names {
		if err := j.remove(name); err != nil {
			return err
		}
	}
	return j.wrap(j.disk.Sync())
}

func (j *Journal) remove(name string) error {
	if err := j.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return j.wrap(err)
	}
	return nil
}
