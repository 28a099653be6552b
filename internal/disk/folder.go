package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Permissions: only the owner may read a folder's files, and above all write them.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// folder is a folder of the operating system. All access goes through the folder that was
// opened, not through its path, so nothing is ever written to another folder that takes
// its place.
type folder struct {
	root  *os.Root
	path  string      // absolute
	info  fs.FileInfo // of the folder, when it was opened
	there string      // path, or the nearest folder above it that was there before
}

// Open opens the folder at an absolute path. It makes the folder and its parents if create is true.
func Open(path string, create bool) (Folder, error) {
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
	return &folder{root: root, path: path, info: info, there: there}, nil
}

func (d *folder) Read(path string, limit int) (content []byte, err error) {
	f, err := d.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content = make([]byte, limit)
	n, err := io.ReadFull(f, content)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return content[:n], err
}

func (d *folder) Create(path string) (File, error) {
	return opened(d.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode))
}

func (d *folder) Open(path string) (File, error) {
	return opened(d.root.OpenFile(path, os.O_RDWR, 0))
}

func (d *folder) Names(path string) (names []string, err error) {
	f, err := d.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

func (d *folder) Stat(path string) (Info, error)    { return infoOf(d.root.Lstat(path)) }
func (d *folder) Rename(from, to string) error      { return d.root.Rename(from, to) }
func (d *folder) Remove(path string) error          { return d.root.Remove(path) }
func (d *folder) Mkdir(path string) error           { return d.root.Mkdir(path, folderMode) }
func (d *folder) Symlink(target, path string) error { return d.root.Symlink(target, path) }
func (d *folder) Close() error                      { return d.root.Close() }

func (d *folder) Sync(path string) error { return sync(d.root.Open(path)) }

// sync fsyncs a folder that was opened.
func sync(f *os.File, err error) error {
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrSync, err), f.Close())
	}
	return f.Close()
}

// SyncAncestors fsyncs every folder above: one of them may have been made by this process,
// or by one that was killed before it came here. Only for the former a failure is known
// to matter, and most folders above are not ours to open.
func (d *folder) SyncAncestors() error {
	made := d.path != d.there
	for child, parent := d.path, filepath.Dir(d.path); child != parent; child, parent = parent, filepath.Dir(parent) {
		if err := sync(os.Open(parent)); err != nil && made {
			return err
		}
		made = made && parent != d.there
	}
	return nil
}

func (d *folder) Same() (bool, error) {
	info, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(d.info, info), err
}

// file is an open file of the operating system.
type file struct{ *os.File }

func opened(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (f file) Write(content []byte) error {
	_, err := f.WriteAt(content, 0)
	return err
}

func (f file) Stat() (Info, error)    { return infoOf(f.File.Stat()) }
func (f file) TryLock() (bool, error) { return tryLock(f.File) }

func infoOf(info fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	stamp, err := stampOf(info)
	return Info{Stamp: stamp, Link: info.Mode()&fs.ModeSymlink != 0}, err
}
