//go:build darwin || freebsd || dragonfly

package localdisk

import (
	"os"
	"syscall"
)

// systemOf returns the file system of what is at a path.
func systemOf(path string) (System, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return System{}, os.NewSyscallError("statfs", err)
	}
	return classify(s.Fstypename[:], uint64(s.Flags)), nil
}
