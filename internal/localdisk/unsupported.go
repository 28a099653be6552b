//go:build !(linux || darwin || freebsd || dragonfly || openbsd)

package localdisk

import (
	"errors"
	"os"
)

// Without flock, or without a way to tell a network file system, nothing can rely
// on a folder.

func systemOf(string) (System, error) { return System{}, errors.ErrUnsupported }

// TryLock returns errors.ErrUnsupported here.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// Unlock returns errors.ErrUnsupported here.
func Unlock(*os.File) error { return errors.ErrUnsupported }
