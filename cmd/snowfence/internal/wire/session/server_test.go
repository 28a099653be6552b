package session

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// started serves on a loopback address, and ends the server with the test.
func started(t *testing.T, handle func(context.Context, *Conn)) (*Server, string, <-chan error) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, served := NewServer(handle), make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(ctx)
	})
	return s, l.Addr().String(), served
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
	gate, begun := make(chan struct{}), make(chan struct{})
	s, address, _ := started(t, echo(gate, begun))
	c := dial(t, address)
	if _, err := io.WriteString(c, "hello\nmore\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	for !s.draining.Load() {
		runtime.Gosched()
	}
	select {
	case err := <-drained:
		t.Fatalf("drained before the answer: %v", err)
	case gate <- struct{}{}:
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
		t.Errorf("answer %q, %v", line, err)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
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

func TestServeAfterDrainServesNothing(t *testing.T) {
	s := NewServer(echo(nil, nil))
	if err := s.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); err != nil {
		t.Errorf("serve: %v", err)
	}
	if c, err := l.Accept(); err == nil {
		_ = c.Close()
		t.Error("the listener is open")
	}
}

func TestListenerThatFailsEndsServe(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := NewServer(echo(nil, nil)).Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve: %v, want %v", err, net.ErrClosed)
	}
}
