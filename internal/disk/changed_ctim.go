//go:build linux || dragonfly || openbsd

package disk

import "syscall"

// changed is the file system's own time of a file's last change.
func changed(stat *syscall.Stat_t) syscall.Timespec { return stat.Ctim }
