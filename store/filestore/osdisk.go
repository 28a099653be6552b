package filestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	root    *os.Root
	path    string      // absolute
	info    fs.FileInfo // of the folder, when it was opened
	lock    fs.FileInfo // of the lock file, when it was opened
	created []string    // the folders that opening had to make
}

// openDisk opens the folder at path, an absolute one, and makes it and the
// folders above it if create is true.
func openDisk(path string, create bool) (*osDisk, error) {
	var created []string
	if create {
		var err error
		if created, err = makeFolders(path); err != nil {
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
	return &osDisk{root: root, path: path, info: info, created: created}, nil
}

// makeFolders makes the folder at path and those above it that are missing,
// and returns what it made.
func makeFolders(path string) (made []string, err error) {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if parent := filepath.Dir(path); parent != path {
		if made, err = makeFolders(parent); err != nil {
			return nil, err
		}
	}
	err = os.Mkdir(path, folderMode)
	if errors.Is(err, fs.ErrExist) {
		return made, nil // another process was faster
	}
	return append(made, path), err
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
func (d *osDisk) close() error                         { return d.root.Close() }

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
	return errors.Join(replaced(d.path, d.info, folder, folderErr), replaced(filepath.Join(d.path, lockName), d.lock, lock, lockErr))
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

// syncAncestors fsyncs every folder above, because one of them may be young
// too: made by this process, or by one that was killed before it came here.
// Only for the former is a failure known to matter; the latter is rare, and
// most folders above are not ours to open.
func (d *osDisk) syncAncestors() error {
	for child := d.path; ; {
		parent := filepath.Dir(child)
		if parent == child {
			return nil
		}
		if err := localdisk.SyncFolder(parent); err != nil && slices.Contains(d.created, child) {
			return err
		}
		child = parent
	}
}

func (d *osDisk) openLock() (lock, error) {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if d.lock, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &osLock{f}, nil
}

// osLock is a lock file of the operating system, locked with flock.
type osLock struct{ file *os.File }

func (l *osLock) tryLock() (bool, error) { return localdisk.TryLock(l.file) }
func (l *osLock) unlock() error          { return localdisk.Unlock(l.file) }
func (l *osLock) close() error           { return l.file.Close() }

// readMark reads an empty lock file, as a young one is, as some mark that
// clears no shard.
func (l *osLock) readMark() (mark, error) {
	var b [len(unmarked)]byte
	n, err := l.file.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read mark: %w", err)
	}
	return mark(b[:n]), nil
}

func (l *osLock) writeMark(m mark) error {
	if _, err := l.file.WriteAt([]byte(m), 0); err != nil {
		return fmt.Errorf("write mark: %w", err)
	}
	return nil
}
