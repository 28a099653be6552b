//go:build darwin || freebsd || dragonfly || openbsd

package disk

import (
	"os"
	"syscall"
)

// mntLocal is MNT_LOCAL of these systems' sys/mount.h: the file system is stored on
// this machine.
const mntLocal = 0x1000

// systemOf returns the file system of what is at a path.
func systemOf(path string) (System, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return System{}, os.NewSyscallError("statfs", err)
	}
	return classify(typeAndFlags(&s)), nil
}

// classify tells a file system by its type's name, which ends at the first zero byte,
// and the flags of its mount.
func classify(typeName []int8, flags uint64) System {
	var name []byte
	for _, b := range typeName {
		if b == 0 {
			break
		}
		name = append(name, byte(b))
	}
	s := System{Name: string(name), Network: flags&mntLocal == 0}
	if s.Name == "tmpfs" || s.Name == "mfs" {
		s.Forgets = "at a reboot"
	}
	return s
}
