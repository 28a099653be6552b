package natsstore

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
)

// TestServerThatAnswersPingsAloneIsLeft has one of two endpoints answer pings
// and nothing else, as a server does that is cut off from its cluster.
func TestServerThatAnswersPingsAloneIsLeft(t *testing.T) {
	t.Parallel()
	server := testkit.NATS(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var cutOff atomic.Bool
	carry := func(client, server net.Conn) {
		go func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		}()
		defer func() { _ = server.Close() }()
		for sent := make([]byte, 1<<16); ; {
			n, err := client.Read(sent)
			if err != nil {
				return
			}
			if !cutOff.Load() {
				_, _ = server.Write(sent[:n])
				continue
			}
			for range bytes.Count(sent[:n], []byte("PING\r\n")) {
				_, _ = client.Write([]byte("PONG\r\n"))
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Addr())
			if cutOff.Load() || err != nil {
				_ = client.Close()
				continue
			}
			go carry(client, behind)
		}
	}()
	s := open(t, of(listener.Addr().String()))
	servertest.Swap(t, s, "key", "", "value")
	s.config.Endpoints = append(s.config.Endpoints, server.Addr())
	cutOff.Store(true)
	testkit.Eventually(t, func(context.Context) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Get(ctx, "key")
		return err
	})
}
