package check

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// binder makes pages of items that come in order.
type binder struct {
	shelf     *shelf
	pageItems int
	data      []byte // of the page that is being made
	items     int    // in it
	first     uint64
	held      []item // less than a block
	pages     []page
}

// add adds items.
func (b *binder) add(ctx context.Context, items []item) error {
	if b.data == nil {
		b.data = make([]byte, 0, pageBytes(b.pageItems))
	}
	if len(b.held) > 0 {
		n := min(blockItems-len(b.held), len(items))
		b.held = append(b.held, items[:n]...)
		items = items[n:]
		if len(b.held) < blockItems {
			return nil
		}
		if err := b.block(ctx, b.held); err != nil {
			return err
		}
		b.held = b.held[:0]
	}
	for len(items) >= blockItems {
		if err := b.block(ctx, items[:blockItems]); err != nil {
			return err
		}
		items = items[blockItems:]
	}
	b.held = append(b.held, items...)
	return nil
}

// block adds a block, and puts a page on the shelf when it is full.
func (b *binder) block(ctx context.Context, items []item) error {
	if b.items == 0 {
		b.first = key(items[0])
	}
	b.data = appendBlock(b.data, items)
	b.items += len(items)
	if b.items < b.pageItems {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return b.put()
}

func (b *binder) put() error {
	p, err := b.shelf.put(append(b.data, make([]byte, slack)...), b.first, b.items)
	b.pages = append(b.pages, p)
	b.data, b.items = b.data[:0], 0
	return err
}

// end returns the pages.
func (b *binder) end() ([]page, error) {
	if len(b.held) > 0 {
		if b.items == 0 {
			b.first = key(b.held[0])
		}
		b.data = appendBlock(b.data, b.held)
		b.items += len(b.held)
	}
	if b.items > 0 {
		if err := b.put(); err != nil {
			return nil, err
		}
	}
	return b.pages, nil
}

// reduce merges runs to fewer, as long as they are more than can be merged at a
// time. Neighbours are merged, so that runs stay in the order of positions.
func (c *checker) reduce(ctx context.Context) error {
	slices.SortFunc(c.runs, func(a, b run) int { return cmp.Compare(a.number, b.number) })
	for len(c.runs) > c.sizes.fan {
		drop := c.shelf.turn()
		fewer, err := c.fewer(ctx)
		if err := errors.Join(err, drop()); err != nil {
			return err
		}
		c.runs = fewer
	}
	return nil
}

// fewer merges each group of runs to one.
func (c *checker) fewer(ctx context.Context) ([]run, error) {
	var fewer []run
	for group := range slices.Chunk(c.runs, c.sizes.fan) {
		b := binder{shelf: c.shelf, pageItems: c.sizes.pageItems}
		err := merge(ctx, group, span{0, ^uint64(0)}, pageBytes(c.sizes.pageItems), func(items []item) error { return b.add(ctx, items) })
		if err != nil {
			return nil, err
		}
		pages, err := b.end()
		if err != nil {
			return nil, err
		}
		fewer = append(fewer, run{len(fewer), pages})
	}
	return fewer, nil
}

// compare merges all runs, each processor a range of ids, and counts.
func (c *checker) compare(ctx context.Context, stop context.CancelCauseFunc) (*tally, error) {
	tops := make([]uint64, len(c.observer.sources))
	for i, w := range c.observer.sources {
		tops[i] = w.top
	}
	var pairs map[[2]int]bool
	if c.Layout == nil {
		pairs = foreign(c.observer, c.Now)
	}
	spans := split(c.runs, c.sizes.workers)
	tallies := make([]*tally, len(spans))
	var merging sync.WaitGroup
	for i, s := range spans {
		t := &tally{
			tops: tops, limit: c.Limit, within: map[int]uint64{}, between: map[[2]int]uint64{},
			pairs: &judge{observer: c.observer, tops: tops, foreign: pairs, findings: map[subject]*finding{}, runs: map[runOf]*repeats{}, evenly: map[[2]int]uint64{}},
		}
		tallies[i] = t
		merging.Go(func() {
			err := merge(ctx, c.runs, s, pageBytes(c.sizes.pageItems), func(items []item) error {
				c.Progress.merged.Add(int64(len(items)))
				return t.add(items)
			})
			if err != nil {
				stop(err)
				return
			}
			t.end()
		})
	}
	merging.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, t := range tallies[1:] {
		tallies[0].join(t)
	}
	tallies[0].settle()
	return tallies[0], nil
}
