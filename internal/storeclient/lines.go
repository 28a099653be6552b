package storeclient

import (
	"bytes"
	"fmt"
)

// Lines follows a protocol of lines, where a line may announce bytes behind it.
type Lines struct {
	Most int // bytes of a line

	line []byte // the beginning of a line
	rest int    // bytes behind a line that are still to come
}

// Take looks at the bytes that came next. It calls take with each line, without its LF; that returns how many bytes
// are behind the line. It calls behind with each such line: left is how many follow it.
func (l *Lines) Take(b []byte, take func(line []byte) (int, error), behind func(part []byte, left int) error) (err error) {
	for len(b) > 0 {
		if l.rest > 0 {
			n := min(l.rest, len(b))
			l.rest -= n
			if err := behind(b[:n], l.rest); err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if len(l.line)+len(line) > l.Most {
			return fmt.Errorf("a line of more than %d bytes", l.Most)
		}
		if !whole {
			l.line = append(l.line, line...)
			return nil
		}
		if len(l.line) > 0 {
			line = append(l.line, line...)
			l.line = l.line[:0]
		}
		if l.rest, err = take(line); err != nil {
			return err
		}
		b = rest
	}
	return nil
}
