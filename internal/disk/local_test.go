package disk

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

func TestMissingPathIsOnTheFileSystemOfTheNearestFolderAbove(t *testing.T) {
	dir := t.TempDir()
	above, err := SystemAt(dir)
	if err != nil || above.Name == "" {
		t.Fatalf("%+v, %v", above, err)
	}
	if below, err := SystemAt(filepath.Join(dir, "nowhere", "at", "all")); err != nil || below != above {
		t.Errorf("%+v, %v, want %+v", below, err, above)
	}
}

func TestLockIsOfOneOpeningAtATime(t *testing.T) {
	d, err := Open(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.Create("lock")
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Open("lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(second.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	try := func(f File, want bool) {
		t.Helper()
		if locked, err := f.TryLock(); locked != want || err != nil {
			t.Errorf("locked %t, %v", locked, err)
		}
	}
	try(first, true)
	try(second, false)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	try(second, true)
}

func FuzzMountType(f *testing.F) {
	f.Add([]byte("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n"), "98:0")
	f.Add([]byte(" - "), "")
	f.Fuzz(func(t *testing.T, mounts []byte, device string) {
		if name := mountType(mounts, device); name != "" && !bytes.Contains(mounts, []byte(name)) {
			t.Errorf("%q is not in the table", name)
		}
	})
}

func TestMountTypeIsFoundByDevice(t *testing.T) {
	table := []byte(`22 27 0:21 / /proc rw,nosuid - proc proc rw
36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue
41 27 0:55 / /home/a/re\040mote rw - fuse.sshfs host:/ rw
42 27 8:1 / /usb rw - fuseblk /dev/sda1 rw
`)
	tests := map[string]string{"98:0": "ext3", "0:55": "fuse.sshfs", "8:1": "fuseblk", "0:5": "", "": ""}
	for device, want := range tests {
		if got := mountType(table, device); got != want {
			t.Errorf("device %s: %q, want %q", device, got, want)
		}
	}
}
