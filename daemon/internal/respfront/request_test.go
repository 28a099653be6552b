package respfront

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words are the parts of a command as texts.
func words(parts [][]byte) []string {
	all := []string{}
	for _, p := range parts {
		all = append(all, string(p))
	}
	return all
}

func TestCommandIsReadFromArraysAndLines(t *testing.T) {
	for data, want := range map[string][]string{
		"*1\r\n$4\r\nPING\r\n":                    {"PING"},
		"*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n":    {"INCR", "orders"},
		"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\x00*\r\n": {"ECHO", "\r\n\x00*"},
		"*1\r\n$0\r\n\r\n":                        {""},
		"*0\r\n":                                  {},
		"*-1\r\n":                                 {},
		"*-2147483647\r\n":                        {},
		"PING\r\n":                                {"PING"},
		"  incr\torders \r\n":                     {"incr", "orders"},
		"INCR orders\n":                           {"INCR", "orders"},
		"\r\n":                                    {},
	} {
		for end := range len(data) {
			if _, n, err := parse([]byte(data[:end]), nil, boundsOf(true)); n != 0 || err != nil {
				t.Errorf("%q: the first %d bytes are read as %d, %v", data, end, n, err)
			}
		}
		parts, n, err := parse([]byte(data+"*"), nil, boundsOf(true))
		if err != nil || n != len(data) || !slices.Equal(words(parts), want) {
			t.Errorf("%q: %q, %d bytes, %v", data, words(parts), n, err)
		}
	}
}

func TestCommandThatCanNotBeReadIsAnError(t *testing.T) {
	for data, want := range map[string]error{
		"*x\r\n":                        errArrayLength,
		"*\r\n":                         errArrayLength,
		"*-\r\n":                        errArrayLength,
		"*-2147483648\r\n":              errArrayLength,
		"*2147483648\r\n":               errArrayLength,
		"*01\r\n":                       errArrayLength,
		"*1\r\n$04":                     errBulkLength,
		"*99999999999999999999":         errArrayLength,
		"*1\rx":                         errArrayLength,
		"*1\r\n+OK\r\n":                 errNoBulk,
		"*1\r\n$1073741824\r\n":         errBulkLength,
		"*1\r\n$-1\r\n":                 errBulkLength,
		"*1\r\n$1\r\nabc":               errNoLineEnd,
		strings.Repeat("x", maxCommand): errTooLarge,
		"PING \"x\r\n":                  errQuotes,
		"POST / HTTP/1.1\r\n":           errWeb,
		"Host: 127.0.0.1:7601\r\n":      errWeb,
	} {
		if _, n, err := parse([]byte(data), nil, boundsOf(true)); n != 0 || !errors.Is(err, want) {
			t.Errorf("%.40q: %d bytes, %v, want %v", data, n, err, want)
		}
	}
}

func TestCommandThatIsTooLargeEndsTheConnection(t *testing.T) {
	long := strings.Repeat("x", maxCommand)
	for text, want := range map[string]string{
		"*65\r\n":                       "65 parts in 5 bytes: it may have 64 in 16384",
		strings.Repeat("x ", 65) + "\n": "65 parts in 131 bytes: it may have 64 in 16384",
		string(encode("ECHO", long)):    "2 parts in 16408 bytes: it may have 64 in 16384",
	} {
		l := newFixture(t, "").dial()
		_, _ = io.WriteString(l, text)
		l.wants("-ERR Protocol error: the command has "+want, "closed")
	}
	for text, limit := range map[string]string{
		"*11\r\n": "11 parts", "*1\r\n$4097\r\n": "in 4110 bytes: it may have 10 in 4096", long[:4096]: "4096 bytes",
	} {
		l := newFixture(t, "0123456789abcdef").dial()
		_, _ = io.WriteString(l, text)
		if got := l.reply(); !strings.HasPrefix(got, "-ERR Protocol error: ") || !strings.Contains(got, limit) || l.reply() != "closed" {
			t.Errorf("%.20q from a client without a token: %s", text, got)
		}
	}
}

// FuzzParse holds the parser to four rules: it reads the written parts, it keeps its bounds, part of a
// command is neither a command nor an error, and bytes after a command change nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n", "PING\r\n", "*1\r\n$1073741824\r\n", "*-1\r\n", "GET / HTTP/1.1\r\n",
		"*5\r\n$7\r\nID.NEXT\r\n$1\r\na\r\n$5\r\nCOUNT\r\n$3\r\n100\r\n$6\r\nRANGES\r\n", "*1\r\n$0\r\n\r\n\r\n", "*00001\r\n$1\r\nx\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, n, err := parse(data, nil, boundsOf(true))
		if n < 0 || n > len(data) || n > 0 && err != nil || len(parts) > boundsOf(true).parts {
			t.Fatalf("%d of %d bytes, %d parts, %v", n, len(data), len(parts), err)
		}
		if n == 0 || err != nil {
			if err == nil && len(data) > maxCommand {
				t.Fatalf("%d bytes without a complete command", len(data))
			}
			return
		}
		alone, m, err := parse(data[:n], nil, boundsOf(true))
		if m != n || err != nil || !slices.Equal(words(alone), words(parts)) {
			t.Fatalf("alone %q, %d bytes, %v; followed %q, %d bytes", words(alone), m, err, words(parts), n)
		}
		for end := range min(n, 300) {
			if _, m, err := parse(data[:end], nil, boundsOf(true)); m != 0 || err != nil {
				t.Fatalf("the first %d of %d bytes are read as %d, %v", end, n, m, err)
			}
		}
		written := encode(words(parts)...)
		again, m, err := parse(written, nil, bounds{len(written) + 2, boundsOf(true).parts})
		if m != len(written) || err != nil || !slices.Equal(words(again), words(parts)) {
			t.Fatalf("%q was read back as %q, %v", words(parts), words(again), err)
		}
	})
}

// encode writes a command as clients do.
func encode(parts ...string) []byte {
	var b bytes.Buffer
	b.WriteString("*" + strconv.Itoa(len(parts)) + "\r\n")
	for _, p := range parts {
		b.WriteString("$" + strconv.Itoa(len(p)) + "\r\n" + p + "\r\n")
	}
	return b.Bytes()
}
