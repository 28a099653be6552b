package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// idsPath is where the HTTP front mints.
const idsPath = "/v1/generators/default/ids"

// http compares the HTTP front with a bare handler.
func (b bench) http(ctx context.Context) error {
	return b.pair(ctx, "http", func(p *process) contender {
		return contender{p.name, func(ctx context.Context) (sample, error) {
			return p.under(1, func() (load, error) { return b.wrk(ctx, "http://"+p.addresses["http"]+idsPath) })
		}}
	}, 0.9)
}

// wrk runs the load generator of that name.
func (b bench) wrk(ctx context.Context, url string) (load, error) {
	arguments := []string{"-t", "1", "-c", strconv.Itoa(connections), "-d", strconv.Itoa(max(1, int(b.each.Seconds()))) + "s", url}
	//nolint:gosec // It runs the programs that its user names.
	out, err := exec.CommandContext(ctx, "wrk", arguments...).CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("wrk (the Debian package is wrk): %w: %s", err, out)
	}
	l, err := readWrk(string(out))
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	return l, nil
}

// readWrk reads "419437 requests in 4.10s, 93.00MB read".
func readWrk(out string) (load, error) {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "Non-2xx") || strings.Contains(line, "Socket errors") {
			return load{}, fmt.Errorf("requests failed")
		}
		before, after, ok := strings.Cut(strings.TrimSpace(line), " requests in ")
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(before, 64)
		if err != nil {
			return load{}, err
		}
		text, _, _ := strings.Cut(after, ",")
		took, err := time.ParseDuration(text)
		return load{requests: n, took: took}, err
	}
	return load{}, fmt.Errorf("its output has no number of requests")
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
