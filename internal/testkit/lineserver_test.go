package testkit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// patience is how long a test waits for an event that must come; quiet is how long it
// waits to see that something does not.
const (
	patience = 3 * time.Minute
	quiet    = 100 * time.Millisecond
)

// lineServer answers every line by "server: line", and the end of the lines by
// "server: bye". It keeps the lines, and how connections ended.
type lineServer struct {
	listener net.Listener
	running  sync.WaitGroup
	heard    chan string
	ends     chan error // nil for an orderly end
}

func newLineServer(t *testing.T) *lineServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lineServer{listener: listener, heard: make(chan string, 1000), ends: make(chan error, 1000)}
	s.running.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.answer(connection) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); s.running.Wait() })
	return s
}

func (s *lineServer) addr() string { return s.listener.Addr().String() }

func (s *lineServer) answer(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	lines := bufio.NewReader(connection)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			_, _ = io.WriteString(connection, "server: bye\n")
			s.ends <- nil
			return
		}
		if err != nil {
			s.ends <- err
			return
		}
		s.heard <- strings.TrimSpace(line)
		_, _ = io.WriteString(connection, "server: "+line)
	}
}

// next returns the next line that the server heard.
func (s *lineServer) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-s.heard:
		return line
	case <-time.After(patience):
		t.Fatal("the server heard nothing")
		return ""
	}
}

// hearsNothing sees to it that no line comes.
func (s *lineServer) hearsNothing(t *testing.T) {
	t.Helper()
	select {
	case line := <-s.heard:
		t.Fatalf("the server heard %q", line)
	case <-time.After(quiet):
	}
}

// client is a client of a line server.
type client struct {
	t *testing.T
	*net.TCPConn
	lines *bufio.Reader
}

func dial(t *testing.T, p *testkit.Proxy) *client {
	t.Helper()
	connection, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return &client{t, connection.(*net.TCPConn), bufio.NewReader(connection)}
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.t.Errorf("say %q: %v", line, err)
	}
}

func (c *client) hear(within time.Duration) (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	line, err := c.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// want expects a line.
func (c *client) want(line string) {
	c.t.Helper()
	if got, err := c.hear(patience); err != nil || got != line {
		c.t.Fatalf("heard %q (%v), want %q", got, err, line)
	}
}

// wantSilence expects an open connection on which nothing comes.
func (c *client) wantSilence() {
	c.t.Helper()
	if got, err := c.hear(quiet); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q (%v), want silence", got, err)
	}
}

// wantReset expects the connection to be broken off.
func (c *client) wantReset() {
	c.t.Helper()
	if got, err := c.hear(patience); !isReset(err) || got != "" {
		c.t.Fatalf("heard %q (%v), want a reset", got, err)
	}
}

// wantNoConnection expects a new connection to be broken off, which its client
// may see as early as it connects.
func wantNoConnection(t *testing.T, p *testkit.Proxy) {
	t.Helper()
	connection, err := net.Dial("tcp", p.Addr())
	if isReset(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, connection.(*net.TCPConn), bufio.NewReader(connection)}
	c.wantReset()
	_ = c.Close()
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// connected returns a server, a proxy to it, and a client that has sent hello.
func connected(t *testing.T) (*lineServer, *testkit.Proxy, *client) {
	t.Helper()
	s := newLineServer(t)
	p := testkit.NewProxy(t, s.addr())
	return s, p, greeted(t, s, p)
}

func greeted(t *testing.T, s *lineServer, p *testkit.Proxy) *client {
	t.Helper()
	c := dial(t, p)
	c.say("hello")
	c.want("server: hello")
	if got := s.next(t); got != "hello" {
		t.Fatalf("the server heard %q", got)
	}
	return c
}
