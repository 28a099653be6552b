package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"time"

	"snowfence.example/snowfence"
)

// link is a connection to one server, which speaks RESP.
type link struct {
	conn    net.Conn
	reader  *bufio.Reader
	address string
	request []byte // up to the number of ids
	text    []byte
	timeout time.Duration
	clock   snowfence.Clock
	release func() bool // of what closes the connection when the client's context ends
}

// maxLine is the longest line of an answer. Lines with ids have at most 21 bytes, and the rest is for
// the text of an error.
const maxLine = 4096

// connect connects to a server and shows the token.
func connect(ctx context.Context, cfg Config, address string) (*link, error) {
	dialing, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(dialing, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("client: connect to %s: %w", address, err)
	}
	if cfg.TLS != nil {
		secure := cfg.TLS.Clone()
		if secure.ServerName == "" {
			secure.ServerName, _, _ = net.SplitHostPort(address) // New has seen it
		}
		upper := tls.Client(conn, secure)
		if err := upper.HandshakeContext(dialing); err != nil {
			_ = conn.Close() // the handshake's error says more
			return nil, fmt.Errorf("client: connect to %s: %w", address, err)
		}
		conn = upper
	}
	l := &link{
		conn: conn, reader: bufio.NewReaderSize(conn, maxLine), address: address, timeout: cfg.Timeout, clock: cfg.Clock,
		request: command("ID.NEXT", cfg.Generator, "COUNT"),
		release: context.AfterFunc(ctx, func() { _ = conn.Close() }),
	}
	if cfg.Token != "" {
		if err := l.show(cfg.Token); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// command writes the beginning of a command: its words, without their number.
func command(words ...string) []byte {
	var text []byte
	for _, w := range words {
		text = append(append(text, '$'), strconv.Itoa(len(w))...)
		text = append(append(append(text, "\r\n"...), w...), "\r\n"...)
	}
	return text
}

// show shows the token.
func (l *link) show(token string) error {
	l.text = append(append(l.text[:0], "*2\r\n"...), command("AUTH", token)...)
	if err := l.send(); err != nil {
		return err
	}
	line, err := l.line()
	if err == nil && string(line) != "+OK" {
		err = l.unexpected(line)
	}
	return err
}

// next asks for n ids, and returns them in runs: at least one, in increasing order, n ids in all.
func (l *link) next(n int) ([]run, error) {
	count := strconv.Itoa(n)
	l.text = append(append(l.text[:0], "*5\r\n"...), l.request...)
	l.text = append(append(append(l.text, '$'), strconv.Itoa(len(count))...), "\r\n"...)
	l.text = append(append(l.text, count...), "\r\n$6\r\nRANGES\r\n"...)
	if err := l.send(); err != nil {
		return nil, err
	}
	runs, err := l.read(n)
	if err != nil && !errors.As(err, new(*ServerError)) {
		err = fmt.Errorf("client: answer of %s: %w", l.address, err)
	}
	return runs, err
}

// send sends what text holds. It and the answer have the timeout.
func (l *link) send() error {
	err := l.conn.SetDeadline(l.clock.Wall().Add(l.timeout))
	if err == nil {
		_, err = l.conn.Write(l.text)
	}
	if err != nil {
		return fmt.Errorf("client: ask %s: %w", l.address, err)
	}
	return nil
}

// read reads an answer of n ids.
func (l *link) read(n int) ([]run, error) {
	line, err := l.line()
	if err != nil {
		return nil, err
	}
	parts, ok := number(line, '*')
	if !ok {
		return nil, l.unexpected(line)
	}
	if parts < 2 || parts%2 != 0 || parts > 2*int64(n) {
		return nil, fmt.Errorf("%d parts for %d ids", parts, n)
	}
	var runs []run
	left := int64(n)
	for range parts / 2 {
		first, err := l.part()
		if err != nil {
			return nil, err
		}
		count, err := l.part()
		if err != nil {
			return nil, err
		}
		switch {
		case count < 1 || count > left || first > math.MaxInt64-count+1:
			return nil, fmt.Errorf("%d ids from %d, of %d", count, first, left)
		case len(runs) > 0 && snowfence.ID(first) <= runs[len(runs)-1].last():
			return nil, fmt.Errorf("%w: %d after %d", ErrBackwards, first, runs[len(runs)-1].last())
		}
		left -= count
		runs = append(runs, run{snowfence.ID(first), int(count)})
	}
	if left > 0 {
		return nil, fmt.Errorf("%d ids are missing of %d", left, n)
	}
	return runs, nil
}

// part reads a bulk string that is a number, 0 or more.
func (l *link) part() (int64, error) {
	line, err := l.line()
	if err != nil {
		return 0, err
	}
	size, ok := number(line, '$')
	if !ok {
		return 0, l.unexpected(line)
	}
	if line, err = l.line(); err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil || n < 0 || int64(len(line)) != size {
		return 0, fmt.Errorf("%.30q is no number", line)
	}
	return n, nil
}

// number reads a line of a type and a number, 0 or more.
func number(line []byte, kind byte) (int64, bool) {
	if len(line) < 2 || line[0] != kind {
		return 0, false
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 32)
	return n, err == nil && n >= 0
}

// line reads a line without its end. It is valid until the next one is read.
func (l *link) line() ([]byte, error) {
	line, err := l.reader.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return nil, fmt.Errorf("a line ends with %q", line[max(len(line)-2, 0):])
	}
	return text, nil
}

// unexpected is the error of a line that is not what was asked for: the server's own, as a rule.
func (l *link) unexpected(line []byte) error {
	if rest, ok := bytes.CutPrefix(line, []byte("-")); ok {
		code, text, _ := bytes.Cut(rest, []byte(" "))
		return &ServerError{l.address, string(code), string(text)}
	}
	return fmt.Errorf("unexpected %.30q", line)
}

func (l *link) close() {
	l.release()
	_ = l.conn.Close() // nothing is written any more
}
