package journal

import (
	"errors"
	"time"
)

// disk is what the journal asks of an operating system: one open folder, and
// the lock in it. It is the seam at which tests make a machine fail. Names are
// those of files in the folder.
//
// Its errors satisfy errors.Is with fs.ErrNotExist as those of package os do.
type disk interface {
	// lock takes the folder for this process for as long as the disk is open,
	// and writes down whose it is. If another opening has it, the error is an
	// *InUseError without its path.
	lock() error

	// locked returns ErrReplaced if the lock file is no longer the one that was
	// locked, so that somebody else may have locked another.
	locked() error

	// create makes a new, empty file in place of what may be there.
	create(name string) (file, error)

	// read returns a file's content, at most limit bytes of it.
	read(name string, limit int) ([]byte, error)

	// stamp returns the stamp of the file with that name.
	stamp(name string) (stamp, error)

	rename(from, to string) error
	remove(name string) error

	// sync makes what was created, renamed and removed durable.
	sync() error

	close() error
}

// file is an open file. What is written stays where it is; nothing is renamed.
type file interface {
	// write writes the content from the beginning, and leaves what may be
	// behind it.
	write(content []byte) error
	sync() error
	stamp() (stamp, error)
	close() error
}

// stamp is what the file system notes of a file by itself, and no program can
// set: which file it is, and when it was last changed. Whatever writes, copies,
// restores, renames or links a file changes it.
type stamp struct {
	Device  uint64    `json:"device"`
	Inode   uint64    `json:"inode"`
	Changed time.Time `json:"changed"`
}

// same reports whether two stamps are of one file that was not touched between
// them. Devices can have other numbers after a restart of the machine.
func (s stamp) same(other stamp, sameBoot bool) bool {
	return s.Inode == other.Inode && s.Changed.Equal(other.Changed) && (s.Device == other.Device || !sameBoot)
}

// place is the machine that a journal is on.
type place struct {
	// Boot is a random number of this run of its operating system.
	Boot string `json:"boot"`
	// Machine is a number of the machine; empty where it has none.
	Machine string `json:"machine"`
}

// check returns an error if the machine can't be told from others.
func (p place) check(acrossReboots bool) error {
	switch {
	case p.Boot == "":
		return errors.New("the boot id is empty")
	case p.Machine == "" && acrossReboots:
		return errors.New("the machine id is empty")
	}
	return nil
}
