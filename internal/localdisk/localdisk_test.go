package localdisk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestMissingPathIsOnTheFileSystemOfTheNearestFolderAbove(t *testing.T) {
	dir := t.TempDir()
	above, err := At(dir)
	if err != nil || above.Name == "" {
		t.Fatalf("%+v, %v", above, err)
	}
	if below, err := At(filepath.Join(dir, "nowhere", "at", "all")); err != nil || below != above {
		t.Errorf("%+v, %v, want %+v", below, err, above)
	}
}

func TestLockIsOfOneOpeningAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var openings [2]*os.File
	for i := range openings {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		openings[i] = f
	}
	try := func(i int, want bool) {
		t.Helper()
		if locked, err := TryLock(openings[i]); locked != want || err != nil {
			t.Errorf("opening %d: locked %t, %v", i, locked, err)
		}
	}
	try(0, true)
	try(1, false)
	if err := Unlock(openings[0]); err != nil {
		t.Fatal(err)
	}
	try(1, true)
	if err := openings[1].Close(); err != nil {
		t.Fatal(err)
	}
	try(0, true)
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
