package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"snowfence.example/snowfence/internal/localdisk"
)

// Permissions: only the owner may read what is in a folder, and above all write it.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// system is a folder of the operating system. All access goes through the folder that was
// opened, not through its path, so nothing is ever written to another folder that takes
// its place.
type system struct {
	root  *os.Root
	path  string      // absolute
	info  fs.FileInfo // of the folder, when it was opened
	there string      // path, or the nearest folder above it that was there before
}

// Open opens the folder at an absolute path. It makes the folder and those above it if
// create is true.
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
	return &system{root: root, path: path, info: info, there: there}, nil
}

func (s *system) Read(path string, limit int) (content []byte, err error) {
	f, err := s.root.Open(path)
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

func (s *system) Create(path string) (File, error) {
	return opened(s.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode))
}

func (s *system) Open(path string) (File, error) {
	return opened(s.root.OpenFile(path, os.O_RDWR, 0))
}

func (s *system) Names(path string) (names []string, err error) {
	f, err := s.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

func (s *system) Stat(path string) (Info, error)    { return infoOf(s.root.Lstat(path)) }
func (s *system) Rename(from, to string) error      { return s.root.Rename(from, to) }
func (s *system) Remove(path string) error          { return s.root.Remove(path) }
func (s *system) Mkdir(path string) error           { return s.root.Mkdir(path, folderMode) }
func (s *system) Symlink(target, path string) error { return s.root.Symlink(target, path) }
func (s *system) Close() error                      { return s.root.Close() }

func (s *system) Sync(path string) error {
	f, err := s.root.Open(path)
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
func (s *system) SyncAncestors() error {
	made := s.path != s.there
	for child, parent := s.path, filepath.Dir(s.path); child != parent; child, parent = parent, filepath.Dir(parent) {
		if err := localdisk.SyncFolder(parent); err != nil && made {
			return err
		}
		made = made && parent != s.there
	}
	return nil
}

func (s *system) Same() (bool, error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(s.info, info), err
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
func (f file) TryLock() (bool, error) { return localdisk.TryLock(f.File) }

func infoOf(info fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	stamp, err := stampOf(info)
	return Info{Stamp: stamp, Link: info.Mode()&fs.ModeSymlink != 0}, err
}
