package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/disk/modeldisk"
)

var errDisk = errors.New("the disk failed")

// volume is a disk with the folder of a journal, and the machine that it is in.
type volume struct {
	*modeldisk.Disk
	machine string
	boot    int // counts the starts of the machine
}

func newVolume(rng *rand.Rand, machine string) *volume {
	return &volume{Disk: modeldisk.New(rng.IntN), machine: machine}
}

// losePower leaves of what was not synced whatever chance wants, or nothing. It reports
// whether anything is lost.
func (d *volume) losePower(rng *rand.Rand) (lost bool) {
	d.boot++
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

// put makes a durable file in place of the one that may be there.
func (d *volume) put(name string, content []byte) error {
	p := d.Process()
	_ = p.Remove(name) // it may be gone
	f, err := p.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Write(content), f.Sync(), f.Close(), p.Sync("."))
}

// hand is the folder as one process has it, with what goes wrong there. Its lock keeps
// nobody out: on a machine of its own a process is alone, and where two share a folder
// the lock is of no use.
type hand struct {
	*modeldisk.Process
	rng    *rand.Rand
	bug    diskBug
	latest map[string]disk.File // what it opened last under a name

	dies      int  // the process does, at that step from now; 0 for never
	fails     int  // that step from now does; 0 for none
	failsSync bool // the next fsync of a file does
	worn      bool // so does one change in three
	doing     diskCall
}

// diskCall is what a journal is doing on its disk.
type diskCall string

const (
	keeping    diskCall = "keep"
	discarding diskCall = "remove"
)

// hand returns the folder to a process that starts.
func (d *volume) hand(rng *rand.Rand, bug diskBug) *hand {
	h := &hand{Process: d.Process(), rng: rng, bug: bug, latest: make(map[string]disk.File)}
	h.Before = h.before
	return h
}

// before is the beginning of each step.
func (h *hand) before(step string) (f modeldisk.Fault) {
	if h.dies--; h.dies == 0 {
		return modeldisk.Fault{Kill: true}
	}
	syncs, changes := step == "sync file" || step == "sync folder", true
	switch step {
	case "open", "read", "stat", "stat file", "lock":
		changes = false
	}
	if h.fails--; h.fails == 0 || changes && h.worn && chance(h.rng, 30) {
		f.Err = errDisk
	}
	if f.Err == nil && h.failsSync && step == "sync file" {
		f.Err, h.failsSync = errDisk, false
	}
	f.Done = f.Err != nil && syncs && chance(h.rng, 50) // an fsync that fails may do all that it should
	return f
}

// looksAway is a mutant's: it does not see who else was there.
func (h *hand) looksAway() bool { return h.bug == looksAway && h.doing == keeping }

// Create implements [disk.Folder].
func (h *hand) Create(name string) (disk.File, error) { return h.open(name, h.Process.Create) }

// Open implements [disk.Folder].
func (h *hand) Open(name string) (disk.File, error) { return h.open(name, h.Process.Open) }

func (h *hand) open(name string, open func(string) (disk.File, error)) (disk.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	h.latest[name] = sheet{f, h}
	return h.latest[name], nil
}

// Stat implements [disk.Folder].
func (h *hand) Stat(name string) (disk.Info, error) {
	if own := h.latest[name]; own != nil && h.looksAway() {
		return own.Stat()
	}
	return h.shown(h.Process.Stat(name))
}

func (h *hand) shown(info disk.Info, err error) (disk.Info, error) {
	if h.bug == acceptsCopies {
		info.Stamp = disk.Stamp{Inode: 1, Changed: time.Unix(0, 1).UTC()}
	}
	return info, err
}

// Sync implements [disk.Folder].
func (h *hand) Sync(path string) error {
	if h.bug == forgetsFolder && h.doing == discarding {
		return nil
	}
	return h.Process.Sync(path)
}

// sheet is an open file.
type sheet struct {
	disk.File
	hand *hand
}

// Stat implements [disk.File].
func (s sheet) Stat() (disk.Info, error) { return s.hand.shown(s.File.Stat()) }

// TryLock implements [disk.File].
func (s sheet) TryLock() (bool, error) { return true, nil }

// Sync implements [disk.File].
func (s sheet) Sync() error {
	err := s.File.Sync()
	if s.hand.bug == syncsAgain && errors.Is(err, errDisk) {
		return nil
	}
	return err
}
