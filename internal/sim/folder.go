package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/disk/modeldisk"
)

var errDisk = errors.New("the disk failed")

// volume is a disk with the folder of a journal. Its machine has one boot id at all times: else every page would be
// refused after a loss of power, and nothing would show what is on the disk.
type volume struct{ *modeldisk.Disk }

func newVolume(rng *rand.Rand) *volume { return &volume{modeldisk.New(rng.IntN)} }

// losePower keeps a random part of the unsynced changes, or nothing of them. It reports whether
// anything is lost.
func (d *volume) losePower(rng *rand.Rand) (lost bool) {
	if chance(rng, 50) {
		return d.LosePower(func(n int) int { return n - 1 })
	}
	return d.LosePower(rng.IntN)
}

// files returns the content of each file.
func (d *volume) files() (map[string][]byte, error) {
	p := d.Process()
	names, err := p.Names(".")
	files := make(map[string][]byte)
	for _, name := range names {
		content, failed := p.Read(name, 1<<20)
		files[name], err = content, errors.Join(err, failed)
	}
	return files, err
}

// put makes a durable file, in place of an earlier file of that name.
func (d *volume) put(name string, content []byte) error {
	p := d.Process()
	_ = p.Remove(name) // it may be gone
	f, err := p.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Write(content), f.Sync(), f.Close(), p.Sync("."))
}

// openFolder is the folder as one process has it, with the faults that it meets there. Its lock always
// succeeds: on a machine of its own a process is alone, and a shared folder has a lock that does not
// work.
type openFolder struct {
	*modeldisk.Process
	rng    *rand.Rand
	bug    diskBug
	latest map[string]disk.File // the file that it opened last under each name

	dies      int  // the process dies at that step from now; 0 if it does not
	fails     int  // the step from now that fails; 0 if none does
	failsSync bool // the next fsync of a file fails
	worn      bool // one change in three fails
	doing     diskCall
}

// diskCall is a journal's work on its disk.
type diskCall string

const (
	keeping    diskCall = "keep"
	discarding diskCall = "remove"
)

// open returns the folder to a process that starts.
func (d *volume) open(rng *rand.Rand, bug diskBug) *openFolder {
	o := &openFolder{Process: d.Process(), rng: rng, bug: bug, latest: make(map[string]disk.File)}
	o.Before = o.before
	return o
}

// before runs at the beginning of each step.
func (o *openFolder) before(step string) (f modeldisk.Fault) {
	if o.dies--; o.dies == 0 {
		return modeldisk.Fault{Kill: true}
	}
	syncs, changes := step == "sync file" || step == "sync folder", true
	switch step {
	case "open", "read", "stat", "stat file", "lock":
		changes = false
	}
	if o.fails--; o.fails == 0 || changes && o.worn && chance(o.rng, 30) {
		f.Err = errDisk
	}
	if f.Err == nil && o.failsSync && step == "sync file" {
		f.Err, o.failsSync = errDisk, false
	}
	f.Done = f.Err != nil && syncs && chance(o.rng, 50) // a failing fsync may sync everything
	return f
}

// looksAway reports whether a mutant overlooks that another process took the file.
func (o *openFolder) looksAway() bool { return o.bug == looksAway && o.doing == keeping }

// Create implements [disk.Folder].
func (o *openFolder) Create(name string) (disk.File, error) { return o.open(name, o.Process.Create) }

// Open implements [disk.Folder].
func (o *openFolder) Open(name string) (disk.File, error) { return o.open(name, o.Process.Open) }

func (o *openFolder) open(name string, open func(string) (disk.File, error)) (disk.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	o.latest[name] = openFile{f, o}
	return o.latest[name], nil
}

// Stat implements [disk.Folder].
func (o *openFolder) Stat(name string) (disk.Info, error) {
	if own := o.latest[name]; own != nil && o.looksAway() {
		return own.Stat()
	}
	return o.shown(o.Process.Stat(name))
}

func (o *openFolder) shown(info disk.Info, err error) (disk.Info, error) {
	if o.bug == acceptsCopies {
		info.Stamp = disk.Stamp{Inode: 1, Changed: time.Unix(0, 1).UTC()}
	}
	return info, err
}

// Sync implements [disk.Folder].
func (o *openFolder) Sync(path string) error {
	if o.bug == forgetsFolder && o.doing == discarding {
		return nil
	}
	return o.Process.Sync(path)
}

// openFile is an open file.
type openFile struct {
	disk.File
	folder *openFolder
}

// Stat implements [disk.File].
func (f openFile) Stat() (disk.Info, error) { return f.folder.shown(f.File.Stat()) }

// TryLock implements [disk.File].
func (f openFile) TryLock() (bool, error) { return true, nil }

// Sync implements [disk.File].
func (f openFile) Sync() error {
	err := f.File.Sync()
	if f.folder.bug == syncsAgain && errors.Is(err, errDisk) {
		return nil
	}
	return err
}
