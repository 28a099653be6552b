package disk

import (
	"fmt"
	"os"
	"syscall"
)

// fuse is the number of every FUSE file system, local or not.
const fuse = 0x65735546

// kinds are the file systems whose files other machines can change, and the ones that forget
// everything, by the number that statfs(2) and the kernel's linux/magic.h give them. File systems
// outside the kernel have coreutils' number.
func kinds() map[uint32]System {
	return map[uint32]System{
		0x00006969: {Name: "NFS", Network: true},
		0x0000517b: {Name: "SMB", Network: true},
		0x0000564c: {Name: "NCP", Network: true},
		0x00c36400: {Name: "Ceph", Network: true},
		0x01021997: {Name: "9p", Network: true},
		0x01161970: {Name: "GFS2", Network: true},
		0x013111a8: {Name: "IBRIX", Network: true},
		0x0bd00bd0: {Name: "Lustre", Network: true},
		0x19830326: {Name: "BeeGFS", Network: true},
		0x20030528: {Name: "OrangeFS", Network: true},
		0x47504653: {Name: "GPFS", Network: true},
		0x5346414f: {Name: "AFS", Network: true},
		0x61636673: {Name: "ACFS", Network: true},
		0x6b414653: {Name: "kAFS", Network: true},
		0x73757245: {Name: "Coda", Network: true},
		0x7461636f: {Name: "OCFS2", Network: true},
		0x786f4256: {Name: "VirtualBox shared folder", Network: true},
		0x7c7c6673: {Name: "Parallels shared folder", Network: true},
		0xa501fcf5: {Name: "VxFS", Network: true},
		0xaad7aaea: {Name: "PanFS", Network: true},
		0xbacbacbc: {Name: "VMware shared folder", Network: true},
		0xbeefdead: {Name: "StorNext", Network: true},
		0xfe534d42: {Name: "SMB2", Network: true},
		0xff534d42: {Name: "CIFS", Network: true},

		0x01021994: {Name: "tmpfs", Forgets: "at a reboot"},
		0x858458f6: {Name: "ramfs", Forgets: "at a reboot"},
		0x794c7630: {Name: "overlayfs", Forgets: "with its container"},
		0x61756673: {Name: "aufs", Forgets: "with its container"},
	}
}

// systemOf returns the file system of what is at a path.
func systemOf(path string) (System, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return System{}, os.NewSyscallError("statfs", err)
	}
	// The number is a signed one of 32 or 64 bits, as the machine has it; its
	// low 32 bits tell.
	number := uint32(s.Type)
	if number != fuse {
		return classify(number, ""), nil
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		return System{}, os.NewSyscallError("stat", err)
	}
	// Without the table of mounts it stays an unknown kind of FUSE.
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		mounts = nil
	}
	return classify(number, mountType(mounts, device(uint64(stat.Dev)))), nil //nolint:unconvert // it has 32 bits on some machines
}

// device returns a device number as the table of mounts spells it. The bits follow gnu_dev_major and
// gnu_dev_minor in the C library.
func device(d uint64) string {
	major := d>>8&0xfff | d>>32&0xfffff000
	minor := d&0xff | d>>12&0xffffff00
	return fmt.Sprintf("%d:%d", major, minor)
}

// classify tells a kind of file system by its number and, for FUSE, its type
// in the table of mounts. Of FUSE only fuseblk is local for certain: a local
// block device with a file system in user space. Behind any other one a program decides the meaning of
// a lock, a rename and an fsync.
func classify(number uint32, mounted string) System {
	if number == fuse {
		if mounted == "" {
			mounted = "FUSE"
		}
		return System{Name: mounted, Network: mounted != "fuseblk"}
	}
	if s, ok := kinds()[number]; ok {
		return s
	}
	return System{Name: fmt.Sprintf("file system %#x", number)}
}
