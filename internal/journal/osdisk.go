//go:build linux || darwin

package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"snowfence.example/snowfence/internal/localdisk"
)

// Permissions: only the owner may read a journal, and above all only the owner may write
// it.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// osDisk is a folder of the operating system. All access goes through the
// folder that was opened, not through its path.
type osDisk struct {
	root *os.Root
	held *os.File // the lock file, once it was opened
}

func openDisk(path string) (Disk, error) {
	_, missing := os.Stat(path)
	if err := os.MkdirAll(path, folderMode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := &osDisk{root: root}
	if missing != nil {
		// A failure here is safe: if a power loss takes the folder, there is no journal.
		_ = localdisk.SyncFolder(filepath.Dir(path))
	}
	return d, nil
}

func (d *osDisk) Lock() error {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	d.held = f
	locked, err := localdisk.TryLock(f)
	if err != nil {
		return err
	}
	if !locked {
		owner, err := io.ReadAll(io.LimitReader(f, 100))
		return errors.Join(&InUseError{Owner: strings.TrimSpace(string(owner))}, err)
	}
	if err := d.Locked(); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "pid %d\n", os.Getpid()), 0)
	return err
}

func (d *osDisk) Locked() error {
	mine, err := d.held.Stat()
	if err != nil {
		return err
	}
	there, err := d.root.Lstat(lockName)
	if err != nil || !os.SameFile(mine, there) {
		return errors.Join(fmt.Errorf("%w: %s", ErrReplaced, filepath.Join(d.root.Name(), lockName)), err)
	}
	return nil
}

func (d *osDisk) Create(name string) (File, error) {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (d *osDisk) Read(name string, limit int) (content []byte, err error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

func (d *osDisk) Stamp(name string) (Stamp, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Stamp{}, err
	}
	return stampOf(info)
}

func stampOf(info fs.FileInfo) (Stamp, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, ErrUnsupported
	}
	return Stamp{Device: device(stat), Inode: stat.Ino, Changed: changed(stat)}, nil
}

func (d *osDisk) Rename(from, to string) error { return d.root.Rename(from, to) }
func (d *osDisk) Remove(name string) error     { return d.root.Remove(name) }

func (d *osDisk) Sync() (err error) {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

func (d *osDisk) Close() error {
	var err error
	if d.held != nil {
		err = d.held.Close()
	}
	return errors.Join(err, d.root.Close())
}

// osFile is an open file of the operating system.
type osFile struct{ file *os.File }

func (f *osFile) Write(content []byte) error {
	_, err := f.file.WriteAt(content, 0)
	return err
}

func (f *osFile) Sync() error  { return f.file.Sync() }
func (f *osFile) Close() error { return f.file.Close() }

func (f *osFile) Stamp() (Stamp, error) {
	info, err := f.file.Stat()
	if err != nil {
		return Stamp{}, err
	}
	return stampOf(info)
}
