package respfront

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
)

// bounds are how large a command may be.
type bounds struct {
	bytes int // in all
	parts int // its name and its arguments
}

// boundsOf is what a client may send, which is less before it has shown its token.
func boundsOf(authorized bool) bounds {
	if authorized {
		return bounds{maxCommand, 64}
	}
	return bounds{4 << 10, 10}
}

// maxCommand is the most bytes of a command.
const maxCommand = 16 << 10

// Errors of commands that can't be read, in the words of Redis. The connection ends with them,
// because where the next command begins is not known.
var (
	errArrayLength = errors.New("invalid multibulk length")
	errBulkLength  = errors.New("invalid bulk length")
	errNoBulk      = errors.New("expected '$'")
	errTooLarge    = errors.New("too big request")
	errNoLineEnd   = errors.New("expected CR LF after a bulk string")
	errWeb         = errors.New("this is no HTTP server")
)

// parse reads the first command in data into parts, which are slices of data. It returns how many
// bytes the command has, or 0 if it is not complete yet. A command without parts is an empty line.
func parse(data []byte, parts [][]byte, most bounds) (_ [][]byte, n int, err error) {
	read := inline
	if len(data) > 0 && data[0] == '*' {
		read = array
	}
	parts, n, err = read(data, parts[:0], most)
	if n == 0 && err == nil && len(data) >= most.bytes {
		err = errTooLarge
	}
	return parts, n, err
}

// array reads a command as programs send it: an array of bulk strings. One of a length below zero is
// empty, as in Redis.
func array(data []byte, parts [][]byte, most bounds) ([][]byte, int, error) {
	if bytes.HasPrefix(data, []byte("*-")) {
		_, at, err := number(data, len("*-"), math.MaxInt32, errArrayLength)
		return parts, at, err
	}
	count, at, err := number(data, 1, most.parts, errArrayLength)
	if at == 0 || err != nil {
		return parts, 0, err
	}
	for range count {
		if at < len(data) && data[at] != '$' {
			return parts, 0, errNoBulk
		}
		length, begin, err := number(data, at+1, most.bytes, errBulkLength)
		end := begin + length
		switch {
		case begin == 0 || err != nil:
			return parts, 0, err
		case end+2 > most.bytes:
			return parts, 0, errTooLarge
		case end+2 > len(data):
			return parts, 0, nil
		case data[end] != '\r' || data[end+1] != '\n':
			return parts, 0, errNoLineEnd
		}
		parts = append(parts, data[begin:end])
		at = end + 2
	}
	return parts, at, nil
}

// number reads a number from 0 to most, and the end of its line. It returns where the next line
// begins, or 0 if the line is not complete.
func number(data []byte, at, most int, wrong error) (n, next int, err error) {
	begin := at
	for ; at < len(data) && data[at] >= '0' && data[at] <= '9'; at++ {
		if n = n*10 + int(data[at]-'0'); n > most {
			return 0, 0, wrong
		}
	}
	switch left := len(data) - at; {
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
func inline(data []byte, parts [][]byte, most bounds) ([][]byte, int, error) {
	end := bytes.IndexByte(data[:min(len(data), most.bytes)], '\n')
	if end < 0 {
		return parts, 0, nil
	}
	for word := range bytes.FieldsSeq(data[:end]) {
		if len(parts) == most.parts {
			return parts, 0, errArrayLength
		}
		parts = append(parts, word)
	}
	// A page in a browser can send this to a port of its host, but no command after it.
	if len(parts) > 0 && (is(parts[0], "POST") || is(parts[0], "HOST:")) {
		return parts, 0, errWeb
	}
	return parts, end + 1, nil
}

// is reports whether a word is a name, in small or large letters.
func is(word []byte, name string) bool {
	return len(word) == len(name) && strings.EqualFold(string(word), name)
}

// count reads a number as a client writes it: decimal digits, and no zero in front.
func count(word []byte) (n int, ok bool) {
	const bits = 30 // no limit has more
	u, err := strconv.ParseUint(string(word), 10, bits)
	return int(u), err == nil && (word[0] != '0' || len(word) == 1)
}
