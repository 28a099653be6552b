package doctor

import "syscall"

// freeAt returns how many bytes the user can still write to the file system of a folder.
func freeAt(path string) uint64 {
	var s syscall.Statfs_t
	_ = syscall.Statfs(path, &s) // 0 means that it is not known
	return s.Bavail * uint64(s.Bsize)
}

// unsynced reports whether the kernel finds that no program keeps its clock right.
func unsynced() bool {
	const timeError = 5 // of adjtimex(2)
	state, err := syscall.Adjtimex(new(syscall.Timex))
	return err == nil && state == timeError
}
