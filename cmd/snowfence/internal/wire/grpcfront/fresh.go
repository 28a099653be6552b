package grpcfront

import (
	"net"
	"time"
)

// fresh is a listener that closes connections on which HTTP/2 has not begun when the front drains:
// gRPC's server would wait for them.
type fresh struct {
	net.Listener
	whenDraining func(func()) (stop func() bool)
}

// Accept returns the next connection.
func (l fresh) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return freshConn{c, l.whenDraining(func() { _ = c.Close() })}, nil // nothing was answered
}

type freshConn struct {
	net.Conn
	begun func() bool
}

// SetDeadline sets the deadline. gRPC's server lifts it once: when HTTP/2 has begun, or can't.
func (c freshConn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.begun()
	}
	return c.Conn.SetDeadline(t)
}
