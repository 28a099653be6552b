package session

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// started serves on a loopback address, and ends the server with the test.
func started(t *testing.T, handle func(context.Context, *Conn)) (*Server, string, <-chan error) {
	t.Helper()
	l := listen(t)
	s, served := NewServer(handle), make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(ctx)
	})
	return s, l.Addr().String(), served
}

// one is a listener with one connection.
type one struct {
	net.Listener
	conns chan net.Conn
}

func (l one) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l one) Close() error { return nil }

// piped serves one connection, which may be a pipe, as a bubble of synctest needs.
func piped(c net.Conn, handle func(context.Context, *Conn)) *Server {
	s, l := NewServer(handle), one{conns: make(chan net.Conn, 1)}
	l.conns <- c
	close(l.conns)
	go func() { _ = s.Serve(l) }()
	return s
}

// certified returns the TLS configs of a client and a server.
func certified(t *testing.T) (client, server *tls.Config) {
	t.Helper()
	authority := testkit.NewAuthority(t)
	pair, err := tls.LoadX509KeyPair(authority.Issue(t, "server", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now() // in a bubble it is another
	return &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12, Time: func() time.Time { return now }},
		&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo answers lines. Before each answer it takes one from the gate, if there is one.
func echo(gate chan struct{}, begun chan<- struct{}) func(context.Context, *Conn) {
	return func(ctx context.Context, c *Conn) {
		in := bufio.NewReader(c)
		for {
			if err := c.ReadWithin(time.Hour); err != nil {
				return
			}
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if gate != nil {
				begun <- struct{}{}
				select {
				case <-gate:
				case <-ctx.Done():
					return
				}
			}
			if _, err := io.WriteString(c, line); err != nil {
				return
			}
		}
	}
}

func TestDrainEndsIdleConnectionsAndAcceptsNoMore(t *testing.T) {
	s, address, served := started(t, echo(nil, nil))
	c := dial(t, address)
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); line != "hello\n" {
		t.Fatalf("answer %q, %v", line, err)
	}
	if err := s.Drain(t.Context()); err != nil {
		t.Errorf("drain: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection: %v, want its end", err)
	}
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
		_ = c.Close()
		t.Error("a drained server accepts a connection")
	}
}

func TestDrainWaitsForTheRequestUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, begun := make(chan struct{}), make(chan struct{})
		near, far := net.Pipe()
		defer func() { _ = near.Close() }()
		s := piped(far, echo(gate, begun))
		if _, err := io.WriteString(near, "hello\n"); err != nil {
			t.Fatal(err)
		}
		<-begun
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(t.Context()) }()
		synctest.Wait()
		if len(drained) > 0 {
			t.Errorf("drained before the answer: %v", <-drained)
		}
		gate <- struct{}{}
		if line, err := bufio.NewReader(near).ReadString('\n'); line != "hello\n" {
			t.Errorf("answer %q, %v", line, err)
		}
		if err := <-drained; err != nil {
			t.Errorf("drain: %v", err)
		}
	})
}

func TestDrainCutsOffWhatTakesTooLong(t *testing.T) {
	begun := make(chan struct{})
	s, address, _ := started(t, echo(make(chan struct{}), begun))
	c := dial(t, address)
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v, want the context's error", err)
	}
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("read %d bytes, %v, want an end", n, err)
	}
}

func TestDrainWaitsForNoFarewellOfTLS(t *testing.T) {
	trusting, secure := certified(t)
	synctest.Test(t, func(t *testing.T) {
		begun, gate := make(chan struct{}), make(chan struct{})
		near, far := net.Pipe()
		defer func() { _ = near.Close() }()
		s := piped(tls.Server(far, secure), func(_ context.Context, c *Conn) {
			_, _ = c.Read(make([]byte, 1))
			close(begun)
			<-gate
		})
		defer close(gate)
		trusting.MaxVersion = tls.VersionTLS12 // in which a handshake leaves nothing to be read
		if _, err := io.WriteString(tls.Client(near, trusting), "hello\n"); err != nil {
			t.Fatal(err)
		}
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		before := time.Now()
		if err := s.Drain(ctx); !errors.Is(err, context.Canceled) || time.Since(before) != 0 {
			t.Errorf("drain: %v after %s, beside a client that does not read", err, time.Since(before))
		}
	})
}

func TestClientThatSentMoreGetsItsAnswerAndAnEnd(t *testing.T) {
	trusting, secure := certified(t)
	for name, c := range map[string]struct{ secure, drains bool }{
		"plain": {}, "TLS": {secure: true}, "plain, draining": {drains: true}, "TLS, draining": {secure: true, drains: true},
	} {
		l := listen(t)
		address := l.Addr().String()
		if c.secure {
			l = tls.NewListener(l, secure)
		}
		begun, sent, answer := make(chan struct{}), make(chan struct{}), make([]byte, 64<<10)
		s := NewServer(func(_ context.Context, c *Conn) {
			_, err := io.ReadFull(c, make([]byte, len("QUIT")))
			close(begun)
			<-sent
			if err == nil {
				_, _ = c.Write(answer)
			}
		})
		go func() { _ = s.Serve(l) }()
		client := dial(t, address)
		if c.secure {
			client = tls.Client(client, trusting)
		}
		for _, text := range []string{"QUIT", strings.Repeat("more", 16<<10)} {
			if _, err := io.WriteString(client, text); err != nil {
				t.Fatal(err)
			}
		}
		<-begun
		drained := make(chan error, 1)
		if c.drains {
			go func() { drained <- s.Drain(t.Context()) }()
			for !s.draining.Load() {
				runtime.Gosched()
			}
		}
		close(sent)
		if got, err := io.ReadAll(client); err != nil || len(got) != len(answer) {
			t.Errorf("%s: %d bytes of an answer of %d, %v", name, len(got), len(answer), err)
		}
		_ = client.Close()
		if !c.drains {
			drained <- s.Drain(t.Context())
		}
		if err := <-drained; err != nil {
			t.Errorf("%s: drain: %v", name, err)
		}
	}
}

// half is a pipe whose one way can be ended.
type half struct{ net.Conn }

func (half) CloseWrite() error { return nil }

func TestClientThatDoesNotCloseIsLeftSoon(t *testing.T) {
	for name, c := range map[string]struct {
		sends bool
		want  time.Duration
	}{"silent": {false, linger}, "sending": {true, 0}} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			s := piped(half{far}, func(context.Context, *Conn) {})
			before := time.Now()
			var err error
			n := 0
			for ; err == nil && n < 2*discarded; n += 4 << 10 {
				if c.sends {
					_, err = near.Write(make([]byte, 4<<10))
				} else {
					_, err = near.Read(make([]byte, 1))
				}
			}
			if took := time.Since(before); err == nil || took != c.want {
				t.Errorf("%s: %v after %s and %d bytes, want an end after %s", name, err, took, n, c.want)
			}
			_ = near.Close()
			if err := s.Drain(t.Context()); err != nil {
				t.Errorf("%s: drain: %v", name, err)
			}
		})
	}
}

func TestServeAfterDrainServesNothing(t *testing.T) {
	s := NewServer(echo(nil, nil))
	if err := s.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	if err := s.Serve(l); err != nil {
		t.Errorf("serve: %v", err)
	}
	if c, err := l.Accept(); err == nil {
		_ = c.Close()
		t.Error("the listener is open")
	}
}

func TestListenerThatFailsEndsServe(t *testing.T) {
	l := listen(t)
	_ = l.Close()
	if err := NewServer(echo(nil, nil)).Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve: %v, want %v", err, net.ErrClosed)
	}
}
