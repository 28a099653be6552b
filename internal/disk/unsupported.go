//go:build !(linux || darwin)

package disk

import (
	"errors"
	"io/fs"
	"os"
)

// Without flock, or without a way to know a network file system, nothing can rely
// on a folder.

func systemOf(string) (System, error)    { return System{}, errors.ErrUnsupported }
func stampOf(fs.FileInfo) (Stamp, error) { return Stamp{}, errors.ErrUnsupported }
func tryLock(*os.File) (bool, error)     { return false, errors.ErrUnsupported }
