package disk

import "syscall"

func typeAndFlags(s *syscall.Statfs_t) ([]int8, uint64) { return s.F_fstypename[:], uint64(s.F_flags) }
