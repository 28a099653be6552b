package storeclient

import (
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
)

// Answers follows a server's answers on one connection, as far as its client library rests
// on it without a look: lengths and counts.
type Answers interface {
	// Take looks at the bytes that came next. An error describes the fault of the answer.
	Take(b []byte) error

	// Asked looks at bytes before they are sent.
	Asked(b []byte)
}

// AnswerError is returned when a server's answer breaks its protocol, or is longer than any
// that a store asks for. The connection has ended. A request on it may have taken effect.
type AnswerError struct {
	Server string // its address
	Reason string // what is wrong with its answer
}

// Error names the server and the reason.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("server %s answered wrongly: %s", e.Server, e.Reason)
}

// A Guard stands between a connection and a client library. The library sees no byte of a
// wrong answer's last part, and reads an *[AnswerError] instead. One goroutine may read while
// another one writes.
type Guard struct {
	server string
	end    func() error // ends the connection

	mu      sync.Mutex // guards the fields below
	answers Answers
	wrong   *AnswerError // the first one
}

// NewGuard returns a guard of a connection to a server. end ends the connection.
func NewGuard(server string, answers Answers, end func() error) *Guard {
	return &Guard{server: server, answers: answers, end: end}
}

// Wrong returns the *[AnswerError] that ended the connection, or nil. The guard may be nil.
func (g *Guard) Wrong() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wrong == nil {
		return nil
	}
	return g.wrong
}

// Reader returns a reader of the answers from r.
func (g *Guard) Reader(r io.Reader) io.Reader {
	return guarded(func(b []byte) (int, error) { return g.read(r, b) })
}

// Writer returns a writer of the requests to w.
func (g *Guard) Writer(w io.Writer) io.Writer {
	return asking(func(b []byte) (int, error) { return g.write(w, b) })
}

// Conn returns the connection as the client library is to have it. It is a syscall.Conn if c
// is: libraries look by that whether an idle connection still lives.
func (g *Guard) Conn(c net.Conn) net.Conn {
	connection := conn{c, g}
	if system, ok := c.(syscall.Conn); ok {
		return systemConn{connection, system}
	}
	return connection
}

func (g *Guard) read(r io.Reader, b []byte) (int, error) {
	if err := g.Wrong(); err != nil {
		return 0, err
	}
	n, err := r.Read(b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if wrong := g.answers.Take(b[:n]); wrong != nil {
		g.wrong = &AnswerError{g.server, wrong.Error()}
		_ = g.end() // the answer's error shows more
		return 0, g.wrong
	}
	return n, err
}

func (g *Guard) write(w io.Writer, b []byte) (int, error) {
	g.mu.Lock()
	g.answers.Asked(b)
	g.mu.Unlock()
	return w.Write(b)
}

type guarded func([]byte) (int, error)

func (f guarded) Read(b []byte) (int, error) { return f(b) }

type asking func([]byte) (int, error)

func (f asking) Write(b []byte) (int, error) { return f(b) }

type conn struct {
	net.Conn
	guard *Guard
}

func (c conn) Read(b []byte) (int, error)  { return c.guard.read(c.Conn, b) }
func (c conn) Write(b []byte) (int, error) { return c.guard.write(c.Conn, b) }

type systemConn struct {
	conn
	syscall.Conn
}

func (c systemConn) Read(b []byte) (int, error)  { return c.conn.Read(b) }
func (c systemConn) Write(b []byte) (int, error) { return c.conn.Write(b) }
