package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Accepts is a Program's Ready: nil once the first port accepts a connection.
func Accepts(ctx context.Context, s *Server) error {
	connection, err := dial(ctx, s.Addr())
	if err != nil {
		return err
	}
	return connection.Close()
}

// Ports of servers lie below those that a system gives to connections, and to
// listeners that ask for any: 32768 and up on Linux, higher ones elsewhere. So
// none of these takes one before its server does, or while that is down. Nor one
// 10,000 above, which Redis uses for its cluster.
const (
	firstPort = 12000
	manyPorts = 10000
)

// drawn counts the ports that this process has drawn.
var drawn atomic.Int64 //nolint:gochecknoglobals // servers of all tests of a process need different ports

// FreePort returns a port of 127.0.0.1 that was free a moment ago, another one each
// time. Processes begin at different ones.
func FreePort(t testing.TB) int {
	t.Helper()
	for range manyPorts {
		port := firstPort + (os.Getpid()*257+int(drawn.Add(1)))%manyPorts
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // somebody has it
		}
		_ = listener.Close()
		return port
	}
	t.Fatalf("no port from %d to %d is free", firstPort, firstPort+manyPorts-1)
	return 0
}

// dial connects to an address. The connection has the context's deadline, if
// there is one.
func dial(ctx context.Context, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, connection.Close())
		}
	}
	return connection, nil
}
