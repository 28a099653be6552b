//go:build darwin || freebsd || dragonfly

package filestore

import (
	"os"
	"syscall"
)

// mntLocal is MNT_LOCAL of these systems' sys/mount.h: the file system is
// stored on this machine.
const mntLocal = 0x1000

// fileSystemAt tells what kind of file system the folder at path is on.
func fileSystemAt(path string) (fileSystem, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return fileSystem{}, os.NewSyscallError("statfs", err)
	}
	name := typeName(s.Fstypename[:])
	return fileSystem{
		name:    name,
		network: s.Flags&mntLocal == 0,
		memory:  name == "tmpfs" || name == "mfs",
	}, nil
}
