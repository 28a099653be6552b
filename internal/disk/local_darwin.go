package disk

import (
	"os"
	"syscall"
)

// mntLocal is MNT_LOCAL of sys/mount.h: the file system is stored on this machine.
const mntLocal = 0x1000

// systemOf returns the file system of what is at a path.
func systemOf(path string) (System, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return System{}, os.NewSyscallError("statfs", err)
	}
	// The name of its type ends at the first zero byte.
	var name []byte
	for _, b := range s.Fstypename {
		if b == 0 {
			break
		}
		name = append(name, byte(b))
	}
	found := System{Name: string(name), Network: s.Flags&mntLocal == 0}
	if found.Name == "tmpfs" {
		found.Forgets = "at a reboot"
	}
	return found, nil
}

// changed is the file system's own time of a file's last change.
func changed(stat *syscall.Stat_t) syscall.Timespec { return stat.Ctimespec }
