package journal

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/disk"
)

// Earlier is the folder of a journal that an earlier version of this program left
// when it crashed. See testdata.
type Earlier struct {
	Clock  time.Time // at the crash
	LastID string    `json:"last_id"`
	Worker int64
	Term   int64
	Used   snowfence.Tick
	Until  snowfence.Tick
	Page   string
	Files  []struct {
		Name    string
		Device  uint64
		Inode   uint64
		Changed time.Time
		Base64  []byte
	}
}

// Open opens the journal on the machine that it was kept on.
func (e Earlier) Open(t *testing.T) *Journal {
	t.Helper()
	m, stamps := newMachine(), map[disk.Stamp]disk.Stamp{} // the model's, and the earlier files'
	p := m.disk.Process()
	var here Place
	for _, f := range e.Files {
		made, err := p.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		wrong := errors.Join(made.Write(f.Base64), made.Sync())
		info, err := made.Stat()
		if err := errors.Join(wrong, err, made.Close()); err != nil {
			t.Fatal(err)
		}
		if f.Name == lockName {
			continue
		}
		stamps[info.Stamp] = disk.Stamp{Device: f.Device, Inode: f.Inode, Changed: f.Changed}
		kept, err := decode(f.Base64)
		if err != nil {
			t.Fatal(err)
		}
		here = kept.Place
		if again, err := kept.encode(); err != nil || string(again) != string(f.Base64) {
			t.Errorf("%s is written as %q (%v), want %q", f.Name, again, err, f.Base64)
		}
	}
	shown := func(s disk.Stamp) disk.Stamp { return cmp.Or(stamps[s], s) }
	j, err := OpenOn(lying{p, lies{stamp: shown}, new(int)}, "/earlier", here)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
