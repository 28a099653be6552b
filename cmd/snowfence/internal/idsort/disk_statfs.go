//go:build linux || darwin

package idsort

import "syscall"

// free implements disk.
func (d folder) free() (uint64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
