package idsort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// batch is how many items are asked of a source at a time.
const batch = 1 << 13

// Phase is the part of a sort that is running: Reading, then Merging.
type Phase int32

// The phases.
const (
	Reading Phase = iota
	Merging
)

// Progress is how far a sort is. It is safe for concurrent use, its zero value too.
type Progress struct {
	phase, ids, merged atomic.Int64
}

// Snapshot is a moment of a [Progress]: ids that were read, and how many of them were
// handed out.
type Snapshot struct {
	Phase       Phase
	IDs, Merged uint64
}

// Snapshot returns how far it is now.
func (p *Progress) Snapshot() Snapshot {
	return Snapshot{Phase(p.phase.Load()), uint64(p.ids.Load()), uint64(p.merged.Load())}
}

// reading is the part of a sort in which ids come in. Goroutines look at the full chunks, one after the other, and
// sort them.
type reading struct {
	*Sorted
	open  *chunk // that is filled
	spans []span // of its items
	free  chan *chunk
	turn  chan struct{} // closed when all chunks before the open one were looked at
	busy  sync.WaitGroup
	stop  context.CancelCauseFunc
}

// span is the items of a chunk that are of one input.
type span struct {
	seen      *Seen
	number    int // of the input
	first, to int
}

// read reads the inputs into pages.
func (s *Sorted) read(ctx context.Context, inputs []Input) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &reading{Sorted: s, open: &chunk{}, free: make(chan *chunk, s.Sizes.Workers), turn: make(chan struct{}), stop: stop}
	close(r.turn) // of the first
	for range s.Sizes.Workers {
		r.free <- &chunk{} // its room is made when it is needed
	}
	for n := 0; n < len(inputs) && err == nil; n++ {
		err = r.input(ctx, n, inputs[n])
	}
	r.put()
	r.busy.Wait()
	slices.SortStableFunc(s.spill.pages, func(a, b page) int { return cmp.Compare(a.chunk, b.chunk) })
	if cause := context.Cause(ctx); cause != nil {
		return cause // of a goroutine, or of the caller
	}
	return err
}

// input reads one input.
func (r *reading) input(ctx context.Context, number int, in Input) (err error) {
	src, err := in.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closed := src.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close %s: %w", src.Name(), closed)
		}
	}()
	base := uint64(0)
	if number > 0 {
		base = r.Inputs[number-1].top
	}
	seen := &Seen{Source: src, top: base}
	r.Inputs = append(r.Inputs, seen)
	r.spans = append(r.spans, span{seen, number, len(r.open.items), len(r.open.items)})
	for {
		c := r.open
		if c.items == nil {
			c.items = make([]Item, 0, r.Sizes.Chunk)
		}
		have := len(c.items)
		got, err := src.Read(ctx, c.items[have:min(have+batch, cap(c.items))])
		c.items = c.items[:have+got]
		items := c.items[have:]
		for i := range items {
			items[i].At += base
			seen.top = items[i].At
		}
		seen.IDs += uint64(got)
		r.spans[len(r.spans)-1].to = len(c.items)
		r.Progress.ids.Add(int64(got))
		if len(c.items) == cap(c.items) {
			r.put()
			r.spans = append(r.spans, span{seen, number, 0, 0})
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// put lets the open chunk be looked at, sorted and kept, and opens another.
func (r *reading) put() {
	c, number, spans, turn, next := r.open, r.chunks, r.spans, r.turn, make(chan struct{})
	r.chunks++
	r.spans, r.turn = nil, next
	r.busy.Go(func() {
		<-turn
		r.look(c, spans)
		close(next)
		if err := r.spill.add(c.sort(), number); err != nil {
			r.stop(err)
		}
		c.items = c.items[:0]
		r.free <- c
	})
	r.open = <-r.free
}

// look shows the items of a chunk in the order of reading.
func (r *reading) look(c *chunk, spans []span) {
	for _, s := range spans {
		items := c.items[s.first:s.to]
		s.seen.Rounding.Add(items)
		if r.See != nil {
			r.See(s.number, items)
		}
	}
}
