package disk

import "testing"

func TestNetworkFileSystemsAreTold(t *testing.T) {
	tests := []struct {
		number  uint32
		mounted string
		want    System
	}{
		{0x6969, "", System{Name: "NFS", Network: true}},
		{0xff534d42, "", System{Name: "CIFS", Network: true}},
		{0xfe534d42, "", System{Name: "SMB2", Network: true}},
		{0x01021997, "", System{Name: "9p", Network: true}},
		{0x0bd00bd0, "", System{Name: "Lustre", Network: true}},
		{0x47504653, "", System{Name: "GPFS", Network: true}},
		{0x00c36400, "", System{Name: "Ceph", Network: true}},
		{fuse, "fuse.sshfs", System{Name: "fuse.sshfs", Network: true}},
		{fuse, "fuse.glusterfs", System{Name: "fuse.glusterfs", Network: true}},
		{fuse, "virtiofs", System{Name: "virtiofs", Network: true}},
		{fuse, "", System{Name: "FUSE", Network: true}},
		{fuse, "fuseblk", System{Name: "fuseblk"}},
		{0x01021994, "", System{Name: "tmpfs", Forgets: "at a reboot"}},
		{0x794c7630, "", System{Name: "overlayfs", Forgets: "with its container"}},
		{0xef53, "", System{Name: "file system 0xef53"}},         // ext4
		{0x58465342, "", System{Name: "file system 0x58465342"}}, // XFS
	}
	for _, test := range tests {
		if got := classify(test.number, test.mounted); got != test.want {
			t.Errorf("%#x %s: %+v, want %+v", test.number, test.mounted, got, test.want)
		}
		if refusal := test.want.Refusal(); (refusal != "") != test.want.Network {
			t.Errorf("%s: refused: %q", test.want.Name, refusal)
		}
		if warning := test.want.Warning(); (warning != "") != (test.want.Forgets != "") {
			t.Errorf("%s: warned of: %q", test.want.Name, warning)
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
