package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// freeAt returns how many bytes the user can still write to the file system of a folder.
func freeAt(path string) uint64 {
	var s syscall.Statfs_t
	_ = syscall.Statfs(path, &s) // 0 means that it is not known
	return s.Bavail * uint64(s.Bsize)
}

// unsynced reports whether the kernel says that no program keeps its clock right.
func unsynced() bool {
	const timeError = 5 // of adjtimex(2)
	state, err := syscall.Adjtimex(new(syscall.Timex))
	return err == nil && state == timeError
}

// contained returns the least limit of memory of the process's control groups of version 2, or 0.
func contained() (least int64) {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	_, path, _ := strings.Cut("\n"+string(groups), "\n0::")
	for path = "/" + strings.TrimSpace(path); ; path = filepath.Dir(path) {
		content, _ := os.ReadFile(filepath.Join("/sys/fs/cgroup", path, "memory.max")) //nolint:gosec // the kernel names the path
		if n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil && (least == 0 || n < least) {
			least = n
		}
		if path == filepath.Dir(path) {
			return least
		}
	}
}
