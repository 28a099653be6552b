package journal

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
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

// earlierDisk is a disk with the files of an earlier version, under their stamps.
type earlierDisk struct {
	*process
	stamps map[*node]Stamp
}

func (d earlierDisk) Stamp(name string) (Stamp, error) {
	if stamp, ok := d.stamps[d.machine.names[name]]; ok {
		return stamp, nil
	}
	return d.process.Stamp(name)
}

// Open opens the journal on the machine that it was kept on.
func (e Earlier) Open(t *testing.T) *Journal {
	t.Helper()
	disk := earlierDisk{&process{machine: newMachine()}, map[*node]Stamp{}}
	var here Place
	for _, f := range e.Files {
		n := &node{inode: f.Inode, content: f.Base64}
		disk.machine.names[f.Name] = n
		disk.stamps[n] = Stamp{Device: f.Device, Inode: f.Inode, Changed: f.Changed}
		if f.Name == lockName {
			continue
		}
		kept, err := decode(f.Base64)
		if err != nil {
			t.Fatal(err)
		}
		here = kept.Place
		if again, err := kept.encode(); err != nil || string(again) != string(f.Base64) {
			t.Errorf("%s is written as %q (%v), want %q", f.Name, again, err, f.Base64)
		}
	}
	j, err := OpenOn(disk, "/earlier", here, false)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
