package idsort

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
)

// Each hands out all items, ids in rising order as unsigned numbers and equal ids
// in the order of reading, in slices that are valid until emit returns. It ends
// with the error of emit, that of reading, or the cause of the context's end.
func (s *Sorted) Each(ctx context.Context, emit func([]Item) error) error {
	return s.pieces(ctx, s.shelf, numbers(0, len(s.shelf.pages)), 0, math.MaxUint64, func(items []Item) error {
		s.Progress.merged.Add(int64(len(items)))
		return emit(items)
	})
}

// pieces hands out the items of pages whose ids are from low to high, as one piece or
// as two halves. A page is read for each piece that it reaches into.
func (s *Sorted) pieces(ctx context.Context, from *shelf, pages []int32, low, high uint64, emit func([]Item) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	within := make([]int32, 0, len(pages))
	items, rising, last := 0, true, low
	for _, n := range pages {
		p := &from.pages[n]
		if p.last < low || p.first > high {
			continue
		}
		rising = rising && last <= max(p.first, low)
		items, last = items+int(p.items), min(p.last, high)
		within = append(within, n)
	}
	// Small pieces fit the processor's memory. Much smaller ones would read pages too often.
	most := min(2*s.Sizes.Fan*s.Sizes.Page, max(mostChunk, 8*s.chunks*s.Sizes.Page))
	together := max(1, len(within))
	switch {
	case rising: // so are all pieces of one value
		together = 1
	case items > most:
		middle := low + (high-low)/2
		if err := s.pieces(ctx, from, within, low, middle, emit); err != nil {
			return err
		}
		return s.pieces(ctx, from, within, middle+1, high, emit)
	}
	if together > 1 {
		s.piece.items = slices.Grow(s.piece.items[:0], min(most, int(s.Progress.ids.Load()))) // once for all pieces
	}
	for group := range slices.Chunk(within, together) {
		s.piece.items = s.piece.items[:0]
		for _, n := range group {
			if err := from.get(&from.pages[n], low, high, &s.piece); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := emit(s.piece.sort()); err != nil {
			return err
		}
	}
	return nil
}

// reduce merges chunks to fewer, as long as they are more than can be merged at a
// time. Neighbours are merged, so that pages stay in the order of reading.
func (s *Sorted) reduce(ctx context.Context) error {
	for s.chunks > s.Sizes.Fan {
		before, pages := s.shelf, s.shelf.pages
		s.spilled += before.written
		s.shelf = &shelf{Config: s.Config}
		fewer := 0
		for from := 0; from < len(pages); fewer++ {
			n := sort.Search(len(pages), func(i int) bool { return pages[i].chunk >= pages[from].chunk+int32(s.Sizes.Fan) })
			err := s.pieces(ctx, before, numbers(from, n), 0, math.MaxUint64, func(items []Item) error { return s.shelf.add(items, fewer) })
			if err != nil {
				return cmp.Or(err, before.close())
			}
			from = n
		}
		s.chunks = fewer
		if err := before.close(); err != nil {
			return err
		}
	}
	return nil
}

// numbers are the numbers of pages.
func numbers(from, to int) (all []int32) {
	all = make([]int32, to-from)
	for i := range all {
		all[i] = int32(from + i)
	}
	return all
}
