package check

import (
	"context"
	"slices"
	"sort"
)

// span is a range of ids, both ends in it.
type span struct{ first, last uint64 }

// cursor reads a run within a span.
type cursor struct {
	run    run
	span   span
	next   int    // the page to read next
	rest   []byte // of the page that is being read
	buffer []byte
	block  []item // room
	items  []item // of the block, not yet taken
}

// startOf returns the page of a run in which a span begins.
func startOf(r run, s span) int {
	// Equal ids may begin on the page before.
	n := sort.Search(len(r.pages), func(i int) bool { return r.pages[i].first >= s.first })
	return max(0, n-1)
}

// fill reads the next block that has items of the span. At the end there are
// none.
func (c *cursor) fill() error {
	for len(c.items) == 0 {
		if len(c.rest) <= slack {
			if c.next == len(c.run.pages) || c.run.pages[c.next].first > c.span.last {
				return nil
			}
			data, err := c.run.pages[c.next].get(c.buffer)
			if err != nil {
				return err
			}
			c.rest = data
			c.next++
		}
		n, rest, err := readBlock(c.rest, c.block)
		if err != nil {
			return err
		}
		c.rest, c.items = rest, c.block[:n]
		if key(c.items[0]) < c.span.first {
			c.items = c.items[below(c.items, c.span.first):]
		}
		if n := len(c.items); n > 0 && key(c.items[n-1]) > c.span.last {
			c.items = c.items[:below(c.items, c.span.last+1)]
			c.rest, c.next = nil, len(c.run.pages)
		}
	}
	return nil
}

// below returns how many items are below an id.
func below(items []item, id uint64) int {
	return sort.Search(len(items), func(i int) bool { return key(items[i]) >= id })
}

// merge hands out the items of runs within a span, in order, in slices that are
// valid until emit returns. A run is opened when its ids come up, so runs that do
// not overlap are read one after the other.
//
// It goes by rounds. In each, bound is the lowest of the last ids of the blocks
// that are open, so that every item below it is in a block; those are put
// together and sorted, which is quick, because they are few and close together.
func merge(ctx context.Context, runs []run, s span, pageBytes int, emit func([]item) error) error {
	m := merging{span: s, pageBytes: pageBytes}
	for _, r := range runs {
		if len(r.pages) == 0 {
			continue
		}
		if start := startOf(r, s); r.pages[start].first <= s.last {
			m.waiting = append(m.waiting, &cursor{run: r, span: s, next: start})
		}
	}
	slices.SortStableFunc(m.waiting, func(a, b *cursor) int {
		switch x, y := m.begin(a), m.begin(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for round := 0; ; round++ {
		if round%64 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		bound, err := m.open()
		if err != nil {
			return err
		}
		if len(m.active) == 0 {
			return nil
		}
		if err := m.round(bound, emit); err != nil {
			return err
		}
		if err := m.refill(); err != nil {
			return err
		}
	}
}

// merging is a merge that goes on.
type merging struct {
	span      span
	pageBytes int
	waiting   []*cursor // by their first id
	active    []*cursor // by their number; each has items
	unused    []*cursor // whose buffers may be used again
	gathered  []item
	spare     []item
}

// begin is an id that no item of a waiting cursor is below.
func (m *merging) begin(c *cursor) uint64 { return max(m.span.first, c.run.pages[c.next].first) }

// open opens the runs whose ids come up, and returns the bound.
func (m *merging) open() (bound uint64, err error) {
	bound = m.span.last
	for _, c := range m.active {
		bound = min(bound, key(c.items[len(c.items)-1]))
	}
	for len(m.waiting) > 0 && (len(m.active) == 0 || m.begin(m.waiting[0]) <= bound) {
		c := m.waiting[0]
		m.waiting = m.waiting[1:]
		if n := len(m.unused); n > 0 {
			old := m.unused[n-1]
			m.unused = m.unused[:n-1]
			c.buffer, c.block = old.buffer, old.block
		} else {
			c.buffer, c.block = make([]byte, m.pageBytes), make([]item, blockItems)
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
		if len(c.items) == 0 {
			m.unused = append(m.unused, c)
			continue
		}
		at, _ := slices.BinarySearchFunc(m.active, c.run.number, func(a *cursor, number int) int { return a.run.number - number })
		m.active = slices.Insert(m.active, at, c)
		bound = min(bound, key(c.items[len(c.items)-1]))
	}
	return bound, nil
}

// round hands out the items up to the bound. Equal ids come in the order of their
// positions, because runs do.
func (m *merging) round(bound uint64, emit func([]item) error) error {
	if len(m.active) == 1 {
		// Everything in the block comes before what was not opened yet.
		items := m.active[0].items
		m.active[0].items = nil
		return emit(items)
	}
	if err := emit(m.gather(bound)); err != nil {
		return err
	}
	// Those at the bound may go on in the next blocks.
	for _, c := range m.active {
		for len(c.items) > 0 && key(c.items[0]) == bound {
			n := len(c.items)
			if key(c.items[n-1]) > bound {
				n = below(c.items, bound+1)
			}
			items := c.items[:n]
			c.items = c.items[n:]
			if err := emit(items); err != nil {
				return err
			}
			if err := c.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather takes the items below the bound, and sorts them unless they are of one
// run.
func (m *merging) gather(bound uint64) []item {
	m.gathered = m.gathered[:0]
	var only []item
	for _, c := range m.active {
		n := len(c.items)
		if key(c.items[n-1]) >= bound {
			n = below(c.items, bound)
		}
		if n == 0 {
			continue
		}
		taken := c.items[:n]
		c.items = c.items[n:]
		switch {
		case only == nil && len(m.gathered) == 0:
			only = taken
			continue
		case only != nil:
			m.gathered = append(m.gathered, only...)
			only = nil
		}
		m.gathered = append(m.gathered, taken...)
	}
	if only != nil {
		return only
	}
	if len(m.spare) < len(m.gathered) {
		m.spare = make([]item, cap(m.gathered))
	}
	radix(m.gathered, m.spare[:len(m.gathered)], false)
	return m.gathered
}

// refill reads on where blocks are used up.
func (m *merging) refill() error {
	ended := false
	for _, c := range m.active {
		if len(c.items) > 0 {
			continue
		}
		if err := c.fill(); err != nil {
			return err
		}
		ended = ended || len(c.items) == 0
	}
	if ended {
		m.active = slices.DeleteFunc(m.active, func(c *cursor) bool {
			if len(c.items) == 0 {
				m.unused = append(m.unused, c)
				return true
			}
			return false
		})
	}
	return nil
}

// split cuts all ids into spans of about equally many, by the first ids of pages.
// Only the first begins at 0 and only the last ends at the highest.
func split(runs []run, n int) []span {
	var firsts []uint64
	for _, r := range runs {
		for _, p := range r.pages {
			firsts = append(firsts, p.first)
		}
	}
	slices.Sort(firsts)
	spans := []span{{0, ^uint64(0)}}
	for i := 1; i < n && len(firsts) > 0; i++ {
		at := firsts[len(firsts)*i/n]
		if last := &spans[len(spans)-1]; at > last.first {
			last.last = at - 1
			spans = append(spans, span{at, ^uint64(0)})
		}
	}
	return spans
}
