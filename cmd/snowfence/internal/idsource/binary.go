package idsource

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"snowfence.example/snowfence"
)

// width is the length of an id in the binary formats, in bytes.
const width = 8

// words is a [Source]: a sequence of ids of 8 bytes each.
type words struct {
	*input
	*reading
	little bool
	count  uint64
}

func (*words) Place(at uint64) string { return fmt.Sprintf("id %d (byte %d)", at, (at-1)*width) }

func (w *words) Read(ctx context.Context, items []Item) (n int, err error) {
	defer w.until(ctx)()
	rest, err := w.Peek(width)
	if errors.Is(err, io.EOF) && len(rest) > 0 {
		_, _ = w.Discard(len(rest)) // there are so many
		text := fmt.Sprintf("%x", rest)
		reason := &snowfence.IDError{Form: "binary", Text: text, Position: -1, Reason: fmt.Sprintf("has %d bytes at the end, not %d", len(rest), width)}
		if refused := w.refuse(&InvalidError{w.name, w.Place(w.count + 1), text, reason, ""}); refused != nil {
			err = refused
		}
	}
	if err != nil {
		return 0, err
	}
	n = min(len(items), w.Buffered()/width)
	window, _ := w.Peek(n * width) // they are buffered
	for i := range n {
		w.count++
		items[i] = Item{snowfence.ID(word(window[i*width:], w.little)), w.count}
	}
	_, _ = w.Discard(len(window))
	return n, nil
}

// word reads 8 bytes.
func word(b []byte, little bool) uint64 {
	if little {
		return binary.LittleEndian.Uint64(b)
	}
	return binary.BigEndian.Uint64(b)
}
