package disk

import (
	"fmt"
	"os"
	"syscall"
)

// kinds are the file systems that are known to be local, and some that are refused by name, by the
// number that statfs(2) and the kernel's linux/magic.h give them. ZFS has coreutils' number. FUSE is
// also virtiofs.
func kinds() map[uint32]System {
	return map[uint32]System{
		0x0000ef53: {Name: "ext"},
		0x2fc12fc1: {Name: "ZFS"},
		0x58465342: {Name: "XFS"},
		0x9123683e: {Name: "btrfs"},
		0xca451a4e: {Name: "bcachefs"},
		0xf2f52010: {Name: "F2FS"},

		0x01021994: {Name: "tmpfs", Forgets: "at a reboot"},
		0x858458f6: {Name: "ramfs", Forgets: "at a reboot"},
		0x794c7630: {Name: "overlayfs", Forgets: "with its container"},
		0x61756673: {Name: "aufs", Forgets: "with its container"},

		0x00006969: {Name: "NFS", Network: true},
		0x0000517b: {Name: "SMB", Network: true},
		0x01021997: {Name: "9p", Network: true},
		0x65735546: {Name: "FUSE", Network: true},
		0xfe534d42: {Name: "SMB2", Network: true},
		0xff534d42: {Name: "CIFS", Network: true},
	}
}

// systemOf returns the file system of what is at a path.
func systemOf(path string) (System, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return System{}, os.NewSyscallError("statfs", err)
	}
	// The number is a signed one of 32 or 64 bits, as the machine has it; its
	// low 32 bits are enough.
	return classify(uint32(s.Type)), nil
}

// classify returns the kind of file system that has this number.
func classify(number uint32) System {
	if s, ok := kinds()[number]; ok {
		return s
	}
	return System{Name: fmt.Sprintf("unknown file system %#x", number), Network: true}
}

// changed is the file system's own time of a file's last change.
func changed(stat *syscall.Stat_t) syscall.Timespec { return stat.Ctim }
