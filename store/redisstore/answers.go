package redisstore

import (
	"bytes"
	"fmt"
	"strconv"

	"snowfence.example/snowfence/store"
)

const (
	// maxAnswer is the most bytes of one answer: a page of the longest registers, and a
	// mebibyte more.
	maxAnswer = pageSize*(valueAt+store.MaxValue) + 1<<20

	maxLine     = 64 << 10      // of a status, an error, a number or a length
	maxElements = 16 * pageSize // of all lists of one answer
	maxDepth    = 8             // of lists within lists
)

// answers follows RESP2, which servers are asked for, and RESP3, which the client library asks
// Sentinels for. The library makes room for a length of any size. RESP3's attributes, which no
// server sends, would be recursion without end.
type answers struct {
	line     []byte // the beginning of a line
	text     int    // bytes of a text that are still to come, with its end
	open     []int  // elements still to come of each list that has begun
	size     int    // bytes of the present answer
	elements int    // elements of its lists
}

// Asked implements storeclient.Answers.
func (a *answers) Asked([]byte) {}

// Take implements storeclient.Answers.
func (a *answers) Take(b []byte) error {
	for len(b) > 0 {
		if a.text > 0 {
			n := min(a.text, len(b))
			a.text -= n
			b = b[n:]
			if a.text == 0 {
				a.ended()
			}
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
		if err := a.element(line); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// element takes in a line, which is an element, or begins one.
func (a *answers) element(line []byte) error {
	line, whole := bytes.CutSuffix(line, []byte("\r"))
	if !whole || len(line) == 0 {
		return fmt.Errorf("the line %.32q: must have a type and end in CRLF: is it a Redis server?", line)
	}
	if err := a.grow(len(line)); err != nil {
		return err
	}
	list := int64(0) // values that make an element of a list; 0 of what is no list
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		a.ended()
		return nil
	case '$', '!', '=':
	case '*', '~', '>':
		list = 1
	case '%':
		list = 2
	default:
		return fmt.Errorf("the line %.32q: its first byte is no type of RESP: is it a Redis server?", line)
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	switch {
	case err != nil || n < -1:
		return fmt.Errorf("the length %.32q: must be a number from -1", line)
	case n == -1 || n == 0 && list > 0:
		a.ended()
		return nil
	case list == 0 && n > int64(maxAnswer):
		return fmt.Errorf("a text of %d bytes: an answer must have at most %d", n, maxAnswer)
	case list == 0:
		a.text = int(n) + len("\r\n")
		return a.grow(a.text)
	case len(a.open) == maxDepth:
		return fmt.Errorf("lists within lists, more than %d deep", maxDepth)
	case n > int64(maxElements-a.elements)/list:
		return fmt.Errorf("a list of %d elements: an answer must have at most %d", n, maxElements)
	}
	a.elements += int(n * list)
	a.open = append(a.open, int(n*list))
	return nil
}

// grow counts bytes of the present answer.
func (a *answers) grow(n int) error {
	if a.size += n; a.size > maxAnswer {
		return fmt.Errorf("an answer of %d bytes or more: must have at most %d", a.size, maxAnswer)
	}
	return nil
}

// ended takes note of the end of an element, and so of lists whose last it is.
func (a *answers) ended() {
	for len(a.open) > 0 {
		last := len(a.open) - 1
		if a.open[last]--; a.open[last] > 0 {
			return
		}
		a.open = a.open[:last]
	}
	a.size, a.elements = 0, 0
}
