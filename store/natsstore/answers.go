package natsstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

const (
	maxLine     = 64 << 10       // of what the server says of itself and of errors, and of a message's beginning
	maxMessage  = 1<<20 + 64<<10 // a server's max_payload is 1 MiB by default
	maxUnasked  = 8 << 20        // bytes since the last request: some pages of several lists
	maxMessages = 64 * page      // messages since the last request
)

// answers follows the protocol of NATS. The client library takes a message's length for
// granted, and keeps every message of a subscription until it is read.
type answers struct {
	line     []byte // the beginning of a line
	payload  int    // bytes of a message that are still to come, with its end
	bytes    int    // since the last request
	messages int    // since the last request
}

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
	for len(b) > 0 {
		if a.payload > 2 {
			n := min(a.payload-2, len(b))
			a.payload -= n
			b = b[n:]
			continue
		}
		if a.payload > 0 {
			if b[0] != "\n\r"[a.payload-1] {
				return errors.New("a message that does not end where its length says")
			}
			a.payload--
			b = b[1:]
			continue
		}
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if len(a.line)+len(line) > maxLine {
			return fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		if !whole {
			a.line = append(a.line, line...)
			return nil
		}
		if len(a.line) > 0 {
			line = append(a.line, line...)
			a.line = a.line[:0]
		}
		if err := a.control(line); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// control takes in a line.
func (a *answers) control(line []byte) error {
	line, whole := bytes.CutSuffix(line, []byte("\r"))
	words := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if !whole || bytes.ContainsRune(line, '\r') || len(words) == 0 {
		return fmt.Errorf("the line %.32q: must have words and end in CRLF: is it a NATS server?", line)
	}
	operation := string(bytes.ToUpper(words[0]))
	var lengths int
	switch operation {
	case "INFO", "PING", "PONG", "+OK", "-ERR":
		return nil
	case "MSG":
		lengths = 1
	case "HMSG":
		lengths = 2
	default:
		return fmt.Errorf("the line %.32q: its first word is none of the protocol: is it a NATS server?", line)
	}
	// Subject, subscription, where to answer (or not), lengths.
	if n := len(words) - lengths; n != 3 && n != 4 {
		return fmt.Errorf("the line %.80q: must have a subject, a subscription and %d length(s)", line, lengths)
	}
	var sizes []uint64
	for _, word := range words[len(words)-lengths:] {
		n, err := strconv.ParseUint(string(word), 10, 64)
		if err != nil || n > maxMessage {
			return fmt.Errorf("a message whose length is %.32q: must be a number up to %d", word, maxMessage)
		}
		sizes = append(sizes, n)
	}
	if !slices.IsSorted(sizes) {
		return fmt.Errorf("a message of %d bytes with a header of %d", sizes[1], sizes[0])
	}
	if a.messages++; a.messages > maxMessages {
		return fmt.Errorf("more than %d messages after one request", maxMessages)
	}
	a.payload = int(sizes[len(sizes)-1]) + len("\r\n")
	return nil
}
