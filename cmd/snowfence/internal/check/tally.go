package check

import (
	"cmp"
	"slices"
	"sort"
)

const (
	// maxPlaces is how many places of an id are kept.
	maxPlaces = 16
	// maxRanges is how many ranges are kept, at least, and never fewer than are to
	// be named.
	maxRanges = 1 << 10
	// maxBetween is how many pairs of sources are told apart: their number grows
	// with the square of that of the sources.
	maxBetween = 1 << 14
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
	partial bool // there were more pairs than are told apart
	named   []group
	ranges  []stretch
	count   uint64 // of ranges
	group   group
	open    stretch // that may go on, in the ids above too
	lead    stretch // that began with the first id: it may go on from those below
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
			t.pair([2]int{min(a.source, b.source), max(a.source, b.source)}, 1)
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

// pair counts ids that two sources have in common.
func (t *tally) pair(p [2]int, n uint64) {
	if _, known := t.between[p]; !known && len(t.between) >= maxBetween {
		t.partial = true
		return
	}
	t.between[p] += n
}

// endRange ends the range that is open, but for one that began with the first id.
func (t *tally) endRange() {
	switch o := t.open; {
	case o.count == 0:
	case o.count == o.index:
		t.lead = o
	default:
		t.keepRange(o)
	}
	t.open = stretch{}
}

// keepRange keeps a range, and now and then drops the shorter half of them.
func (t *tally) keepRange(s stretch) {
	t.count++
	t.ranges = append(t.ranges, s)
	if most := max(maxRanges, t.limit); len(t.ranges) >= 2*most {
		t.ranges = longest(t.ranges, most)
	}
}

// join adds what was counted of the ids above.
func (t *tally) join(above *tally) {
	t.joinRanges(above) // before the distinct ones are added
	t.ids += above.ids
	t.distinct += above.distinct
	t.repeated += above.repeated
	for s, n := range above.within {
		t.within[s] += n
	}
	for p, n := range above.between {
		t.pair(p, n)
	}
	t.partial = t.partial || above.partial
	t.named = append(t.named, above.named...)
	t.named = t.named[:min(t.limit, len(t.named))]
	t.pairs.join(above.pairs)
}

// joinRanges adds the ranges of the ids above, and makes one of two that meet, so
// that it does not show how the ids were divided.
func (t *tally) joinRanges(above *tally) {
	if above.distinct == 0 {
		return
	}
	lead, open := above.lead, above.open
	if open.count > 0 && open.count == open.index {
		lead, open = open, stretch{} // it is all that there is
	}
	whole := lead.count == above.distinct
	lead.index += t.distinct
	open.index += t.distinct
	if o := &t.open; lead.count > 0 && o.count > 0 && o.sources == lead.sources {
		o.last, o.index = lead.last, lead.index
		o.count += lead.count
	} else {
		t.endRange()
		if lead.count > 0 {
			t.open = lead
		}
	}
	t.ranges = append(t.ranges, above.ranges...)
	t.count += above.count
	if !whole {
		t.endRange()
		if open.count > 0 {
			t.open = open
		}
	}
}

// longest returns the n longest ranges, and of equal ones the lowest.
func longest(r []stretch, n int) []stretch {
	slices.SortFunc(r, func(a, b stretch) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.first, b.first)) })
	return r[:min(n, len(r))]
}

// end ends the last group. The last range stays open if it goes up to the last id.
func (t *tally) end() {
	if t.group.count > 0 {
		t.endGroup()
	}
	if t.open.index != t.distinct {
		t.endRange()
	}
}

// settle ends what could have gone on in the ids of another range.
func (t *tally) settle() {
	t.endRange()
	if t.lead.count > 0 {
		t.keepRange(t.lead)
		t.lead = stretch{}
	}
	t.pairs.settle()
	t.pairs.nothing = map[[2]int]int{}
	for p, n := range t.between {
		for _, s := range p {
			if n == t.pairs.observer.sources[s].ids-t.within[s] {
				t.pairs.nothing[p] = s
			}
		}
	}
}
