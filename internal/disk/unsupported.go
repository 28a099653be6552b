//go:build !(linux || darwin || freebsd || dragonfly || openbsd)

package disk

import (
	"errors"
	"io/fs"
)

func stampOf(fs.FileInfo) (Stamp, error) { return Stamp{}, errors.ErrUnsupported }
