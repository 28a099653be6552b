package respfront

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// bounds are how large a command may be.
type bounds struct {
	bytes int // in all
	parts int // its name and its arguments
}

// boundsOf returns the limits of a client's command, which are lower before it has shown its token.
func boundsOf(authorized bool) bounds {
	if authorized {
		return bounds{maxCommand, 64}
	}
	return bounds{4 << 10, 10}
}

// maxCommand is the most bytes of a command.
const maxCommand = 16 << 10

// maxLength is Redis' own limit of a part.
const maxLength = 512 << 20

// Errors of commands that can't be read, in the words of Redis. The connection ends with them,
// because where the next command begins is not known.
var (
	errArrayLength = errors.New("invalid multibulk length")
	errBulkLength  = errors.New("invalid bulk length")
	errNoBulk      = errors.New("expected '$'")
	errTooLarge    = errors.New("too big inline request")
	errQuotes      = errors.New("unbalanced quotes in request")
	errNoLineEnd   = errors.New("expected CR LF after a bulk string")
	errWeb         = errors.New("this is no HTTP server")
)

// parse reads the first command in data into parts, which are slices of data. It returns how many
// bytes the command has, or 0 if it is not complete yet. A command without parts is an empty line.
func parse(data []byte, parts [][]byte, most bounds) (_ [][]byte, n int, err error) {
	if len(data) > 0 && data[0] == '*' {
		return array(data, parts[:0], most)
	}
	return inline(data, parts[:0], most)
}

// exceeded is the error of a command that has more than its bounds allow.
func (most bounds) exceeded(parts, bytes int) error {
	return fmt.Errorf("the command has %d parts in %d bytes: it may have %d in %d", parts, bytes, most.parts, most.bytes)
}

// array reads a command as programs send it: an array of bulk strings. One of a length below zero is
// empty, as in Redis.
func array(data []byte, parts [][]byte, most bounds) ([][]byte, int, error) {
	if bytes.HasPrefix(data, []byte("*-")) {
		_, at, err := number(data, len("*-"), math.MaxInt32, errArrayLength)
		return parts, at, err
	}
	count, at, err := number(data, 1, math.MaxInt32, errArrayLength)
	switch {
	case at == 0 || err != nil:
		return parts, 0, err
	case count > most.parts:
		return parts, 0, most.exceeded(count, at)
	}
	for range count {
		if at < len(data) && data[at] != '$' {
			return parts, 0, errNoBulk
		}
		length, begin, err := number(data, at+1, maxLength, errBulkLength)
		end := begin + length
		switch {
		case err != nil:
			return parts, 0, err
		case begin == 0 && len(data) >= most.bytes:
			return parts, 0, most.exceeded(count, at)
		case end+2 > most.bytes:
			return parts, 0, most.exceeded(count, end+2)
		case begin == 0, end+2 > len(data):
			return parts, 0, nil
		case data[end] != '\r' || data[end+1] != '\n':
			return parts, 0, errNoLineEnd
		}
		parts = append(parts, data[begin:end])
		at = end + 2
	}
	return parts, at, nil
}

// number reads a number from 0 to most, without a zero in front, and the end of its line. It returns where
// the next line begins, or 0 if the line is not complete.
func number(data []byte, at, most int, wrong error) (n, next int, err error) {
	begin := at
	for ; at < len(data) && data[at] >= '0' && data[at] <= '9'; at++ {
		if n = n*10 + int(data[at]-'0'); n > most {
			return 0, 0, wrong
		}
	}
	switch left := len(data) - at; {
	case at > begin+1 && data[begin] == '0':
		return 0, 0, wrong
	case left <= 0:
		return 0, 0, nil
	case at == begin || data[at] != '\r' || left > 1 && data[at+1] != '\n':
		return 0, 0, wrong
	case left == 1:
		return 0, 0, nil
	}
	return n, at + 2, nil
}

// inline reads a command as people type it: words on a line.
func inline(data []byte, parts [][]byte, most bounds) (_ [][]byte, n int, err error) {
	end := bytes.IndexByte(data[:min(len(data), most.bytes)], '\n')
	switch {
	case end < 0 && len(data) >= most.bytes:
		return parts, 0, fmt.Errorf("%w: a line may have %d bytes", errTooLarge, most.bytes)
	case end < 0:
		return parts, 0, nil
	}
	for rest := bytes.TrimLeft(data[:end+1], blanks); len(rest) > 0; rest = bytes.TrimLeft(rest, blanks) {
		var word []byte
		if word, rest, err = next(rest); err != nil {
			return parts, 0, err
		}
		parts = append(parts, word)
	}
	// A page in a browser can send this to a port of its host, and must not send commands after it.
	if len(parts) > 0 && (is(parts[0], "POST") || is(parts[0], "HOST:")) {
		return parts, 0, errWeb
	}
	if len(parts) > most.parts {
		return nil, 0, most.exceeded(len(parts), end+1)
	}
	return parts, end + 1, nil
}

// blanks stand between the words of a line.
const blanks = " \t\r\n\v\f"

// next takes a word from a line, as Redis does: a part in quotes ends it. The quoted part is copied,
// because the line is read again if it belongs to a transaction.
func next(line []byte) (word, rest []byte, err error) {
	at := bytes.IndexAny(line, " \t\r\n\"'")
	quote := line[at]
	if quote <= ' ' {
		return line[:at], line[at:], nil
	}
	word = bytes.Clone(line[:at])
	for rest = line[at+1:]; len(rest) > 1; rest = rest[1:] {
		b := rest[0]
		switch {
		case b == quote && strings.IndexByte(blanks, rest[1]) < 0:
			return nil, nil, errQuotes
		case b == quote:
			return word, rest[1:], nil
		case b == '\\' && (quote == '"' || rest[1] == quote):
			b, rest = rest[1], rest[1:]
			if named := strings.IndexByte("nrtba", b); named >= 0 {
				b = "\n\r\t\b\a"[named]
			} else if code, err := hex.DecodeString(string(rest[1:min(len(rest), 3)])); b == 'x' && err == nil && len(code) == 1 {
				b, rest = code[0], rest[2:]
			}
		}
		word = append(word, b)
	}
	return nil, nil, errQuotes
}

// is reports whether a word is a name, in small or large letters.
func is(word []byte, name string) bool {
	return len(word) == len(name) && strings.EqualFold(string(word), name)
}

// count reads a number as a client writes it: decimal digits, without a zero in front.
func count(word []byte) (n int, ok bool) {
	const bits = 30 // more than every limit
	u, err := strconv.ParseUint(string(word), 10, bits)
	return int(u), err == nil && (word[0] != '0' || len(word) == 1)
}
