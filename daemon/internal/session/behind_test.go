package session_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/listen"
	"snowfence.example/snowfence/daemon/internal/session"
	"snowfence.example/snowfence/internal/testkit"
)

// TestClientGetsAllAnswersThoughTheConnectionEnds has a handler that writes more than the kernel takes and returns. The
// client reads nothing before that.
func TestClientGetsAllAnswersThoughTheConnectionEnds(t *testing.T) {
	authority := testkit.NewAuthority(t)
	files := config.TLS{Certificate: filepath.Join(t.TempDir(), "c.pem"), Key: filepath.Join(t.TempDir(), "k.pem")}
	authority.IssueTo(t, files.Certificate, files.Key, "server", "127.0.0.1")
	certificates, err := listen.NewCertificates(config.Config{TLS: files}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*listen.Certificates{"plain": nil, "TLS": certificates} {
		memory, text := budget.New(64<<20), bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
		l, err := listen.Open(t.Context(), listen.Front{
			Address: "127.0.0.1:0", Certificates: c, Room: listen.NewRoom(config.Limits{Connections: 1}, 0), Memory: memory, Behind: 10 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		server := session.NewServer(func(_ context.Context, c *session.Conn) {
			_, err := c.Read(make([]byte, 1)) // the handshake is over
			if err == nil {
				_, err = c.Write(text)
			}
			written <- err
		})
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if c != nil {
			client = tls.Client(client, &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
		}
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		drained := make(chan error, 1)
		go func() { drained <- server.Drain(t.Context()) }()
		if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d of %d bytes came, %v", name, len(got), len(text), err)
		}
		_ = client.Close()
		if err := <-drained; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-served; err != nil || memory.Used() != 0 {
			t.Errorf("%s: %v, %d bytes are taken", name, err, memory.Used())
		}
	}
}
