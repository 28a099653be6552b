package httpfront

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
)

// dial starts a server with limits and connects to it.
func dial(t *testing.T, limits front.Limits) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", fronttest.Serve(t, NewServer(newFixture(t, ""), limits, slog.New(slog.DiscardHandler)), nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConnectionsAreHeldToTheirLimits(t *testing.T) {
	limits := fronttest.Limits(t)
	slow, idle := limits, limits
	slow.ReadTimeout, idle.IdleTimeout = 20*time.Millisecond, 20*time.Millisecond
	// The server of the standard library allows 4 KiB on top.
	header := "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", limits.Header+4096) + "\r\n\r\n"
	for name, c := range map[string]struct {
		limits             front.Limits
		sent, begins, ends string
	}{
		"a header beyond its limit":       {limits, header, "HTTP/1.1 431 ", ""},
		"a request that never ends":       {slow, "GET /livez HTTP/1.1\r\nHost:", "", ""},
		"a connection that then is quiet": {idle, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 ", "\r\n\r\nlive\n"},
	} {
		conn := dial(t, c.limits)
		if _, err := io.WriteString(conn, c.sent); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn) // unread bytes make its end a reset
		if errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(string(answer), c.begins) || !strings.HasSuffix(string(answer), c.ends) {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
	}
}

// pipes is a listener whose connections are pipes, so that time is the bubble's.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.ended)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func TestConnectionWithoutARequestDelaysNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := NewServer(newFixture(t, ""), fronttest.Limits(t), slog.New(slog.DiscardHandler))
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		synctest.Wait()
		begun := time.Now()
		if err := server.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the end took %s", took)
		}
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection: %v, want its end", err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestBodyThatNoRequestTakesIsNotWaitedFor sends headers that announce a body, without the body. The
// server has ten minutes to read one.
func TestBodyThatNoRequestTakesIsNotWaitedFor(t *testing.T) {
	limits := fronttest.Limits(t)
	limits.ReadTimeout = 10 * time.Minute
	for head, want := range map[string]int{
		"GET /livez HTTP/1.1\r\nContent-Length: 65400":                                      http.StatusRequestEntityTooLarge,
		"POST /v1/generators/default/ids HTTP/1.1\r\nContent-Length: 65":                    http.StatusRequestEntityTooLarge,
		"POST /v1/generators/none/ids HTTP/1.1\r\nContent-Length: 1073741824":               http.StatusRequestEntityTooLarge,
		"POST /tinyid/id/nextId HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 65": http.StatusRequestEntityTooLarge,
		"GET /none HTTP/1.1\r\nContent-Length: 65400":                                       http.StatusNotFound,
	} {
		c := dial(t, limits)
		if _, err := io.WriteString(c, head+"\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", head, err)
			continue
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", head, r.StatusCode, want)
		}
	}
}

func TestConnectionThatShowedWrongTokensIsClosed(t *testing.T) {
	server := httptest.NewUnstartedServer(newFixture(t, "Correct-horse-battery"))
	server.Config = &NewServer(server.Config.Handler, fronttest.Limits(t), slog.New(slog.DiscardHandler)).http
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ask := func(c *http.Client, path, token string) (status int, reused bool) {
		t.Helper()
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, reused
	}
	const ids, tiny = "/v1/generators/default/ids", "/tinyid/id/nextId?bizType=default&token=wrong"
	for _, version := range []int{1, 2} {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.ForceAttemptHTTP2 = version == 2
		if version == 1 {
			transport.TLSClientConfig.NextProtos = nil
		}
		client := &http.Client{Transport: transport}
		for i, x := range []struct {
			path, token string
			status      int
			reused      bool
		}{
			{ids, "wrong", 401, false}, {tiny, "", 200, true}, {ids, "", 401, true}, {ids, "wrong", 401, true},
			{ids, "Correct-horse-battery", 200, true}, {ids, "wrong", 401, true}, {tiny, "", 200, true},
			{ids, "Correct-horse-battery", 200, true}, // it is answered, with the end of the connection
			{ids, "Correct-horse-battery", 200, false}, {ids, "Correct-horse-battery", 200, true},
		} {
			if status, reused := ask(client, x.path, x.token); status != x.status || reused != x.reused {
				t.Errorf("HTTP/%d, %d: %d, on the same connection %v, want %d, %v", version, i, status, reused, x.status, x.reused)
			}
		}
		client.CloseIdleConnections()
	}
}
