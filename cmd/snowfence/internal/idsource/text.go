package idsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
)

// lines is a [Source]: a text with one id a line.
type lines struct {
	*input
	*reading
	at uint64 // the line that was taken last
}

func (l *lines) Read(ctx context.Context, items []Item) (n int, err error) {
	defer l.until(ctx)()
	for n < len(items) && (n == 0 || l.Buffered() > 0) { // it waits only for the first
		taken, err := l.decimals(items[n:])
		n += taken
		if err != nil || n == len(items) || n > 0 && l.Buffered() == 0 {
			return n, err
		}
		line, err := l.next()
		if err != nil {
			return n, err
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 || text[0] == '#' && !endsLine(text) { // else ids may stand behind the comment
			continue
		}
		id, err := l.read(text, l.at)
		if err == nil {
			items[n] = Item{id, l.at}
			n++
			continue
		}
		if err := l.refuse(&InvalidError{l.Name(), l.Place(l.at), clip(string(text)), err, hintOf(string(line), l.at)}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// next takes the next line, without a mark of its bytes' order.
func (l *lines) next() ([]byte, error) {
	line, err := l.line()
	if err == nil || errors.As(err, new(*lengthError)) {
		l.at++
	}
	switch {
	case errors.As(err, new(*lengthError)):
		return nil, &InvalidError{l.Name(), l.Place(l.at), clip(string(line)), err, ""}
	case l.at == 1:
		line = bytes.TrimPrefix(line, []byte(mark))
	}
	return bytes.TrimSuffix(line, []byte("\n")), err
}

// mark is what some programs put at the beginning of UTF-8.
const mark = "\xef\xbb\xbf"

// decimals takes the lines that come next and are plain decimal, as nearly all are,
// as long as they are in the buffer as a whole. All others it leaves.
func (l *lines) decimals(items []Item) (n int, err error) {
	window, _ := l.Peek(l.Buffered())
	taken := 0
	for n < len(items) {
		line := window[taken:]
		v, length := l.decimal(line)
		end := length
		if end < len(line) && line[end] == '\r' {
			end++
		}
		if length == 0 || end == len(line) || line[end] != '\n' {
			break
		}
		if err = l.agree(decode.Decimal, l.at+1); err != nil {
			break
		}
		l.at++
		items[n] = Item{snowfence.ID(v), l.at}
		n++
		taken += end + 1
	}
	_, _ = l.Discard(taken) // so much is buffered
	return n, err
}

// lengthError is returned for a line of more than maxLine. It is no id, and can't
// be skipped: where it ends is not known.
type lengthError struct{}

func (*lengthError) Error() string { return fmt.Sprintf("is longer than %d bytes", maxLine) }

// Unwrap makes it an error of ids.
func (*lengthError) Unwrap() error { return snowfence.ErrInvalidID }
