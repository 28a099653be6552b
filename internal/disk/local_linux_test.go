package disk

import "testing"

func TestNetworkFileSystemsAreTold(t *testing.T) {
	tests := map[uint32]System{
		0x6969:     {Name: "NFS", Network: true},
		0xff534d42: {Name: "CIFS", Network: true},
		0xfe534d42: {Name: "SMB2", Network: true},
		0x01021997: {Name: "9p", Network: true},
		0x65735546: {Name: "FUSE", Network: true},
		0x0bd00bd0: {Name: "unknown file system 0xbd00bd0", Network: true}, // Lustre
		0x01021994: {Name: "tmpfs", Forgets: "at a reboot"},
		0x794c7630: {Name: "overlayfs", Forgets: "with its container"},
		0xef53:     {Name: "ext"},
		0x58465342: {Name: "XFS"},
	}
	for number, want := range tests {
		if got := classify(number); got != want {
			t.Errorf("%#x: %+v, want %+v", number, got, want)
		}
		if refusal := want.Refusal(); (refusal != "") != want.Network {
			t.Errorf("%s: refused: %q", want.Name, refusal)
		}
		if warning := want.Warning(); (warning != "") != (want.Forgets != "") {
			t.Errorf("%s: warned of: %q", want.Name, warning)
		}
	}
}
