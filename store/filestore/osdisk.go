package filestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"snowfence.example/snowfence/internal/localdisk"
)

// Permissions: no other user may read the registers, and above all write them.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// osDisk is a folder of the operating system. All access goes through the
// folder that was opened, not through its path, so that nothing is ever
// written to another folder that takes its place.
type osDisk struct {
	root  *os.Root
	path  string      // absolute
	info  fs.FileInfo // of the folder, when it was opened
	lock  *os.File    // the lock file, for flock; nil before it is opened
	locks fs.FileInfo // of the lock file, when it was opened
	there string      // path, or the nearest folder above it that was there before
}

// openDisk opens the folder at path, an absolute one, and makes it and the
// folders above it if create is true.
func openDisk(path string, create bool) (*osDisk, error) {
	there := path
	if create {
		for _, err := os.Stat(there); errors.Is(err, fs.ErrNotExist) && there != filepath.Dir(there); _, err = os.Stat(there) {
			there = filepath.Dir(there)
		}
		if err := os.MkdirAll(path, folderMode); err != nil {
			return nil, fmt.Errorf("make folder: %w", err)
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &osDisk{root: root, path: path, info: info, there: there}, nil
}

func (d *osDisk) readFile(path string, limit int) (content []byte, err error) {
	f, err := d.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// One byte more than the limit tells a longer file from the longest.
	buf := make([]byte, limit+1)
	n, err := io.ReadFull(f, buf)
	switch {
	case err == nil:
		return nil, fmt.Errorf("read %s: %w: %d bytes", path, errTooLong, limit)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return buf[:n], nil
	}
	return nil, err
}

func (d *osDisk) create(path string) (file, error) {
	return d.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

func (d *osDisk) openFolder(path string) (file, error) { return d.root.Open(path) }
func (d *osDisk) rename(from, to string) error         { return d.root.Rename(from, to) }
func (d *osDisk) remove(path string) error             { return d.root.Remove(path) }
func (d *osDisk) mkdir(path string) error              { return d.root.Mkdir(path, folderMode) }

func (d *osDisk) close() error {
	if d.lock == nil {
		return d.root.Close()
	}
	return errors.Join(d.lock.Close(), d.root.Close())
}

func (d *osDisk) names(path string) (names []string, err error) {
	f, err := d.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

func (d *osDisk) same() error {
	folder, folderErr := os.Stat(d.path)
	lock, lockErr := d.root.Stat(lockName)
	return errors.Join(replaced(d.path, d.info, folder, folderErr), replaced(filepath.Join(d.path, lockName), d.locks, lock, lockErr))
}

// replaced returns ErrReplaced if what was opened is not what was found.
func replaced(path string, opened, found fs.FileInfo, err error) error {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(opened, found) {
		return &FileError{Path: path, Err: ErrReplaced}
	}
	return nil
}

// syncAncestors fsyncs every folder above: one of them may have been made by this process,
// or by one that was killed before it came here. Only for the former a failure is known
// to matter, and most folders above are not ours to open.
func (d *osDisk) syncAncestors() error {
	made := d.path != d.there
	for child, parent := d.path, filepath.Dir(d.path); child != parent; child, parent = parent, filepath.Dir(parent) {
		if err := localdisk.SyncFolder(parent); err != nil && made {
			return err
		}
		made = made && parent != d.there
	}
	return nil
}

func (d *osDisk) openLock() (err error) {
	if d.lock, err = d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode); err == nil {
		d.locks, err = d.lock.Stat()
	}
	return err
}

func (d *osDisk) tryLock() (bool, error) { return localdisk.TryLock(d.lock) }
func (d *osDisk) unlock() error          { return localdisk.Unlock(d.lock) }

// readMark reads an empty lock file, as a young one is, as some mark that
// clears no shard.
func (d *osDisk) readMark() (mark, error) {
	var b [len(unmarked)]byte
	n, err := d.lock.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read mark: %w", err)
	}
	return mark(b[:n]), nil
}

func (d *osDisk) writeMark(m mark) error {
	if _, err := d.lock.WriteAt([]byte(m), 0); err != nil {
		return fmt.Errorf("write mark: %w", err)
	}
	return nil
}
