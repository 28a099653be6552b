//go:build unix

package listen

import (
	"net"
	"syscall"
)

// rawOf returns the connection for writes that do not wait, or nil.
func rawOf(c net.Conn) syscall.RawConn {
	of, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// writeNow writes the bytes that the kernel takes at once.
func writeNow(fd uintptr, text []byte) (n int, err error) {
	for n < len(text) {
		some, err := syscall.Write(int(fd), text[n:])
		switch err {
		case nil:
			n += some
		case syscall.EINTR:
		case syscall.EAGAIN:
			return n, nil
		default:
			return n, err
		}
	}
	return n, nil
}

// descriptors returns how many files the process may have open. The runtime has raised that as far as it may.
func descriptors() (uint64, bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil //nolint:unconvert // it is signed on some systems
}
