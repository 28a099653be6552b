// Package disk is a folder on a disk, as programs that keep files there see it: the one
// seam between them and the operating system. [Open] opens a folder of the operating
// system. Package modeldisk has a disk that fails at any step.
package disk

import (
	"errors"
	"time"
)

// ErrSync is returned by the Sync of a folder when the fsync itself has failed.
var ErrSync = errors.New("fsync")

// Folder is an open folder. Paths are relative to it, with forward slashes; "." is the
// folder itself.
//
// Its errors satisfy errors.Is with fs.ErrNotExist and fs.ErrExist as package os' errors do. Nothing is
// durable before a sync: a power failure may take back any change of a folder since its last Sync, each
// by itself, and any part of a file's content.
type Folder interface {
	// Read returns a file's content, at most limit bytes of it.
	Read(path string, limit int) ([]byte, error)

	// Create makes an empty file. It fails with fs.ErrExist if there is one.
	Create(path string) (File, error)

	// Open opens a file that is there, to lock it or to write to it.
	Open(path string) (File, error)

	// Names returns the names in a folder, in any order. A name that comes or goes
	// meanwhile may be shown or not.
	Names(path string) ([]string, error)

	// Stat looks at the path itself: it does not follow a symbolic link.
	Stat(path string) (Info, error)

	// Rename moves a file or a folder within the folder that it is in. Others see the old
	// name or the new one at every moment. It replaces a file, and it fails with
	// fs.ErrExist where a folder with something in it is in the way.
	Rename(from, to string) error

	// Remove removes a file or an empty folder.
	Remove(path string) error
	Mkdir(path string) error

	// Symlink makes a symbolic link. It fails with fs.ErrExist if the path is taken.
	Symlink(target, path string) error

	// Sync makes the creations, renames and removals in a folder durable.
	Sync(path string) error

	// SyncAncestors makes the folder's own path durable.
	SyncAncestors() error

	// Same reports whether the folder is still found where it was opened.
	Same() (bool, error)
	Close() error
}

// File is an open file.
type File interface {
	// Write writes the content from the beginning, and leaves the rest of the file. When
	// it fails, a part may be written.
	Write(content []byte) error

	// Sync makes the content durable. After a failure no later success proves anything.
	Sync() error

	// Stat looks at the file that was opened, whatever its name is now.
	Stat() (Info, error)

	// TryLock locks the file if no other opening has it locked, without waiting. Close
	// unlocks it, and so does the end of the process.
	TryLock() (bool, error)
	Close() error
}

// Info is the file system's knowledge of a path.
type Info struct {
	Stamp
	Link bool // a symbolic link
}

// Stamp is the file system's own note on a file, which programs can't set: which
// file it is, and when it was last changed. Inode numbers are given again.
type Stamp struct {
	Device  uint64    `json:"device"`
	Inode   uint64    `json:"inode"`
	Changed time.Time `json:"changed"`
}

// SameFile reports whether two stamps that were taken while the file was open are of one
// file.
func (s Stamp) SameFile(other Stamp) bool {
	return s.Device == other.Device && s.Inode == other.Inode
}
