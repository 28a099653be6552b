package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// idsPath is where the HTTP front mints.
const idsPath = "/v1/generators/default/ids"

// http compares the HTTP front with a bare handler.
func (b bench) http(ctx context.Context) error {
	return b.pair(ctx, "http", dialHTTP, 0.9)
}

// echoHTTP answers with the same bytes as the HTTP front, under its default timeouts.
func echoHTTP(l net.Listener) error {
	body := []byte(`{"ids":["1234567890123456789"]}` + "\n")
	s := http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			header := w.Header()
			header.Set("Cache-Control", "no-store")
			header.Set("X-Content-Type-Options", "nosniff")
			header.Set("Content-Type", "application/json")
			_, _ = w.Write(body) // it fails only when the client is gone
		}),
		MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	return s.Serve(l)
}

// httpCaller is an HTTP connection.
type httpCaller struct {
	net.Conn
	request []byte
	in      *bufio.Reader
}

func dialHTTP(ctx context.Context, address string) (caller, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &httpCaller{c, []byte("GET " + idsPath + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n"), bufio.NewReader(c)}, nil
}

// Call sends a request, and waits for its answer.
func (c *httpCaller) Call() error {
	if _, err := c.Write(c.request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
