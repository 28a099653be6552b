//go:build linux || darwin || freebsd || dragonfly || openbsd

package localdisk

import (
	"errors"
	"os"
	"syscall"
)

// TryLock takes the whole-file lock of f's opening if it is free. It is the
// kernel's: it goes with the last descriptor of that opening, and package os
// opens files so that no child inherits one. So it needs no age, and nobody ever
// breaks it.
func TryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Unlock frees the lock of f's opening.
func Unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) {
		for {
			failure = syscall.Flock(int(fd), how)
			if failure != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("flock", failure)
}
