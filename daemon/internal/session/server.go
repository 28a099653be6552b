package session

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrDraining is returned by [Conn.ReadWithin] once the server drains.
var ErrDraining = errors.New("the server drains its connections")

// Server serves the connections of one listener. Use [NewServer] to make one. It is safe for
// concurrent use.
type Server struct {
	handle   func(context.Context, *Conn)
	draining atomic.Bool
	open     sync.WaitGroup // the handlers that run

	mu       sync.Mutex // guards the fields below
	listener net.Listener
	conns    map[*Conn]struct{}
	cut      context.CancelFunc // ends the context of the handlers
}

// Conn is a connection of a [Server].
type Conn struct {
	net.Conn
	server *Server
}

// NewServer returns a server that runs handle for each connection. When handle returns, the connection
// is closed once its client has the answers, or is left since it does not read them. The context ends when requests are cut off. A handler calls
// [Conn.ReadWithin] before it waits for a request, and returns on an error.
func NewServer(handle func(ctx context.Context, c *Conn)) *Server {
	return &Server{handle: handle, conns: map[*Conn]struct{}{}, cut: func() {}}
}

// Serve serves the connections of a listener until Drain, and then returns nil. It is called once.
func (s *Server) Serve(l net.Listener) error {
	ctx, cut := context.WithCancel(context.Background())
	s.mu.Lock()
	s.listener, s.cut = l, cut
	s.mu.Unlock()
	for !s.draining.Load() {
		conn, err := l.Accept()
		switch {
		case err == nil:
			s.start(ctx, &Conn{conn, s})
		case s.draining.Load():
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			pause(ctx)
		default:
			return err
		}
	}
	_ = l.Close() // Drain may have come before the listener
	return nil
}

// pause waits a little for other connections to close: the process has used up its file descriptors.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}

// start serves a connection.
func (s *Server) start(ctx context.Context, c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		_ = c.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.open.Go(func() {
		s.handle(ctx, c)
		s.end(c)
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	})
}

const (
	// linger is how long a client has to read its last answers and to close its end. While the server
	// drains it is lingerDraining, which is enough for bytes on their way.
	linger, lingerDraining = time.Second, 50 * time.Millisecond

	// discarded is how many bytes of a client are read and thrown away meanwhile.
	discarded = 1 << 20
)

// end closes a connection once its client has the answers. The kernel resets a connection that is
// closed with input unread, and drops answers that the client has not read. So the server first ends
// only its own side, and throws the client's later bytes away.
func (s *Server) end(c *Conn) {
	defer func() { _ = c.Close() }()
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	s.mu.Lock() // a deadline of Drain comes before or after
	wait := linger
	if s.draining.Load() {
		wait = lingerDraining
	}
	err := c.SetReadDeadline(in(wait))
	s.mu.Unlock()
	if err == nil {
		_, _ = io.CopyN(io.Discard, c, discarded)
	}
}

// abort closes a connection at once. A farewell of TLS could wait for a client that does not read.
func (c *Conn) abort() {
	conn := c.Conn
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if behind, ok := conn.(interface{ Abort() error }); ok { // its Close waits for unwritten bytes
		_ = behind.Abort()
		return
	}
	_ = conn.Close()
}

// Drain stops accepting connections, ends the reads of all, and waits for the requests under way.
// When the context ends it cuts them off, and returns the context's error.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining.Store(true)
	if s.listener != nil {
		_ = s.listener.Close() // Serve ends by it
	}
	for c := range s.conns {
		_ = c.SetReadDeadline(past())
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.open.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
	for c := range s.conns {
		c.abort()
	}
	return ctx.Err()
}

// ReadWithin sets how long reads may take from now on. [ErrDraining] is returned once the server drains.
func (c *Conn) ReadWithin(d time.Duration) error {
	if err := c.SetReadDeadline(in(d)); err != nil {
		return err
	}
	// Drain sets draining before its deadline. If its deadline was before this one, draining is seen here.
	if c.server.draining.Load() {
		return ErrDraining
	}
	return nil
}

// WriteWithin sets how long writes may take from now on.
func (c *Conn) WriteWithin(d time.Duration) error { return c.SetWriteDeadline(in(d)) }
