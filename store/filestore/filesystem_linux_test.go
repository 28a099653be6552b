package filestore

import (
	"errors"
	"os"
	"testing"
)

func TestNetworkFileSystemsAreTold(t *testing.T) {
	tests := []struct {
		number  uint32
		mounted string
		want    fileSystem
	}{
		{0x6969, "", fileSystem{name: "NFS", network: true}},
		{0xff534d42, "", fileSystem{name: "CIFS", network: true}},
		{0xfe534d42, "", fileSystem{name: "SMB2", network: true}},
		{0x01021997, "", fileSystem{name: "9p", network: true}},
		{0x0bd00bd0, "", fileSystem{name: "Lustre", network: true}},
		{0x47504653, "", fileSystem{name: "GPFS", network: true}},
		{0x00c36400, "", fileSystem{name: "Ceph", network: true}},
		{fuse, "fuse.sshfs", fileSystem{name: "fuse.sshfs", network: true}},
		{fuse, "fuse.glusterfs", fileSystem{name: "fuse.glusterfs", network: true}},
		{fuse, "virtiofs", fileSystem{name: "virtiofs", network: true}},
		{fuse, "", fileSystem{name: "FUSE", network: true}},
		{fuse, "fuseblk", fileSystem{name: "fuseblk"}},
		{0x01021994, "", fileSystem{name: "tmpfs", memory: true}},
		{0xef53, "", fileSystem{name: "file system 0xef53"}},         // ext4
		{0x58465342, "", fileSystem{name: "file system 0x58465342"}}, // XFS
	}
	for _, test := range tests {
		if got := classify(test.number, test.mounted); got != test.want {
			t.Errorf("%#x %s: %+v, want %+v", test.number, test.mounted, got, test.want)
		}
		if err := test.want.check("/data"); errors.Is(err, ErrNetwork) != test.want.network {
			t.Errorf("%s: %v", test.want.name, err)
		}
	}
}

func TestDeviceNumbersAreSpeltAsTheTableOfMountsDoes(t *testing.T) {
	// Values of makedev(3).
	for number, want := range map[uint64]string{0x801: "8:1", 0x37: "0:55", 0x10300305: "3:66309"} {
		if got := device(number); got != want {
			t.Errorf("%#x: %s, want %s", number, got, want)
		}
	}
}

func TestFileSystemOfAMissingPathIsAnError(t *testing.T) {
	if _, err := fileSystemAt("/nowhere/at/all"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if system, err := fileSystemAt(t.TempDir()); err != nil || system.name == "" {
		t.Errorf("%+v, %v", system, err)
	}
}
