package grpcfront

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
)

// connections is a listener whose connections count their unread answers.
type connections struct {
	net.Listener
	patience     time.Duration // for a client to read
	memory       *budget.Budget
	whenDraining func(func()) (stop func() bool)
}

// Accept returns the next connection. It is closed when the front drains before HTTP/2 has begun: gRPC's server
// would wait for it.
func (l connections) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &conn{Conn: c, patience: l.patience, memory: l.memory}
	conn.begun = l.whenDraining(func() { _ = c.Close() }) // nothing was answered
	return conn, nil
}

// conn is a connection.
type conn struct {
	net.Conn
	begun     func() bool
	patience  time.Duration
	memory    *budget.Budget
	strangers atomic.Int64 // calls that wait for a message, of clients without a valid token
	guesses   front.Guesses
	known     atomic.Bool // a valid token was shown

	mu     sync.Mutex // guards the fields below
	unread int        // answers that gRPC has not written, without answers of streams
	bytes  int        // that all take
	since  time.Time  // from when on the client has time to read the next of them
	late   *time.Timer
	runs   bool // late does, to look whether the time is over
	closed bool
}

// SetDeadline sets the deadline. gRPC's server lifts it once: when HTTP/2 has begun, or can't.
func (c *conn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.begun()
	}
	return c.Conn.SetDeadline(t)
}

// address is the address of a client, and its connection.
type address struct {
	net.Addr
	conn *conn
}

// RemoteAddr is the address of the client, an address.
func (c *conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// of returns the connection of a client, and its address as the listener has it.
func of(remote net.Addr) (*conn, net.Addr) {
	if a, ok := remote.(address); ok {
		return a.conn, a.Addr
	}
	return nil, remote
}

// owe takes the memory of an answer that gRPC is to write. If gRPC then stays silent for too long, the
// connection is closed, since its client does not read. The client of a stream may pause.
func (c *conn) owe(bytes int, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	// Whether there is memory was asked before the ids were minted.
	c.memory.Add(bytes)
	c.bytes += bytes
	if paused {
		return
	}
	if c.unread++; c.unread > 1 {
		return
	}
	c.since = now()
	switch {
	case c.runs: // for an answer before, since to set a timer costs more than to look
	case c.late == nil:
		c.late = afterwards(c.patience, c.look)
	default:
		c.late.Reset(c.patience)
	}
	c.runs = true
}

// look closes the connection if the client has had its time to read an answer.
func (c *conn) look() {
	c.mu.Lock()
	left := c.patience - now().Sub(c.since)
	if c.runs = c.unread > 0 && left > 0 && !c.closed; c.runs {
		c.late.Reset(left)
	}
	over := c.unread > 0 && left <= 0
	c.mu.Unlock()
	if over {
		_ = c.Close()
	}
}

// paid gives the memory of an answer back that was written or given up.
func (c *conn) paid(bytes int, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.memory.Give(bytes)
	c.bytes -= bytes
	if paused {
		return
	}
	if c.unread--; c.unread > 0 {
		c.since = now()
	}
}

// Close closes the connection. gRPC forgets the answers that it has not written, and does not report them.
func (c *conn) Close() error {
	c.mu.Lock()
	c.memory.Give(c.bytes)
	c.closed, c.bytes = true, 0
	if c.late != nil {
		c.late.Stop()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// judge closes a connection that shows wrong tokens alone: or it could try any number. A proxy has calls of many clients on
// one connection, so one wrong client must not end the calls of others.
func (c *conn) judge(client front.Client, valid bool) {
	switch {
	case c == nil:
	case valid:
		c.known.Store(true)
	case c.guesses.Note(client) && !c.known.Load():
		_ = c.Close()
	}
}
