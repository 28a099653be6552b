package check

import (
	"cmp"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
)

const (
	// maxPlaces is how many places of an id are kept.
	maxPlaces = 16
	// maxRanges is how many ranges are kept, or more if more are to be named.
	maxRanges = 1 << 10
	// maxBetween is how many pairs of sources are told apart: their number grows
	// with the square of that of the sources.
	maxBetween = 1 << 14
)

// tally counts ids that come in order.
type tally struct {
	*checker
	judge  *judge
	report Report // as far as it is known

	last    idsort.Item
	count   uint64   // how often it occurs, if more than once
	places  []uint64 // positions, of the first ones
	shares  []share
	within  []uint64 // by source
	between map[[2]int]uint64
	ranges  []stretch
	open    stretch // that may go on
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
	return &tally{
		checker: c, judge: newJudge(c), within: make([]uint64, len(c.opened)), between: map[[2]int]uint64{},
		report: Report{Sources: []Source{}, Between: []Pair{}, Named: []Duplicate{}, Ranges: []Range{}},
	}
}

// add takes the items that come next.
func (t *tally) add(items []idsort.Item) error {
	for _, x := range items {
		if t.report.Distinct > 0 && x.ID == t.last.ID {
			if t.count == 0 {
				t.occur(t.last.At)
			}
			t.occur(x.At)
			t.judge.add(uint64(x.ID), t.last.At, x.At)
		} else {
			t.endRepeat()
			t.report.Distinct++
		}
		t.last = x
	}
	t.report.IDs += uint64(len(items))
	return nil
}

// occur adds an occurrence of the id that came last. Positions only grow.
func (t *tally) occur(at uint64) {
	t.count++
	if len(t.places) < maxPlaces {
		t.places = append(t.places, at)
	}
	source := t.source(at)
	if n := len(t.shares); n == 0 || t.shares[n-1].source != source {
		t.shares = append(t.shares, share{source: source})
	}
	t.shares[len(t.shares)-1].count++
}

// endRepeat counts the id that came last, if it occurred more than once.
func (t *tally) endRepeat() {
	if t.count == 0 {
		return
	}
	r := &t.report
	r.Repeated++
	for i, b := range t.shares {
		t.within[b.source] += b.count - 1
		for _, a := range t.shares[:i] {
			t.pair([2]int{a.source, b.source})
		}
	}
	if len(r.Named) < t.Limit {
		d := Duplicate{ID: t.last.ID.String(), Count: t.count}
		for _, at := range t.places {
			d.Places = append(d.Places, t.where(at))
		}
		r.Named = append(r.Named, d)
	}
	id, sources := uint64(t.last.ID), [2]int{t.source(t.places[0]), t.source(t.places[1])}
	if o := &t.open; o.count == 0 || o.index+1 != r.Distinct || o.sources != sources {
		t.endRange()
		t.open = stretch{first: id, sources: sources}
	}
	t.open.last, t.open.index = id, r.Distinct
	t.open.count++
	t.count, t.places, t.shares = 0, t.places[:0], t.shares[:0]
}

// pair counts an id that two sources have in common.
func (t *tally) pair(p [2]int) {
	if _, known := t.between[p]; !known && len(t.between) >= maxBetween {
		t.report.Partial = true
		return
	}
	t.between[p]++
}

// endRange keeps the open range, and now and then drops the shorter half of all.
func (t *tally) endRange() {
	if t.open.count == 0 {
		return
	}
	t.report.RangeCount++
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

// end ends what is open, judges, and returns the report.
func (t *tally) end() Report {
	t.endRepeat()
	t.endRange()
	t.judge.settle()
	r, w := &t.report, words{t}
	r.Duplicates = r.IDs - r.Distinct
	for i, seen := range t.observer.sources {
		s := Source{Name: t.name(i), IDs: seen.ids, Within: t.within[i], Rising: seen.falls == 0, Rounded: seen.rounding.Text()}
		invalid, first := t.opened[i].Skipped()
		if s.Invalid = invalid; first != nil {
			s.FirstInvalid = first.Error()
		}
		r.Invalid += invalid
		r.Sources = append(r.Sources, s)
	}
	r.Complete = r.IDs > 0 && r.Invalid == 0 && !slices.ContainsFunc(r.Sources, func(s Source) bool { return s.IDs == 0 || s.Rounded != "" })
	for p, n := range t.between {
		r.Between = append(r.Between, Pair{t.name(p[0]), t.name(p[1]), n})
	}
	slices.SortFunc(r.Between, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Common, a.Common), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	for _, s := range longest(t.ranges, t.Limit) {
		r.Ranges = append(r.Ranges, Range{written(s.first), written(s.last), s.count, w.names(s.sources)})
	}
	if f := t.observer.fields; f != nil {
		r.Layout, r.Preset, r.Guessed = f.layout.String(), t.Preset, t.Layout == nil
		if r.Guessed {
			r.Preset = t.guess.preset.Name
		}
	}
	r.Causes = w.causes()
	return *r
}

// written writes an id.
func written(id uint64) string { return snowfence.ID(id).String() }
