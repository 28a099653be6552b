package localdisk

import (
	"os"
	"syscall"
)

// mntLocal is MNT_LOCAL of sys/mount.h: the file system is stored on this
// machine.
const mntLocal = 0x1000

// systemOf returns the file system of what is at a path.
func systemOf(path string) (System, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return System{}, os.NewSyscallError("statfs", err)
	}
	name := typeName(s.F_fstypename[:])
	return System{
		Name:    name,
		Network: s.F_flags&mntLocal == 0,
		Forgets: memory(name),
	}, nil
}
