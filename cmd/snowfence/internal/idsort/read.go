package idsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// batch is how many items are asked of a source at a time.
const batch = 1 << 13

// reading is the part of a sort in which ids come in. Chunks that are full are
// sorted and put aside by goroutines of their own.
type reading struct {
	*Sorted
	top  uint64 // the highest position
	open *chunk // nil: none
	free chan *chunk
	busy sync.WaitGroup
	stop context.CancelCauseFunc
}

// chunk is room for items that are sorted together.
type chunk struct{ items, spare []Item }

// sorted returns the items in order.
func (c *chunk) sorted() []Item {
	if rising(c.items) {
		return c.items
	}
	if c.spare == nil {
		c.spare = make([]Item, cap(c.items))
	}
	return order(c.items, c.spare)
}

// readAll reads the inputs into runs.
func (s *Sorted) readAll(ctx context.Context, inputs []Input) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &reading{Sorted: s, free: make(chan *chunk, s.Sizes.Workers+1), stop: stop}
	for range s.Sizes.Workers + 1 {
		r.free <- &chunk{} // its room is made when it is needed
	}
	s.Progress.size.Store(sizeOf(inputs))
	items := make([]Item, batch)
	var err error
	for n := 0; n < len(inputs) && err == nil; n++ {
		err = r.read(ctx, n, inputs[n], items)
		s.tops = append(s.tops, r.top)
	}
	r.put()
	r.busy.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause // of a goroutine, or of the caller
	}
	return err
}

// sizeOf is the size of all inputs, or 0 if one is not known.
func sizeOf(inputs []Input) (size int64) {
	for _, in := range inputs {
		if in.Size <= 0 {
			return 0
		}
		size += in.Size
	}
	return size
}

// read reads one input.
func (r *reading) read(ctx context.Context, n int, in Input, items []Item) (err error) {
	src, err := in.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closed := src.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close %s: %w", src.Name(), closed)
		}
	}()
	base, done := r.top, r.Progress.bytes.Load()
	for {
		got, err := src.Read(ctx, items)
		for i := range items[:got] {
			items[i].At += base
		}
		if got > 0 {
			r.top = items[got-1].At
		}
		if r.See != nil {
			r.See(n, items[:got])
		}
		r.Progress.ids.Add(int64(got))
		r.Progress.bytes.Store(done + src.Done())
		if added := r.add(ctx, items[:got]); added != nil {
			return added
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add adds items to the open chunk.
func (r *reading) add(ctx context.Context, items []Item) error {
	for len(items) > 0 {
		if r.open == nil {
			select {
			case r.open = <-r.free:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		c := r.open
		if c.items == nil {
			c.items = make([]Item, 0, r.Sizes.Chunk)
		}
		n := min(len(items), cap(c.items)-len(c.items))
		c.items = append(c.items, items[:n]...)
		items = items[n:]
		if len(c.items) == cap(c.items) {
			r.put()
		}
	}
	return nil
}

// put lets the open chunk be sorted and put aside.
func (r *reading) put() {
	c := r.open
	if c == nil {
		return
	}
	run := &run{}
	r.open, r.runs = nil, append(r.runs, run)
	r.busy.Go(func() {
		if err := run.add(r.shelf, c.sorted(), r.Sizes.Page); err != nil {
			r.stop(err)
		}
		c.items = c.items[:0]
		r.free <- c
	})
}
