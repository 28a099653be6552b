package check

import (
	"context"
	"fmt"
	"runtime/debug"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// Sorted is the ids of several inputs in rising order, for those who have questions
// of their own about them: what stands on two sides, for one. It is for one
// goroutine.
type Sorted struct {
	c    *checker
	tops []uint64
}

// Sort reads the inputs as [Run] does, in the same bounds of memory, and with the
// same errors. Of the config it takes Memory, Temp, Layout, Now and Progress.
// Whoever calls it closes what it returns.
func Sort(ctx context.Context, inputs []Input, cfg Config) (*Sorted, error) {
	c, err := newChecker(inputs, cfg)
	if err != nil {
		return nil, err
	}
	s := &Sorted{c: c}
	err = s.sort(ctx)
	if err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	return s, nil
}

// sort reads everything, and makes the runs few enough to be merged at a time.
func (s *Sorted) sort(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := s.c.readAll(ctx, stop); err != nil {
		return err
	}
	debug.FreeOSMemory()
	s.c.Progress.phase.Store(int64(Merging))
	for _, w := range s.c.observer.sources {
		s.tops = append(s.tops, w.top)
	}
	return s.c.reduce(ctx)
}

// Each hands out all items, ids in rising order as unsigned numbers and equal ones
// in the order in which they were read, in slices that are valid until emit
// returns. Their At is a position that [Sorted.Stand] reads. It ends with the error
// of emit, or that of reading what was put aside.
func (s *Sorted) Each(ctx context.Context, emit func([]idsource.Item) error) error {
	return merge(ctx, s.c.runs, span{0, ^uint64(0)}, pageBytes(s.c.sizes.pageItems), func(items []item) error {
		s.c.Progress.merged.Add(int64(len(items)))
		return emit(items)
	})
}

// Stand says of a position which input it is of, counted from 0, and which item of
// that one: what [idsource.Source.Place] takes.
func (s *Sorted) Stand(at uint64) (input int, in uint64) {
	input = sourceOf(s.tops, at)
	if input > 0 {
		at -= s.tops[input-1]
	}
	return input, at
}

// Close drops what was put aside.
func (s *Sorted) Close() error {
	if err := s.c.shelf.close(); err != nil {
		return fmt.Errorf("drop what was put aside: %w", err)
	}
	return nil
}
