package idsort

import (
	"errors"
	"io/fs"
	"os"
)

// folder is the disk that the operating system has.
type folder struct{ dir string }

// create makes a file and takes its name away at once, so that it is gone however
// the process ends. Where open files keep their names, it goes when it is closed.
func (d folder) create() (scratch, error) {
	f, err := os.CreateTemp(d.dir, "snowfence-check-")
	if err != nil {
		return nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, nil
	}
	return named{f}, nil
}

// named is a file that still has its name.
type named struct{ *os.File }

func (f named) Close() error {
	err := f.File.Close()
	if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
