package natsstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
)

// dialer makes a function the client's dialer. The client leaves TLS to it: so the
// answers can be looked at as they are before encryption.
type dialer func(network, address string) (net.Conn, error)

// Dial calls d.
func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// SkipTLSHandshake returns true to the client, since d has seen to TLS.
func (dialer) SkipTLSHandshake() bool { return true }

// greeted is a connection whose first line was read, and is read again.
type greeted struct {
	net.Conn
	first io.Reader
}

// Read implements net.Conn.
func (g greeted) Read(b []byte) (int, error) {
	if n, err := g.first.Read(b); err == nil {
		return n, nil
	}
	return g.Conn.Read(b)
}

// secure reads a server's first line, which comes before TLS, and makes a connection with TLS
// if the server offers it and the config asks for it, or if the server demands it.
func secure(ctx context.Context, raw net.Conn, address string, config *tls.Config) (net.Conn, error) {
	if err := raw.SetReadDeadline(storeclient.Now().Add(connectLimit)); err != nil {
		return nil, err
	}
	line := make([]byte, 0, 1024)
	for len(line) <= maxLine && !bytes.HasSuffix(line, []byte("\n")) {
		// Byte by byte: the next one may be TLS's.
		line = append(line, 0)
		if _, err := io.ReadFull(raw, line[len(line)-1:]); err != nil {
			return nil, fmt.Errorf("read the first line of %s: %w", address, err)
		}
	}
	if err := raw.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	var server struct {
		Required  bool `json:"tls_required"`
		Available bool `json:"tls_available"`
	}
	word, text, _ := bytes.Cut(line, []byte(" "))
	if !bytes.EqualFold(word, []byte("INFO")) || !bytes.HasSuffix(line, []byte("\r\n")) {
		return nil, &storeclient.AnswerError{Server: address, Reason: fmt.Sprintf("the first line %.32q: must be INFO, and have at most %d bytes: "+
			"is it a NATS server?", line, maxLine)}
	}
	_ = json.Unmarshal(text, &server) // the client refuses a line that is none
	connection := raw
	if server.Required || server.Available && config != nil {
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		config = config.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		limited, cancel := context.WithTimeout(ctx, connectLimit)
		defer cancel()
		encrypted := tls.Client(raw, config)
		if err := encrypted.HandshakeContext(limited); err != nil {
			return nil, fmt.Errorf("TLS with %s: %w", address, err)
		}
		connection = encrypted
	}
	return greeted{connection, bytes.NewReader(line)}, nil
}
