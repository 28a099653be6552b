package localdisk

import (
	"fmt"
	"os"
	"syscall"
)

// fuse is the number of every FUSE file system, local or not.
const fuse = 0x65735546

// networkSystem returns the name of a file system whose files other machines
// can change, by the number that statfs(2) and the kernel's linux/magic.h give
// it, and for those outside the kernel the one that coreutils' stat knows. It
// returns "" for any other.
func networkSystem(number uint32) string {
	return map[uint32]string{
		0x00006969: "NFS",
		0x0000517b: "SMB",
		0x0000564c: "NCP",
		0x00c36400: "Ceph",
		0x01021997: "9p",
		0x01161970: "GFS2",
		0x013111a8: "IBRIX",
		0x0bd00bd0: "Lustre",
		0x19830326: "BeeGFS",
		0x20030528: "OrangeFS",
		0x47504653: "GPFS",
		0x5346414f: "AFS",
		0x61636673: "ACFS",
		0x6b414653: "kAFS",
		0x73757245: "Coda",
		0x7461636f: "OCFS2",
		0x786f4256: "VirtualBox shared folder",
		0x7c7c6673: "Parallels shared folder",
		0xa501fcf5: "VxFS",
		0xaad7aaea: "PanFS",
		0xbacbacbc: "VMware shared folder",
		0xbeefdead: "StorNext",
		0xfe534d42: "SMB2",
		0xff534d42: "CIFS",
	}[number]
}

// fleetingSystem returns a file system that forgets everything, and an empty one for
// the number of any other.
func fleetingSystem(number uint32) System {
	return map[uint32]System{
		0x01021994: {Name: "tmpfs", Forgets: "at a reboot"},
		0x858458f6: {Name: "ramfs", Forgets: "at a reboot"},
		0x794c7630: {Name: "overlayfs", Forgets: "with its container"},
		0x61756673: {Name: "aufs", Forgets: "with its container"},
	}[number]
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

// device returns a device number as the table of mounts spells it. The bits
// are those of gnu_dev_major and gnu_dev_minor in the C library.
func device(d uint64) string {
	major := d>>8&0xfff | d>>32&0xfffff000
	minor := d&0xff | d>>12&0xffffff00
	return fmt.Sprintf("%d:%d", major, minor)
}

// classify tells a kind of file system by its number and, for FUSE, its type
// in the table of mounts. Of FUSE only fuseblk is local for certain: a local
// block device with a file system in user space. Behind any other one a
// program decides what a lock, a rename and an fsync mean.
func classify(number uint32, mounted string) System {
	if number == fuse {
		if mounted == "" {
			mounted = "FUSE"
		}
		return System{Name: mounted, Network: mounted != "fuseblk"}
	}
	if name := networkSystem(number); name != "" {
		return System{Name: name, Network: true}
	}
	if s := fleetingSystem(number); s.Name != "" {
		return s
	}
	return System{Name: fmt.Sprintf("file system %#x", number)}
}
