package idsort

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"snowfence.example/snowfence"
)

// run is items in order, as pages in order.
type run struct{ pages []page }

// add puts items on a shelf, as pages of up to so many items.
func (r *run) add(s *shelf, items []Item, size int) error {
	var data []byte
	for part := range slices.Chunk(items, size) {
		data = appendPage(data[:0], part)
		p, err := s.put(data, len(part))
		if err != nil {
			return err
		}
		r.pages = append(r.pages, p)
	}
	return nil
}

// appendPage writes items in order. Of each it writes by how much the id is above
// the one before, and how far the position is from the one behind the position
// before: ids that rise in the order of reading take one byte for that.
func appendPage(data []byte, items []Item) []byte {
	var before Item
	for _, x := range items {
		data = binary.AppendUvarint(data, key(x)-key(before))
		data = binary.AppendVarint(data, int64(x.At-before.At-1))
		before = x
	}
	return data
}

// errPage is returned for a page that is damaged.
var errPage = errors.New("what was put aside came back damaged")

// readPage reads a page into items, which is as long as the page has items.
func readPage(data []byte, items []Item) error {
	var before Item
	for i := range items {
		id, n := binary.Uvarint(data)
		if n <= 0 {
			return errPage
		}
		at, m := binary.Varint(data[n:])
		if m <= 0 {
			return errPage
		}
		data = data[n+m:]
		before = Item{ID: before.ID + snowfence.ID(id), At: before.At + uint64(at) + 1}
		items[i] = before
	}
	if len(data) > 0 {
		return errPage
	}
	return nil
}

// cursor reads a run.
type cursor struct {
	pages []page // to come
	room  []Item
	items []Item // of the page that was read, not yet taken
}

// fill reads the next page if all items are taken. At the end there are none.
func (c *cursor) fill(buffer []byte) ([]byte, error) {
	if len(c.items) > 0 || len(c.pages) == 0 {
		return buffer, nil
	}
	p := c.pages[0]
	data, buffer, err := p.get(buffer)
	if err != nil {
		return buffer, err
	}
	c.pages, c.items = c.pages[1:], c.room[:p.items]
	return buffer, readPage(data, c.items)
}

// merge hands out the items of runs, in order, in slices that are valid until emit
// returns.
//
// It goes by rounds. No item of a later page is below the lowest of the last items of
// the open pages. So each round takes the items up to that one, and sorts these few.
func merge(ctx context.Context, runs []*run, size int, emit func([]Item) error) error {
	cursors := make([]*cursor, len(runs))
	for i, r := range runs {
		cursors[i] = &cursor{pages: r.pages, room: make([]Item, size)}
	}
	var buffer []byte
	var gathered, spare []Item
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, c := range cursors {
			var err error
			if buffer, err = c.fill(buffer); err != nil {
				return err
			}
		}
		cursors = slices.DeleteFunc(cursors, func(c *cursor) bool { return len(c.items) == 0 })
		if len(cursors) == 0 {
			return nil
		}
		bound := cursors[0].items[len(cursors[0].items)-1]
		for _, c := range cursors {
			if last := c.items[len(c.items)-1]; less(last, bound) {
				bound = last
			}
		}
		gathered = gathered[:0]
		runs := 0
		for _, c := range cursors {
			n := sort.Search(len(c.items), func(i int) bool { return less(bound, c.items[i]) })
			gathered = append(gathered, c.items[:n]...)
			c.items = c.items[n:]
			runs += min(n, 1)
		}
		if len(spare) < len(gathered) {
			spare = make([]Item, cap(gathered))
		}
		items := gathered
		if runs > 1 {
			items = order(gathered, spare)
		}
		if err := emit(items); err != nil {
			return err
		}
	}
}
