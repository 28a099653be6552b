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

// words is a sequence of ids of 8 bytes each.
type words struct {
	*input
	refusals
	little bool
	count  uint64
}

// newWords reads a binary format.
func newWords(in *input, o Options) *words {
	return &words{input: in, refusals: refusals{skip: o.SkipInvalid}, little: o.Format == BinaryLittle}
}

// Name implements Source.
func (w *words) Name() string { return w.input.Name() }

// Place implements Source.
func (*words) Place(at uint64) string { return fmt.Sprintf("id %d (byte %d)", at, (at-1)*width) }

// Read implements Source.
func (w *words) Read(ctx context.Context, items []Item) (n int, err error) {
	for w.high-w.low < width {
		err := w.more(ctx)
		if errors.Is(err, io.EOF) && w.high > w.low {
			rest := w.window[w.low:w.high]
			w.low = w.high
			err = w.refuse(&InvalidError{w.input.name, w.Place(w.count + 1), fmt.Sprintf("%x", rest),
				&snowfence.IDError{Form: "binary", Text: fmt.Sprintf("%x", rest), Position: -1, Reason: fmt.Sprintf("has %d bytes at the end, not %d", len(rest), width)}, ""})
			if err == nil {
				err = io.EOF
			}
		}
		if err != nil {
			return 0, err
		}
	}
	window := w.window[w.low:w.high]
	n = min(len(items), len(window)/width)
	for i := range n {
		word := binary.BigEndian.Uint64(window[i*width:])
		if w.little {
			word = binary.LittleEndian.Uint64(window[i*width:])
		}
		items[i] = Item{snowfence.ID(word), w.count + uint64(i) + 1}
	}
	w.count += uint64(n)
	w.low += n * width
	return n, nil
}
