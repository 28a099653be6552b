package idsource

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"snowfence.example/snowfence"
)

// lines is a text: one id a line.
type lines struct {
	*input
	refusals
	speller
	line uint64 // of those that were taken
}

// newLines reads a text.
func newLines(in *input, o Options) *lines {
	l := &lines{input: in, refusals: refusals{skip: o.SkipInvalid}}
	l.speller = speller{name: in.name, place: l.Place, encoding: o.Encoding}
	return l
}

// Name implements Source.
func (l *lines) Name() string { return l.input.Name() }

// Place implements Source.
func (*lines) Place(at uint64) string { return fmt.Sprintf("line %d", at) }

// Read implements Source.
func (l *lines) Read(ctx context.Context, items []Item) (n int, err error) {
	for n < len(items) {
		taken, err := l.decimals(items[n:])
		n += taken
		if err != nil {
			return n, err
		}
		if n == len(items) {
			break
		}
		line, err := l.next(ctx, n > 0)
		if err != nil {
			if n > 0 && (errors.Is(err, errLater) || errors.Is(err, io.EOF)) {
				return n, nil
			}
			return n, err
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		id, err := l.speller.read(string(text), l.line)
		if err == nil {
			items[n] = Item{id, l.line}
			n++
			continue
		}
		if err := l.refuse(&InvalidError{l.name(), l.Place(l.line), clip(string(text)), err, hintOf(string(line), l.line)}); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (l *lines) name() string { return l.input.name }

// decimals takes the lines that come next and are plain decimal, which nearly
// all are, as long as more than a line of them is in the window. Whatever is
// anything else it leaves.
func (l *lines) decimals(items []Item) (n int, err error) {
	if l.encoding != "" && l.encoding != "decimal" {
		return 0, nil
	}
	const digits = 19
	window := l.window[l.low:l.high]
	at := 0
	for n < len(items) && len(window)-at >= digits+2+8 {
		v, length := decimal(window[at : at+digits+2+8])
		if length == 0 || length > digits {
			break
		}
		end := at + length
		if window[end] == '\r' {
			end++
		}
		if window[end] != '\n' || window[at] == '0' {
			break
		}
		if length <= maxDoubtful && !l.digits[length] {
			if err = l.plain(length, l.line+1); err != nil {
				break
			}
		}
		l.line++
		items[n] = Item{snowfence.ID(v), l.line}
		n++
		at = end + 1
	}
	l.low += at
	return n, err
}

// decimal reads the digits at the beginning, and how many they are. Above 19 it
// says only that they are more. There must be 28 bytes.
func decimal(b []byte) (n uint64, length int) {
	for length < 16 {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(b[length:]))
		if !ok {
			break
		}
		n = n*100_000_000 + eight
		length += 8
	}
	for ; length < 20; length++ {
		digit := b[length] - '0'
		if digit > 9 {
			break
		}
		n = n*10 + uint64(digit)
	}
	return n, length
}

// eightDigits reads eight bytes of ASCII at once, the first digit lowest, and
// reports whether all are digits.
func eightDigits(v uint64) (uint64, bool) {
	const (
		high = 0xf0f0f0f0f0f0f0f0
		zero = 0x3030303030303030
		six  = 0x0606060606060606
	)
	// A digit has the upper half 3, and still has it with 6 added.
	if v&high != zero || (v+six)&high != zero {
		return 0, false
	}
	v = (v & 0x0f0f0f0f0f0f0f0f) * (1 + 10<<8) >> 8
	v = (v & 0x00ff00ff00ff00ff) * (1 + 100<<16) >> 16
	v = (v & 0x0000ffff0000ffff) * (1 + 10_000<<32) >> 32
	return v, true
}

// errLater says that a line is not there yet, and that the caller has something
// to return meanwhile.
var errLater = errors.New("later")

// next takes the next line without its end. It waits for it unless there is
// something to return first. The last line needs no end.
func (l *lines) next(ctx context.Context, something bool) ([]byte, error) {
	line, err := l.input.line(ctx, 0, something)
	if err != nil {
		var long *lengthError
		if errors.As(err, &long) {
			err = &InvalidError{l.name(), l.Place(l.line + 1), clip(string(l.window[l.low : l.low+maxText+1])), long, ""}
		}
		return nil, err
	}
	l.low += len(line)
	l.line++
	if l.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// lengthError is returned for a line of more than maxLine. It is no id, and can't
// be skipped: where it ends is not known.
type lengthError struct{}

func (*lengthError) Error() string { return fmt.Sprintf("is longer than %d bytes", maxLine) }

// Unwrap makes it an error of ids.
func (*lengthError) Unwrap() error { return snowfence.ErrInvalidID }

// line returns the line that begins so far behind the window's beginning, with
// its end, if it has one, and takes nothing. It returns errLater instead of
// waiting when that is allowed.
func (in *input) line(ctx context.Context, from int, later bool) ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(in.window[in.low+from+seen:in.high], '\n'); i >= 0 {
			return in.window[in.low+from : in.low+from+seen+i+1], nil
		}
		if seen = in.high - in.low - from; seen+from > maxLine {
			return nil, &lengthError{}
		}
		if later {
			return nil, errLater
		}
		switch err := in.more(ctx); {
		case errors.Is(err, io.EOF) && seen > 0:
			return in.window[in.low+from : in.high], nil
		case err != nil:
			return nil, err
		}
	}
}
