package journal

import (
	"errors"
	"time"
)

// Disk is what a journal asks of an operating system: one open folder, and the lock
// in it. Names are those of files in the folder. Tests and the simulation make up
// theirs, and let it fail at any step.
//
// Its errors satisfy errors.Is with fs.ErrNotExist as those of package os do.
type Disk interface {
	// Lock takes the folder for this process for as long as the disk is open,
	// and writes down whose it is. If another opening has it, the error is a
	// *[InUseError] without its path.
	Lock() error

	// Locked returns [ErrReplaced] if the lock file is no longer the one that
	// was locked, so that somebody else may have locked another.
	Locked() error

	// Create makes a new, empty file in place of what may be there.
	Create(name string) (File, error)

	// Read returns a file's content, at most limit bytes of it.
	Read(name string, limit int) ([]byte, error)

	Stamp(name string) (Stamp, error)
	Rename(from, to string) error
	Remove(name string) error
	Sync() error // makes what was created, renamed and removed durable
	Close() error
}

// File is an open file. What is written stays where it is; nothing is renamed.
type File interface {
	// Write writes the content from the beginning, and leaves what may be
	// behind it.
	Write(content []byte) error
	Sync() error
	Stamp() (Stamp, error)
	Close() error
}

// Stamp is what the file system notes of a file by itself, and no program can
// set: which file it is, and when it was last changed. Whatever writes, copies,
// restores, renames or links a file changes it.
type Stamp struct {
	Device  uint64    `json:"device"`
	Inode   uint64    `json:"inode"`
	Changed time.Time `json:"changed"`
}

// Same reports whether two stamps are of one file that was not touched between
// them. Devices can have other numbers after a restart of the machine.
func (s Stamp) Same(other Stamp, sameBoot bool) bool {
	return s.Inode == other.Inode && s.Changed.Equal(other.Changed) && (s.Device == other.Device || !sameBoot)
}

// Place is the machine that a journal is on.
type Place struct {
	// Boot is a random number of this run of its operating system.
	Boot string `json:"boot"`
	// Machine is a number of the machine; empty where it has none.
	Machine string `json:"machine"`
}

// Check returns an error if the machine can't be told from others.
func (p Place) Check(acrossReboots bool) error {
	switch {
	case p.Boot == "":
		return errors.New("the boot id is empty")
	case p.Machine == "" && acrossReboots:
		return errors.New("the machine id is empty")
	}
	return nil
}
