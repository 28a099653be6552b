package check

import (
	"slices"
	"sort"
)

const (
	// maxPlaces is how many places of an id are kept.
	maxPlaces = 16
	// maxRanges is how many ranges are kept, at least.
	maxRanges = 1 << 10
)

// tally counts what a merge hands out: items in order.
type tally struct {
	tops  []uint64 // the highest position of each source
	limit int      // of ids that are named
	pairs *judge

	ids, distinct, repeated uint64
	any                     bool
	last                    item

	within  map[int]uint64
	between map[[2]int]uint64
	named   []group
	ranges  []stretch
	count   uint64 // of ranges
	group   group
	open    stretch
}

// group is the occurrences of one id.
type group struct {
	id      uint64
	count   uint64
	places  []uint64 // positions, of the first ones
	sources []share
}

// share is how often an id occurs in a source.
type share struct {
	source int
	count  uint64
}

// stretch is repeated ids that follow each other.
type stretch struct {
	first, last, count uint64
	index              uint64 // of the last one among the distinct ids
	sources            [2]int
}

// add takes the items that come next.
func (t *tally) add(items []item) error {
	for _, x := range items {
		if x.ID == t.last.ID && t.any {
			t.repeat(x)
			continue
		}
		if t.group.count > 0 {
			t.endGroup()
		}
		t.any = true
		t.last = x
		t.distinct++
	}
	t.ids += uint64(len(items))
	return nil
}

// source returns that of a position.
func (t *tally) source(at uint64) int { return sourceOf(t.tops, at) }

func sourceOf(tops []uint64, at uint64) int {
	return sort.Search(len(tops), func(i int) bool { return tops[i] >= at })
}

// repeat adds an occurrence of the id that came last.
func (t *tally) repeat(x item) {
	if t.group.count == 0 {
		t.group = group{id: key(x), places: t.group.places[:0], sources: t.group.sources[:0]}
		t.occur(t.last.At)
	}
	t.occur(x.At)
	t.pairs.add(key(x), min(t.last.At, x.At), max(t.last.At, x.At))
	t.last = x
}

func (t *tally) occur(at uint64) {
	g := &t.group
	g.count++
	if len(g.places) < maxPlaces {
		g.places = append(g.places, at)
	}
	s := t.source(at)
	for i := range g.sources {
		if g.sources[i].source == s {
			g.sources[i].count++
			return
		}
	}
	g.sources = append(g.sources, share{s, 1})
}

// endGroup counts an id that occurred more than once.
func (t *tally) endGroup() {
	g := &t.group
	t.repeated++
	for i, a := range g.sources {
		if a.count > 1 {
			t.within[a.source] += a.count - 1
		}
		for _, b := range g.sources[:i] {
			t.between[[2]int{min(a.source, b.source), max(a.source, b.source)}]++
		}
	}
	if len(t.named) < t.limit {
		t.named = append(t.named, group{id: g.id, count: g.count, places: slices.Clone(g.places)})
	}
	sources := [2]int{t.source(g.places[0]), t.source(g.places[1])}
	if o := &t.open; o.count > 0 && o.index+1 == t.distinct && o.sources == sources {
		o.last, o.index = g.id, t.distinct
		o.count++
	} else {
		t.endRange()
		t.open = stretch{g.id, g.id, 1, t.distinct, sources}
	}
	g.count = 0
}

// endRange keeps a range, and now and then drops the shorter half of them.
func (t *tally) endRange() {
	if t.open.count == 0 {
		return
	}
	t.count++
	t.ranges = append(t.ranges, t.open)
	if len(t.ranges) == 2*maxRanges {
		t.ranges = longest(t.ranges, maxRanges)
	}
}

// longest returns the n longest ranges, and of equal ones the lowest.
func longest(r []stretch, n int) []stretch {
	slices.SortStableFunc(r, func(a, b stretch) int {
		switch {
		case a.count > b.count, a.count == b.count && a.first < b.first:
			return -1
		}
		return 1
	})
	return r[:min(n, len(r))]
}

// end ends the last group and the last range.
func (t *tally) end() {
	if t.group.count > 0 {
		t.endGroup()
	}
	t.endRange()
	t.open = stretch{}
	t.pairs.end()
}
