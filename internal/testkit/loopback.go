package testkit

import (
	"context"
	"errors"
	"net"
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

// FreePort returns a port of 127.0.0.1 that was free a moment ago.
func FreePort(t testing.TB) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
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
