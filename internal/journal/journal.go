package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"snowfence.example/snowfence/internal/localdisk"
)

// The names in the folder.
const (
	lockName     = "lock"
	oddName      = "odd"
	evenName     = "even"
	consumedName = "consumed"
	refusedName  = "refused"
)

// Config says where a journal is.
type Config struct {
	// Dir is the journal's folder, on a local disk. It is made if it is missing.
	// Each holder has its own.
	Dir string

	// AcrossReboots also accepts a page from before the machine's last start. Then a
	// clone of the disk, or an image that was started again, looks like the machine
	// itself. Set it only where no machine is ever started from an image that is younger
	// than the window.
	AcrossReboots bool
}

// Journal is a holder's journal in a folder. It is safe for concurrent use.
type Journal struct {
	path string
	disk Disk
	here Place
	far  bool // AcrossReboots

	patience time.Duration // of Close

	mu     sync.Mutex // guards the fields below
	taken  bool
	closed bool
	failed error   // why Keep is of no more use; nil while it is
	number uint64  // of the last entry; 0 while there are none
	files  [2]File // by the parity of their entries
	other  Stamp   // of the file with the last entry
}

// Open opens the journal in a folder and locks it until [Journal.Close], or
// until the process ends. It reads nothing yet.
//
// An *[InUseError] is returned while another process, or another Journal of this one, has
// it. The program then goes on without a journal, as it would for the first time. From a
// pool it claims another worker id than the journal's. A pinned holder has to wait for the
// owner in any case.
//
// [ErrNetwork] is returned for a folder that is, or may be, on a network file system.
// [ErrUnsupported] is returned when the operating system can't carry a journal.
func Open(c Config) (*Journal, error) { return openAt(c, localdisk.At) }

// openAt opens a journal as Open does, on the file system that at says.
func openAt(c Config, at func(string) (localdisk.System, error)) (*Journal, error) {
	path, err := filepath.Abs(c.Dir)
	if err != nil || c.Dir == "" {
		return nil, fmt.Errorf("journal: folder %q: must be a path: %w", c.Dir, errors.Join(err, fs.ErrInvalid))
	}
	here, err := thisPlace(c.AcrossReboots)
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
	d, err := openDisk(path)
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", path, err)
	}
	return OpenOn(d, path, here, c.AcrossReboots)
}

// OpenOn is [Open] on a disk and a machine that a simulation makes up. It closes d if
// it fails.
func OpenOn(d Disk, path string, here Place, acrossReboots bool) (*Journal, error) {
	if err := d.Lock(); err != nil {
		var used *InUseError
		if errors.As(err, &used) {
			used.Path = path
		} else {
			err = fmt.Errorf("journal: lock %s: %w", path, err)
		}
		return nil, errors.Join(err, d.Close())
	}
	return &Journal{path: path, disk: d, here: here, far: acrossReboots, patience: closeTakes}, nil
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
		if err := j.clear(refusedName+"-"+newest, newest, other); err != nil {
			return nil, err
		}
		return nil, &RefusedError{Path: j.path, Reason: reason.Error()}
	}
	if err := j.disk.Rename(newest, consumedName); err != nil {
		return nil, j.wrap(err)
	}
	if err := j.disk.Sync(); err != nil {
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
	if err := j.clear("", other); err != nil {
		return nil, err
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
	now, err := j.disk.Stamp(other)
	switch {
	case e.Place.Boot != j.here.Boot && !j.far:
		return e, errors.New("it was kept on another machine, or before this one was last started")
	case e.Place.Boot != j.here.Boot && e.Place.Machine != j.here.Machine:
		return e, errors.New("it was kept on another machine")
	case e.Number < 2 || nameOf(e.Number) != name:
		return e, errors.New("it was never complete")
	case err != nil:
		return e, fmt.Errorf("its other file: %w", err)
	case !e.Other.Same(now, e.Place.Boot == j.here.Boot):
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
func (j *Journal) begin() error {
	if err := j.disk.Locked(); err != nil {
		return err
	}
	for parity := range j.files {
		f, err := j.disk.Create(nameOf(uint64(parity)))
		if err != nil {
			return j.wrap(err)
		}
		j.files[parity] = f
	}
	if err := j.fine(); err != nil {
		return err
	}
	if err := j.add(""); err != nil {
		return err
	}
	return j.wrap(j.disk.Sync())
}

// fine returns ErrUnsupported if the file system has times of change in whole seconds, as
// ext3, FAT and HFS+ have, and ext4 with inodes of 128 bytes. There a file that is put back
// within a second could have its old stamp. Two times that are whole by chance cost a
// process its journal, and nothing else.
func (j *Journal) fine() error {
	for _, f := range j.files {
		s, err := f.Stamp()
		if err != nil {
			return j.wrap(err)
		}
		if s.Changed.Nanosecond() != 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: %s: its file system has times of change in whole seconds", ErrUnsupported, j.path)
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
	if j.other, err = f.Stamp(); err != nil {
		return j.wrap(err)
	}
	j.number = e.Number
	return nil
}

// same returns ErrReplaced if the lock or the files are no longer in the folder.
func (j *Journal) same() error {
	if err := j.disk.Locked(); err != nil {
		return err
	}
	for parity := range j.files {
		if err := j.mine(parity); err != nil {
			return err
		}
	}
	return nil
}

// mine returns ErrReplaced if another file has the name of a file that was made here, or
// none. The file is open, so no other file has its number.
func (j *Journal) mine(parity int) error {
	name := nameOf(uint64(parity))
	mine, err := j.files[parity].Stamp()
	if err != nil {
		return j.wrap(err)
	}
	there, err := j.disk.Stamp(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return j.wrap(err)
	}
	if err != nil || there.Inode != mine.Inode || there.Device != mine.Device {
		return j.replaced(name, err)
	}
	return nil
}

func (j *Journal) replaced(name string, err error) error {
	return errors.Join(fmt.Errorf("%w: %s", ErrReplaced, filepath.Join(j.path, name)), err)
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
