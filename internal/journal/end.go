package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"snowfence.example/snowfence/internal/disk"
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

// discard removes the files, durably: this journal's own, or the ones that it failed to take.
//
// A page is taken by a rename of the newer file, and only if both files are read after
// that. Here each file is this journal's own until it is removed, and the first is removed
// before the second is checked. So other processes have not taken the page, and will not. A file
// that is gone before it is removed may be the newer one, in the hands of another process.
func (j *Journal) discard() error {
	if err := j.still(j.lock); err != nil {
		return err
	}
	for parity := range j.files {
		f, name := &j.files[parity], nameOf(uint64(parity))
		if f.File != nil {
			if err := j.still(*f); err != nil {
				return err
			}
		}
		switch err := j.disk.Remove(name); {
		case f.File != nil && errors.Is(err, fs.ErrNotExist):
			return j.replaced(name, err)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return j.wrap(err)
		}
		if err := f.close(); err != nil {
			return j.wrap(err)
		}
	}
	j.number, j.other = 0, disk.Stamp{}
	return j.wrap(j.disk.Sync("."))
}

// closeTakes is how long Close waits for a disk that hangs.
const closeTakes = 5 * time.Second

// Close gives the journal up and unlocks it. The page stays, for the next process. The
// holder must have been closed before. Close waits five seconds for a disk that hangs. Then
// its error reports it, and the journal is unlocked when the disk answers.
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
	return errors.Join(j.files[0].close(), j.files[1].close(), j.lock.close(), j.disk.Close())
}

// setAside keeps entries that can't be used under other names, durably. They still show which ticks were used.
func (j *Journal) setAside(names ...string) error {
	for _, name := range names {
		if err := j.disk.Rename(name, refused(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return j.wrap(err)
		}
	}
	return j.wrap(j.disk.Sync("."))
}
