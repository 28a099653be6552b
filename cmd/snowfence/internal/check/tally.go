package check

import (
	"cmp"
	"slices"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsort"
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

// tally counts ids that come in order.
type tally struct {
	*checker
	judge *judge

	ids, distinct, repeated uint64
	last                    idsort.Item

	within  map[int]uint64
	between map[[2]int]uint64
	partial bool // there were more pairs than are told apart
	named   []repeat
	ranges  []stretch
	count   uint64 // of ranges
	repeat  repeat
	open    stretch // that may go on
}

// repeat is the occurrences of one id.
type repeat struct {
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
	sources            [2]int // of the first two places
}

func newTally(c *checker) *tally {
	return &tally{checker: c, judge: newJudge(c), within: map[int]uint64{}, between: map[[2]int]uint64{}}
}

// add takes the items that come next.
func (t *tally) add(items []idsort.Item) error {
	for _, x := range items {
		if t.distinct > 0 && x.ID == t.last.ID {
			if t.repeat.count == 0 {
				t.repeat = repeat{id: uint64(x.ID), places: t.repeat.places[:0], sources: t.repeat.sources[:0]}
				t.occur(t.last.At)
			}
			t.occur(x.At)
			t.judge.add(uint64(x.ID), t.last.At, x.At)
		} else {
			t.endRepeat()
			t.distinct++
		}
		t.last = x
	}
	t.ids += uint64(len(items))
	return nil
}

// occur adds an occurrence of the id that came last. Positions only grow.
func (t *tally) occur(at uint64) {
	g := &t.repeat
	g.count++
	if len(g.places) < maxPlaces {
		g.places = append(g.places, at)
	}
	source := t.source(at)
	if n := len(g.sources); n == 0 || g.sources[n-1].source != source {
		g.sources = append(g.sources, share{source: source})
	}
	g.sources[len(g.sources)-1].count++
}

// endRepeat counts an id that occurred more than once.
func (t *tally) endRepeat() {
	g := &t.repeat
	if g.count == 0 {
		return
	}
	t.repeated++
	for i, b := range g.sources {
		t.within[b.source] += b.count - 1
		for _, a := range g.sources[:i] {
			t.pair([2]int{a.source, b.source})
		}
	}
	if len(t.named) < t.Limit {
		t.named = append(t.named, repeat{id: g.id, count: g.count, places: slices.Clone(g.places)})
	}
	sources := [2]int{t.source(g.places[0]), t.source(g.places[1])}
	if o := &t.open; o.count == 0 || o.index+1 != t.distinct || o.sources != sources {
		t.endRange()
		t.open = stretch{first: g.id, sources: sources}
	}
	t.open.last, t.open.index = g.id, t.distinct
	t.open.count++
	g.count = 0
}

// pair counts an id that two sources have in common.
func (t *tally) pair(p [2]int) {
	if _, known := t.between[p]; !known && len(t.between) >= maxBetween {
		t.partial = true
		return
	}
	t.between[p]++
}

// endRange keeps the range that is open, and now and then drops the shorter half of
// all.
func (t *tally) endRange() {
	if t.open.count == 0 {
		return
	}
	t.count++
	t.ranges = append(t.ranges, t.open)
	t.open = stretch{}
	if most := max(maxRanges, t.Limit); len(t.ranges) >= 2*most {
		t.ranges = longest(t.ranges, most)
	}
}

// longest returns the n longest ranges, and of equal ones the lowest.
func longest(r []stretch, n int) []stretch {
	slices.SortFunc(r, func(a, b stretch) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.first, b.first)) })
	return r[:min(n, len(r))]
}

// end ends what is open, and judges.
func (t *tally) end() {
	t.endRepeat()
	t.endRange()
	t.judge.settle()
}

// inner returns the source of two all of whose ids are in the other too, if there
// is one.
func (t *tally) inner(sources [2]int) (inner, outer int, ok bool) {
	n := t.between[sources]
	for i, s := range sources {
		if n > 0 && n == t.observer.sources[s].ids-t.within[s] {
			return s, sources[1-i], true
		}
	}
	return 0, 0, false
}
