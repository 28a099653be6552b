package idsort

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// full is a disk that has room for so much.
type full struct {
	folder
	mu   sync.Mutex
	room int
	tell bool // whether it says so
	open int  // files
}

type fullFile struct {
	scratch
	disk *full
}

func (d *full) create() (scratch, error) {
	f, err := d.folder.create()
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open++
	}
	return &fullFile{f, d}, err
}

func (f *fullFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.open--
	return f.scratch.Close()
}

func (d *full) free() (uint64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return uint64(d.room), d.tell
}

func (f *fullFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.room < len(p) {
		return 0, &os.PathError{Op: "write", Path: "scratch", Err: syscall.ENOSPC}
	}
	f.disk.room -= len(p)
	return f.scratch.WriteAt(p, at)
}

func TestFullDiskIsSaidWithWhatIsNeeded(t *testing.T) {
	ids := fill(50_000, func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 })
	for _, x := range []struct {
		name string
		size int64
		tell bool
		want string
	}{
		{"before", 50_000, true, "has too little room: about"},
		{"when it is full", 50_000, false, "has too little room: about"},
		{"when nobody knows how much will come", 0, false, "has no room:"},
	} {
		dir := t.TempDir()
		in := inputs(numbered("a", ids))
		in[0].Size = x.size
		disk := &full{folder: folder{dir}, room: 100_000, tell: x.tell}
		_, err := Sort(t.Context(), in, Config{Temp: dir, Sizes: tiny, disk: disk})
		var fault *FullError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "--temp") {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if x.tell && fault.Written > 1<<16 {
			t.Errorf("%s: only after %d bytes", x.name, fault.Written)
		}
		if x.size > 0 && (fault.Needed < 300_000 || fault.Needed > 1_500_000) {
			t.Errorf("%s: %d bytes are said to be needed", x.name, fault.Needed)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left behind: %v", x.name, left)
		}
	}
}

// TestDiskThatGetsFullAtAnyTimeLeavesNoFileOpen has one that is full while ids are
// read, and one that is full while runs are merged to fewer.
func TestDiskThatGetsFullAtAnyTimeLeavesNoFileOpen(t *testing.T) {
	ids := fill(20_000, func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 })
	failed := 0
	for room := 20_000; ; room += 60_000 {
		disk := &full{folder: folder{t.TempDir()}, room: room}
		s, err := Sort(t.Context(), inputs(numbered("a", ids)), Config{Sizes: tiny, disk: disk})
		if err == nil {
			err = s.Close()
		}
		if disk.open != 0 {
			t.Errorf("room for %d bytes: %d files are open (%v)", room, disk.open, err)
		}
		if err == nil {
			break
		}
		failed++
	}
	if failed < 10 {
		t.Errorf("the disk was full %d times only", failed)
	}
}
