package natsstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"snowfence.example/snowfence/internal/storeclient"
)

const (
	maxLine     = 64 << 10       // of the server's INFO and errors, and of a message's beginning
	maxMessage  = 1<<20 + 64<<10 // a server's max_payload is 1 MiB by default
	maxUnasked  = 8 << 20        // bytes since the last request: some pages of several lists
	maxMessages = 64 * page      // messages since the last request
)

// answers follows the protocol of NATS. The client library takes a message's length for
// granted, and keeps every message of a subscription until it is read.
type answers struct {
	lines    storeclient.Lines
	bytes    int // since the last request
	messages int // since the last request
}

func newAnswers() storeclient.Answers { return &answers{lines: storeclient.Lines{Most: maxLine}} }

// Asked implements storeclient.Answers. A server can make the client answer its pings: these
// are no requests.
func (a *answers) Asked(b []byte) {
	if bytes.Contains(b, []byte("PUB ")) {
		a.bytes, a.messages = 0, 0
	}
}

// Take implements storeclient.Answers.
func (a *answers) Take(b []byte) error {
	if a.bytes += len(b); a.bytes > maxUnasked {
		return fmt.Errorf("more than %d bytes after one request", maxUnasked)
	}
	return a.lines.Take(b, a.control, func(part []byte, left int) error {
		// The last two of a message are its end.
		for i, end := range "\r\n" {
			if at := len(part) - 2 + i + left; at >= 0 && at < len(part) && rune(part[at]) != end {
				return errors.New("a message without CRLF where its length ends")
			}
		}
		return nil
	})
}

// control takes in a line. It returns how many bytes of a message are behind it, with its end.
func (a *answers) control(line []byte) (int, error) {
	line, whole := bytes.CutSuffix(line, []byte("\r"))
	words := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if !whole || bytes.ContainsRune(line, '\r') || len(words) == 0 {
		return 0, fmt.Errorf("the line %.32q: must have words and end in CRLF: is it a NATS server?", line)
	}
	operation := string(bytes.ToUpper(words[0]))
	var lengths int
	switch operation {
	case "INFO", "PING", "PONG", "+OK", "-ERR":
		return 0, nil
	case "MSG":
		lengths = 1
	case "HMSG":
		lengths = 2
	default:
		return 0, fmt.Errorf("the line %.32q: its first word is none of the protocol: is it a NATS server?", line)
	}
	// Subject, subscription, where to answer (or not), lengths.
	if n := len(words) - lengths; n != 3 && n != 4 {
		return 0, fmt.Errorf("the line %.80q: must have a subject, a subscription and %d length(s)", line, lengths)
	}
	var sizes []uint64
	for _, word := range words[len(words)-lengths:] {
		n, err := strconv.ParseUint(string(word), 10, 64)
		if err != nil || n > maxMessage {
			return 0, fmt.Errorf("a message whose length is %.32q: must be a number up to %d", word, maxMessage)
		}
		sizes = append(sizes, n)
	}
	if !slices.IsSorted(sizes) {
		return 0, fmt.Errorf("a message of %d bytes with a header of %d", sizes[1], sizes[0])
	}
	if a.messages++; a.messages > maxMessages {
		return 0, fmt.Errorf("more than %d messages after one request", maxMessages)
	}
	return int(sizes[len(sizes)-1]) + len("\r\n"), nil
}
