package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence/internal/disk"
)

// The names in the folder.
const (
	lockName     = "lock"
	oddName      = "odd"
	evenName     = "even"
	consumedName = "consumed"
	refusedName  = "refused-" // before the name of an entry
)

// ownerSize is how long the owner's text in the lock file is. It is always the same, so
// that an owner writes over the text of the one before.
const ownerSize = 25

// Config sets where a journal is.
type Config struct {
	// Dir is the journal's folder, on a local disk. It is made if it is missing.
	// Each holder has its own.
	Dir string
}

// Journal is a holder's journal in a folder. It is safe for concurrent use.
type Journal struct {
	path string
	disk disk.Folder
	here Place

	patience time.Duration // of Close

	mu     sync.Mutex // guards the fields below
	taken  bool
	closed bool
	failed error // why Keep is useless now; nil while it is
	lock   opened
	number uint64     // of the last entry; 0 while it is empty
	files  [2]opened  // by the parity of their entries
	other  disk.Stamp // of the file with the last entry
}

// opened is a file that this journal has open.
type opened struct {
	disk.File            // or nil
	name      string     // that it was opened under
	stamp     disk.Stamp // as it was then: no other file has its number while it is open
}

// Open opens the journal in a folder and locks it until [Journal.Close], or
// until the process ends. It reads nothing yet.
//
// An *[InUseError] is returned while another process, or another Journal of this one, has
// it. The program then goes on without a journal, as it would for the first time. From a
// pool it claims another worker id than the journal's. A pinned holder has to wait for the
// owner in any case.
//
// [ErrNetwork] is returned for a folder on a file system that is not known to be local.
// [ErrUnsupported] is returned when the operating system can't carry a journal.
func Open(c Config) (*Journal, error) { return openAt(c, disk.SystemAt) }

// openAt opens a journal as Open does, on the file system that at returns.
func openAt(c Config, at func(string) (disk.System, error)) (*Journal, error) {
	path, err := filepath.Abs(c.Dir)
	if err != nil || c.Dir == "" {
		return nil, fmt.Errorf("journal: folder %q: must be a path: %w", c.Dir, errors.Join(err, fs.ErrInvalid))
	}
	here, err := thisPlace()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	system, err := at(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %s: find file system: %w", path, err)
	}
	if system.Network {
		return nil, fmt.Errorf("%w: %s: %s", ErrNetwork, path, system.Refusal())
	}
	d, err := disk.Open(path, true)
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", path, err)
	}
	// A failure here is safe: if a power loss takes the folder, there is no journal.
	_ = d.SyncAncestors()
	return OpenOn(d, path, here)
}

// OpenOn is [Open] on a disk and a machine that a simulation makes up. It closes d if
// it fails.
func OpenOn(d disk.Folder, path string, here Place) (*Journal, error) {
	j := &Journal{path: path, disk: d, here: here, patience: closeTakes}
	if err := j.own(); err != nil {
		return nil, errors.Join(err, j.lock.close(), d.Close())
	}
	return j, nil
}

// own locks the folder, and writes down whose it is.
func (j *Journal) own() error {
	locked, err := j.tryLock()
	if err == nil && !locked {
		var owner []byte
		owner, err = j.disk.Read(lockName, ownerSize)
		return errors.Join(&InUseError{Path: j.path, Owner: strings.TrimSpace(string(owner))}, err)
	}
	if err == nil {
		err = j.still(j.lock)
	}
	if err == nil {
		err = j.lock.Write(fmt.Appendf(nil, "pid %-*d\n", ownerSize-len("pid \n"), os.Getpid()))
	}
	if err != nil {
		return fmt.Errorf("journal: lock %s: %w", j.path, err)
	}
	return nil
}

// tryLock opens the lock file, or makes it, and locks it if nobody else has.
func (j *Journal) tryLock() (bool, error) {
	f, err := j.disk.Open(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = j.disk.Create(lockName)
	}
	if errors.Is(err, fs.ErrExist) { // another process was faster
		f, err = j.disk.Open(lockName)
	}
	if err != nil {
		return false, err
	}
	if j.lock, err = newOpened(f, lockName); err != nil {
		return false, err
	}
	return f.TryLock()
}

func newOpened(f disk.File, name string) (opened, error) {
	info, err := f.Stat()
	if err != nil {
		return opened{}, errors.Join(err, f.Close())
	}
	return opened{f, name, info.Stamp}, nil
}

// close closes the file, if it is open.
func (o *opened) close() error {
	f := o.File
	if f == nil {
		return nil
	}
	o.File = nil
	return f.Close()
}

// Take implements fence.Journal. A *[RefusedError] is returned when the page is another
// machine's, was copied, is torn, or has a newer format. [ErrTaken] is returned when the
// journal has a holder already.
func (j *Journal) Take() ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return nil, ErrClosed
	case j.taken:
		return nil, ErrTaken
	}
	j.taken = true
	page, err := j.take()
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		j.failed = err
	}
	return page, err
}

// take consumes the newer of the two entries, and returns its page if it may be used. The
// rename is durable before the page is used.
//
// The lock keeps others out. If the lock file was removed, another process may have locked
// a new one and still write. Then one of the two notices: this one reads the files after
// the rename, and the other checks their names after its write.
func (j *Journal) take() ([]byte, error) {
	odd, oddThere, err := j.read(oddName)
	if err != nil {
		return nil, err
	}
	even, evenThere, err := j.read(evenName)
	if err != nil {
		return nil, err
	}
	if !oddThere && !evenThere {
		return nil, nil
	}
	newest, content, other, before := oddName, odd, evenName, even
	if newer(even, odd) {
		newest, content, other, before = evenName, even, oddName, odd
	}
	e, reason := j.check(content, before, newest, other)
	if reason != nil {
		if err := j.setAside(newest, other); err != nil {
			return nil, err
		}
		return nil, &RefusedError{Path: j.path, Reason: reason.Error()}
	}
	if err := j.disk.Rename(newest, consumedName); err != nil {
		return nil, j.wrap(err)
	}
	if err := j.disk.Sync("."); err != nil {
		return nil, j.wrap(err)
	}
	contentNow, err := j.disk.Read(consumedName, maxFile)
	if err != nil {
		return nil, j.wrap(err)
	}
	beforeNow, err := j.disk.Read(other, maxFile)
	if err != nil {
		return nil, j.wrap(err)
	}
	if !bytes.Equal(content, contentNow) || !bytes.Equal(before, beforeNow) {
		return nil, fmt.Errorf("%w: %s", ErrReplaced, j.path)
	}
	if err := j.remove(other); err != nil {
		return nil, err
	}
	if err := j.disk.Sync("."); err != nil {
		return nil, j.wrap(err)
	}
	return []byte(e.Page), nil
}

// newer reports whether a holds a later entry than b. An unreadable entry counts as the
// newest, so that the one before it is never taken in its place.
func newer(a, b []byte) bool {
	if b == nil {
		return true
	}
	later, err := decode(a)
	if err != nil {
		return a != nil
	}
	earlier, err := decode(b)
	return err == nil && later.Number > earlier.Number
}

// check returns the entry of the newest file, or why it must not be used.
//
// The stamp of the other file shows a copy. It was taken after the last write of that file,
// and is in this one, which was written afterwards. It fits only if both files were left
// alone since. A write to that file, even of its own older content, gives it another stamp.
// And an older content of this file has an older stamp of that one.
func (j *Journal) check(content, before []byte, name, other string) (entry, error) {
	e, err := decode(content)
	if err != nil {
		return e, fmt.Errorf("%s: %w", name, err)
	}
	now, err := j.disk.Stat(other)
	switch {
	case e.Place.Boot != j.here.Boot:
		return e, errors.New("it was kept on another machine, or before this one was last started")
	case e.Number < 2 || nameOf(e.Number) != name:
		return e, errors.New("it was incomplete")
	case err != nil:
		return e, fmt.Errorf("its other file: %w", err)
	case !untouched(e.Other, now.Stamp):
		return e, errors.New("its files were copied, restored or touched since they were written")
	}
	if first, err := decode(before); err != nil || first.Number != e.Number-1 || first.Place != e.Place {
		return e, errors.New("its two files do not belong together")
	}
	return e, nil
}

// Keep implements fence.Journal. After [ErrFailed] the journal can only be discarded.
func (j *Journal) Keep(page []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return ErrClosed
	case j.failed == nil && !j.taken:
		return fmt.Errorf("journal: %s: keep: the present page has to be taken first", j.path)
	case j.failed == nil:
		if err := j.keep(string(page)); err != nil {
			j.failed = err
		}
	}
	if j.failed != nil {
		return fmt.Errorf("%w: %w", ErrFailed, j.failed)
	}
	return nil
}

// keep appends an entry. A failed fsync is the end: the kernel reports a failure once, and
// may drop the data.
func (j *Journal) keep(page string) error {
	if j.number == 0 {
		if err := j.begin(); err != nil {
			return err
		}
	}
	if err := j.add(page); err != nil {
		return err
	}
	// A process that consumed the files meanwhile has read them after that.
	return j.same()
}

// begin makes the two files, with the first entry.
//
// It returns ErrUnsupported if the file system has times of change in whole seconds, as
// ext3, FAT and HFS+ have, and ext4 with inodes of 128 bytes. There a file that is put back
// within a second could have its old stamp. Two times that are whole by chance cost a
// process its journal, and nothing else.
func (j *Journal) begin() error {
	if err := j.still(j.lock); err != nil {
		return err
	}
	for parity := range j.files {
		name := nameOf(uint64(parity))
		if err := j.remove(name); err != nil {
			return err
		}
		f, err := j.disk.Create(name)
		if err != nil {
			return j.wrap(err)
		}
		if j.files[parity], err = newOpened(f, name); err != nil {
			return j.wrap(err)
		}
	}
	if j.files[0].stamp.Changed.Nanosecond() == 0 && j.files[1].stamp.Changed.Nanosecond() == 0 {
		return fmt.Errorf("%w: %s: its file system has times of change in whole seconds", ErrUnsupported, j.path)
	}
	if err := j.add(""); err != nil {
		return err
	}
	return j.wrap(j.disk.Sync("."))
}

// add writes the next entry into the older of the two files.
func (j *Journal) add(page string) error {
	e := entry{Number: j.number + 1, Place: j.here, Other: j.other, Page: page}
	content, err := e.encode()
	if err != nil {
		return j.wrap(err)
	}
	f := j.files[e.Number%2]
	if err := f.Write(content); err != nil {
		return j.wrap(err)
	}
	if err := f.Sync(); err != nil {
		return j.wrap(err)
	}
	info, err := f.Stat()
	if err != nil {
		return j.wrap(err)
	}
	j.number, j.other = e.Number, info.Stamp
	return nil
}

// same returns ErrReplaced if the lock or the files are no longer in the folder.
func (j *Journal) same() error {
	for _, f := range []opened{j.lock, j.files[0], j.files[1]} {
		if err := j.still(f); err != nil {
			return err
		}
	}
	return nil
}

// still returns ErrReplaced if another file has the name of an opened one, or none.
func (j *Journal) still(f opened) error {
	there, err := j.disk.Stat(f.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return j.wrap(err)
	}
	if err != nil || !there.SameFile(f.stamp) {
		return j.replaced(f.name, err)
	}
	return nil
}

func (j *Journal) replaced(name string, err error) error {
	return errors.Join(fmt.Errorf("%w: %s", ErrReplaced, filepath.Join(j.path, name)), err)
}

// remove removes a file that may be there.
func (j *Journal) remove(name string) error {
	if err := j.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return j.wrap(err)
	}
	return nil
}

// read returns a file's content, and whether it is there.
func (j *Journal) read(name string) ([]byte, bool, error) {
	content, err := j.disk.Read(name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, j.wrap(err)
	}
	return content, true, nil
}

// refused is the name under which a refused entry is kept.
func refused(name string) string { return refusedName + name }

func nameOf(number uint64) string {
	if number%2 == 0 {
		return evenName
	}
	return oddName
}

// wrap adds the journal's path to an error of the operating system.
func (j *Journal) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", j.path, err)
}
