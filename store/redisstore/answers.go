package redisstore

import (
	"bytes"
	"fmt"
	"strconv"

	"snowfence.example/snowfence/internal/storeclient"
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
	lines    storeclient.Lines
	open     []int // elements still to come of each list that has begun
	size     int   // bytes of the present answer
	elements int   // elements of its lists
}

func newAnswers() storeclient.Answers { return &answers{lines: storeclient.Lines{Most: maxLine}} }

// Asked implements storeclient.Answers.
func (a *answers) Asked([]byte) {}

// Take implements storeclient.Answers.
func (a *answers) Take(b []byte) error {
	return a.lines.Take(b, a.element, func(_ []byte, left int) error {
		if left == 0 {
			a.ended()
		}
		return nil
	})
}

// element takes in a line, which is an element, or begins one. It returns how many bytes of a text are behind it.
func (a *answers) element(line []byte) (text int, err error) {
	line, whole := bytes.CutSuffix(line, []byte("\r"))
	if !whole || len(line) == 0 {
		return 0, fmt.Errorf("the line %.32q: must have a type and end in CRLF: is it a Redis server?", line)
	}
	if err := a.grow(len(line)); err != nil {
		return 0, err
	}
	list := int64(0) // values that make an element of a list; 0 of anything else
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		a.ended()
		return 0, nil
	case '$', '!', '=':
	case '*', '~', '>':
		list = 1
	case '%':
		list = 2
	default:
		return 0, fmt.Errorf("the line %.32q: its first byte is not a type of RESP: is it a Redis server?", line)
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	switch {
	case err != nil || n < -1:
		return 0, fmt.Errorf("the length %.32q: must be a number from -1", line)
	case n == -1 || n == 0 && list > 0:
		a.ended()
		return 0, nil
	case list == 0 && n > int64(maxAnswer):
		return 0, fmt.Errorf("a text of %d bytes: an answer must have at most %d", n, maxAnswer)
	case list == 0:
		text = int(n) + len("\r\n")
		return text, a.grow(text)
	case len(a.open) == maxDepth:
		return 0, fmt.Errorf("lists within lists, more than %d deep", maxDepth)
	case n > int64(maxElements-a.elements)/list:
		return 0, fmt.Errorf("a list of %d elements: an answer must have at most %d", n, maxElements)
	}
	a.elements += int(n * list)
	a.open = append(a.open, int(n*list))
	return 0, nil
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
