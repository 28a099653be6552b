//go:build !unix

package listen

import (
	"net"
	"syscall"
)

// rawOf returns nil: all writes go the long way.
func rawOf(net.Conn) syscall.RawConn { return nil }

// writeNow is unused here.
func writeNow(uintptr, []byte) (int, error) { return 0, nil }

// descriptors reports that the limit is unknown.
func descriptors() (uint64, bool) { return 0, false }
