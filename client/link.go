package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"

	"snowfence.example/snowfence"
)

// link is a connection to one server, which speaks RESP2.
type link struct {
	conn    net.Conn
	reader  *bufio.Reader
	config  Config
	release func() bool // stops the watch that closes the connection when the client's context ends
	served  bool        // it has given ids
}

// maxLine is the longest line of an answer: an error's text. Lines with ids have at most 21 bytes.
const maxLine = 4096

// connect connects to a server and shows the token. The connection ends with the context.
func connect(ctx context.Context, cfg Config, address string) (*link, error) {
	dialing, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	conn, err := cfg.Dial(dialing, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &link{
		conn: conn, reader: bufio.NewReaderSize(conn, maxLine), config: cfg,
		release: context.AfterFunc(ctx, func() { _ = conn.Close() }),
	}
	if cfg.Token != "" {
		if err = l.command("AUTH", cfg.Token); err == nil {
			_, err = l.line() // OK
		}
		if err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *link) close() {
	l.release()
	_ = l.conn.Close() // nothing is written any more
}

// next asks for n ids, and returns them in runs: at least one, in increasing order, n ids in all.
func (l *link) next(n int) ([]run, error) {
	if err := l.command("ID.NEXT", l.config.Generator, "COUNT", strconv.Itoa(n), "RANGES"); err != nil {
		return nil, err
	}
	runs, err := l.runs(n)
	l.served = l.served || err == nil
	return runs, err
}

// command sends a command, and reads the answer if it is an error. The rest of it has the rest of the timeout.
func (l *link) command(words ...string) error {
	text := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(w), w)
	}
	if err := l.conn.SetDeadline(now().Add(l.config.Timeout)); err != nil {
		return err
	}
	if _, err := l.conn.Write(text); err != nil {
		return err
	}
	if kind, err := l.reader.Peek(1); err != nil || kind[0] != '-' {
		return err
	}
	line, err := l.line()
	if err != nil {
		return err
	}
	code, rest, _ := bytes.Cut(line[1:], []byte(" "))
	return &ServerError{string(code), string(rest)}
}

// runs reads an answer of n ids: first, count, first, count and so on.
func (l *link) runs(n int) ([]run, error) {
	parts, err := l.number("*")
	if err == nil && parts%2 != 0 {
		err = fmt.Errorf("%d parts, which are no pairs", parts)
	}
	if err != nil {
		return nil, err
	}
	var runs []run
	last, left := int64(-1), int64(n)
	for range parts / 2 {
		first, err := l.part()
		if err != nil {
			return nil, err
		}
		count, err := l.part()
		switch {
		case err != nil:
			return nil, err
		case count < 1 || count > left || first > math.MaxInt64-count+1:
			return nil, fmt.Errorf("%d ids from %d on, of %d", count, first, left)
		case first <= last:
			return nil, fmt.Errorf("%w: %d after %d", ErrBackwards, first, last)
		}
		last, left = first+count-1, left-count
		runs = append(runs, run{snowfence.ID(first), int(count)})
	}
	if left > 0 {
		return nil, fmt.Errorf("%d ids of %d are missing", left, n)
	}
	return runs, nil
}

// part reads a bulk string that is a number: its length, and then itself.
func (l *link) part() (int64, error) {
	if _, err := l.number("$"); err != nil {
		return 0, err
	}
	return l.number("")
}

// number reads a line that has a number, 0 or more, after its kind.
func (l *link) number(kind string) (int64, error) {
	line, err := l.line()
	if err != nil {
		return 0, err
	}
	digits, ok := bytes.CutPrefix(line, []byte(kind))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("unexpected %.30q", line)
	}
	return n, nil
}

// line reads a line without its end. It is valid until the next one is read.
func (l *link) line() ([]byte, error) {
	line, err := l.reader.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = fmt.Errorf("a line has more than %d bytes", maxLine)
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}
