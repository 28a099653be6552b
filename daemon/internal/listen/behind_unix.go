//go:build unix

package listen

import (
	"errors"
	"syscall"
)

// writeNow writes what the kernel takes at once.
func writeNow(fd uintptr, text []byte) (n int, err error) {
	for n < len(text) {
		some, err := syscall.Write(int(fd), text[n:])
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return n, nil
		case err != nil:
			return n, err
		default:
			n += some
		}
	}
	return n, nil
}
