//go:build linux || darwin

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

func stampOf(info fs.FileInfo) (Stamp, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, errors.ErrUnsupported
	}
	at := changed(stat)
	return Stamp{
		Device:  uint64(stat.Dev), //nolint:unconvert // it has 32 bits on some machines
		Inode:   stat.Ino,
		Changed: time.Unix(at.Unix()).UTC(),
	}, nil
}

// tryLock takes the whole-file lock of f's opening if it is free. It is the kernel's: it
// goes with the last descriptor of that opening, and package os opens files so that no
// child inherits one. So it needs no age, and nobody ever breaks it.
func tryLock(f *os.File) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	failure := error(syscall.EINTR)
	err = raw.Control(func(fd uintptr) {
		for errors.Is(failure, syscall.EINTR) {
			failure = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
		}
	})
	if err != nil || errors.Is(failure, syscall.EWOULDBLOCK) {
		return false, err
	}
	return failure == nil, os.NewSyscallError("flock", failure)
}
