package httpfront

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

// grace is how long a connection without a request may go on once the server drains. Its request may be
// on the way.
const grace = 100 * time.Millisecond

// Server answers HTTP/1.1 and, with TLS, HTTP/2 on a listener.
type Server struct {
	http http.Server

	waiting atomic.Int64 // how many are fresh
	mu      sync.Mutex
	fresh   map[net.Conn]bool // connections without a request so far
}

// NewServer returns a server with the limits that every connection is held
// to. The server's own messages go to the logger.
func NewServer(handler http.Handler, limits front.Limits, logger *slog.Logger) *Server {
	s := &Server{fresh: map[net.Conn]bool{}}
	s.http = http.Server{
		Handler:           handler,
		MaxHeaderBytes:    limits.Header,
		ReadHeaderTimeout: limits.ReadTimeout,
		ReadTimeout:       limits.ReadTimeout,
		WriteTimeout:      limits.WriteTimeout,
		IdleTimeout:       limits.IdleTimeout,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: leastWindow, MaxReceiveBufferPerStream: leastWindow,
			WriteByteTimeout: limits.WriteTimeout,
		},
		ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ConnState:   s.track,
		ConnContext: note,
	}
	return s
}

// track notes the connections that have sent nothing. The library waits five seconds for them when it shuts down.
func (s *Server) track(c net.Conn, state http.ConnState) {
	if state == http.StateIdle { // every request is answered
		front.Complete(c.RemoteAddr())
	}
	if state != http.StateNew && s.waiting.Load() == 0 {
		return // as in most requests: this one was counted when it was new
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.fresh[c] = true
	} else {
		delete(s.fresh, c)
	}
	s.waiting.Store(int64(len(s.fresh)))
}

// closeFresh closes the connections that have sent nothing.
func (s *Server) closeFresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.fresh {
		_ = c.Close() // nothing was answered on it
	}
}

// Serve answers the connections of a listener until Drain, and then returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Drain stops accepting connections, and waits for the requests under way. When the context ends it
// cuts them off, and returns the context's error.
func (s *Server) Drain(ctx context.Context) error {
	waiting, end := context.WithTimeout(ctx, grace)
	defer end()
	defer context.AfterFunc(waiting, s.closeFresh)()
	err := s.http.Shutdown(ctx)
	if ctx.Err() != nil {
		err = errors.Join(err, s.http.Close())
	}
	return err
}
