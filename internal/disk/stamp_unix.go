//go:build linux || darwin || freebsd || dragonfly || openbsd

package disk

import (
	"errors"
	"io/fs"
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
