package filestore

import "errors"

// errTooLong is returned by readFile.
var errTooLong = errors.New("longer than expected")

// disk is what the store asks of an operating system: one open folder. Paths
// are relative to it, with forward slashes; "." is the folder itself. It is
// the seam at which tests make a machine fail.
//
// Its errors satisfy errors.Is with fs.ErrNotExist and fs.ErrExist as those of
// package os do.
type disk interface {
	// readFile returns errTooLong if the file is longer than limit bytes.
	readFile(path string, limit int) ([]byte, error)

	// create makes an empty file. It fails with fs.ErrExist if there is one.
	create(path string) (file, error)
	openFolder(path string) (file, error) // for fsync

	// rename moves a file, replacing what is at its new path. Readers see the
	// old or the new file at every moment.
	rename(from, to string) error

	remove(path string) error
	mkdir(path string) error
	names(path string) ([]string, error) // in a folder, in any order

	// openLock opens the lock file, and creates it if need be. It comes before the
	// four below. The lock is of this opening alone: another opening, even in the same
	// process, is another contender.
	openLock() error

	// tryLock takes the lock if it is free, without waiting. The end of the process
	// frees it, too.
	tryLock() (bool, error)
	unlock() error

	// The mark is the first bytes of the lock file. It needs no lock, and what one
	// process wrote every other one reads.
	readMark() (mark, error)
	writeMark(mark) error

	// same returns ErrReplaced, in a *FileError, if the folder is no longer to be
	// found where it was opened, or if the lock file that was opened is no longer the
	// one in it: others would lock another file then.
	same() error

	syncAncestors() error // the folders that the folder was made in
	close() error
}

// file is an open file or folder.
type file interface {
	Write(b []byte) (int, error)
	Sync() error
	Close() error
}

// A mark is what a writer leaves in the lock file while it writes: the shard
// that it writes to, or unmarked.
//
// Marks change by one write of two bytes. A read may meet it half-way, and a
// power failure may leave anything. But a mark is only ever set where it was
// unmarked and the other way round, so a half-way read holds a '-' beside a
// digit: it is no shard, and not unmarked either, and its reader takes the
// careful way.
type mark string

// unmarked is the mark while no process writes.
const unmarked mark = "--"

// shard returns the shard that m names, and whether it names one.
func (m mark) shard() (shard, bool) {
	if len(m) != len(unmarked) {
		return "", false
	}
	for _, c := range m {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return "", false
		}
	}
	return shard(m), true
}

// clears reports whether m shows that no process writes to s.
func (m mark) clears(s shard) bool {
	other, ok := m.shard()
	return m == unmarked || ok && other != s
}
