//go:build darwin || freebsd || dragonfly

package disk

import "syscall"

func typeAndFlags(s *syscall.Statfs_t) ([]int8, uint64) { return s.Fstypename[:], uint64(s.Flags) }
