package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Discard implements fence.Journal. [ErrReplaced] is returned when the files are gone or
// replaced. Then another process may have the page and go on from it, and no later call
// succeeds. Without a page there is nothing to discard, and no error.
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

// discard removes the files, durably: this journal's own, or those that it failed to take.
//
// A page is taken by a rename of the newer file, and only if both files are read after
// that. Here each file is this journal's own until it is removed, and the first is removed
// before the second is checked. So no other process has taken the page, or will. A file
// that is gone before it is removed may be the newer one, in the hands of another process.
func (j *Journal) discard() error {
	if err := j.disk.Locked(); err != nil {
		return err
	}
	for parity := range j.files {
		made, name := j.files[parity] != nil, nameOf(uint64(parity))
		if made {
			if err := j.mine(parity); err != nil {
				return err
			}
		}
		switch err := j.disk.Remove(name); {
		case made && errors.Is(err, fs.ErrNotExist):
			return j.replaced(name, err)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return j.wrap(err)
		}
		if err := j.forget(parity); err != nil {
			return j.wrap(err)
		}
	}
	j.number, j.other = 0, Stamp{}
	return j.wrap(j.disk.Sync())
}

// closeTakes is how long Close waits for a disk that hangs.
const closeTakes = 5 * time.Second

// Close gives the journal up and unlocks it. The page stays, for the next process. The
// holder must have been closed before. Close waits five seconds for a disk that hangs. Then
// its error says so, and the journal is unlocked when the disk answers.
func (j *Journal) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), j.patience)
	defer cancel()
	closed := make(chan error, 1) // room for an answer that comes too late
	go func() { closed <- j.close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("journal: close %s: the disk did not answer for %s", j.path, j.patience)
	}
}

func (j *Journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	return errors.Join(j.forget(0), j.forget(1), j.disk.Close())
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

// clear removes files, durably. If as is given, the first one is kept under that name, for
// people.
func (j *Journal) clear(as string, names ...string) error {
	if as != "" {
		if err := j.disk.Rename(names[0], as); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return j.wrap(err)
		}
		names = names[1:]
	}
	for _, name := range names {
		if err := j.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return j.wrap(err)
		}
	}
	return j.wrap(j.disk.Sync())
}
