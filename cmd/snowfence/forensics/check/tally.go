package check

import (
	"cmp"
	"slices"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
)

const (
	// maxPlaces is how many places of an id are kept.
	maxPlaces = 16
	// maxBetween is how many pairs of sources are told apart: their number grows with the
	// square of that of the sources.
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
	in      []int    // its sources
	within  []uint64 // by source
	between map[[2]int]uint64
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
	source, _ := t.Stand(at)
	if n := len(t.in); n > 0 && t.in[n-1] == source {
		t.within[source]++
	} else {
		t.in = append(t.in, source)
	}
}

// endRepeat counts the id that came last, if it occurred more than once.
func (t *tally) endRepeat() {
	if t.count == 0 {
		return
	}
	r := &t.report
	r.Repeated++
	for i, b := range t.in {
		for _, a := range t.in[:i] {
			if _, known := t.between[[2]int{a, b}]; known || len(t.between) < maxBetween {
				t.between[[2]int{a, b}]++
			} else {
				r.Partial = true
			}
		}
	}
	if len(r.Named) < t.Limit {
		d := Duplicate{ID: t.last.ID.String(), Count: t.count}
		for _, at := range t.places {
			d.Places = append(d.Places, t.where(at))
		}
		r.Named = append(r.Named, d)
	}
	t.count, t.places, t.in = 0, t.places[:0], t.in[:0]
}

// end counts the last id, judges, and returns the report.
func (t *tally) end() Report {
	t.endRepeat()
	r := &t.report
	r.Duplicates, r.Causes = r.IDs-r.Distinct, t.judge.causes()
	for i, seen := range t.Inputs {
		r.Sources = append(r.Sources, Source{Name: t.name(i), IDs: seen.IDs, Within: t.within[i], Rounded: seen.Rounding.Text()})
	}
	r.Complete = r.IDs > 0 && !slices.ContainsFunc(r.Sources, func(s Source) bool { return s.IDs == 0 || s.Rounded != "" })
	for p, n := range t.between {
		r.Between = append(r.Between, Pair{t.name(p[0]), t.name(p[1]), n})
	}
	slices.SortFunc(r.Between, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Common, a.Common), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	if f := t.watcher.fields; f != nil {
		r.Layout, r.Preset, r.Guessed = f.layout.String(), f.preset, t.Layout == nil
	}
	return *r
}
