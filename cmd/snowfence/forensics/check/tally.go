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
	// maxBetween is how many pairs of sources are distinguished: their number grows with the
	// square of that of the sources.
	maxBetween = 1 << 14
)

// Tally counts ids that come in order, and that repeat, by the groups of their inputs.
type Tally struct {
	*idsort.Sorted
	// Groups are the groups of the inputs, by numbers from 0 that only grow.
	Groups []int
	// Across leaves out ids that repeat within a group alone, and keeps a place of each group.
	Across bool
	// Limit is how many ids are kept with their places.
	Limit int

	IDs, Distinct, Repeated uint64
	// Of each group: its further rows of an id, its ids that have such rows, and its ids that count as repeated.
	Within, Twice, By []uint64
	Between           map[[2]int]uint64 // ids by pairs of groups
	Partial           bool              // some pairs are left out
	Named             []Repeat

	pair func(id, a, b uint64) // takes neighbouring places of an id; may be nil

	last   idsort.Item
	repeat Repeat // the id that came last; no count if it came once
	in     []int  // its groups
	rows   uint64 // in the last of them
}

// Repeat is an id that occurs more than once: how often, and its first positions.
type Repeat struct {
	ID     snowfence.ID
	Count  uint64
	Places []uint64
}

// NewTally counts ids by groups of their inputs: see [Tally].
func NewTally(s *idsort.Sorted, groups []int, across bool, limit int) *Tally {
	n := 1 + slices.Max(append([]int{0}, groups...))
	return &Tally{
		Sorted: s, Groups: groups, Across: across, Limit: limit, Between: map[[2]int]uint64{},
		Within: make([]uint64, n), Twice: make([]uint64, n), By: make([]uint64, n),
	}
}

// Add takes the items that come next.
func (t *Tally) Add(items []idsort.Item) error {
	for _, x := range items {
		if t.Distinct > 0 && x.ID == t.last.ID {
			if t.repeat.Count == 0 {
				t.occur(t.last.At)
			}
			t.occur(x.At)
			if t.pair != nil {
				t.pair(uint64(x.ID), t.last.At, x.At)
			}
		} else {
			t.End()
			t.Distinct++
		}
		t.last = x
	}
	t.IDs += uint64(len(items))
	return nil
}

// occur adds an occurrence of the id that came last. Positions only grow.
func (t *Tally) occur(at uint64) {
	t.repeat.Count++
	input, _ := t.Stand(at)
	group := t.Groups[input]
	another := len(t.in) == 0 || t.in[len(t.in)-1] != group
	if another {
		t.in, t.rows = append(t.in, group), 0
	} else {
		t.Within[group]++
	}
	if t.rows++; t.rows == 2 {
		t.Twice[group]++
	}
	if len(t.repeat.Places) < maxPlaces || t.Across && another {
		t.repeat.Places = append(t.repeat.Places, at)
	}
}

// End counts the id that came last, if it occurred more than once.
func (t *Tally) End() {
	if t.repeat.Count == 0 {
		return // nearly always
	}
	if !t.Across || len(t.in) > 1 {
		t.Repeated++
		for i, b := range t.in {
			t.By[b]++
			for _, a := range t.in[:i] {
				if _, known := t.Between[[2]int{a, b}]; known || len(t.Between) < maxBetween {
					t.Between[[2]int{a, b}]++
				} else {
					t.Partial = true
				}
			}
		}
		if len(t.Named) < t.Limit {
			t.Named = append(t.Named, Repeat{t.last.ID, t.repeat.Count, slices.Clone(t.repeat.Places)})
		}
	}
	t.repeat, t.in = Repeat{Places: t.repeat.Places[:0]}, t.in[:0]
}

// report judges what was counted.
func (c *checker) report(t *Tally, causes []Cause) Report {
	r := Report{
		IDs: t.IDs, Distinct: t.Distinct, Duplicates: t.IDs - t.Distinct, Repeated: t.Repeated, Partial: t.Partial,
		Between: []Pair{}, Named: []Duplicate{}, Causes: causes, Spilled: c.Spilled(), // JSON has null for nil
	}
	for i, seen := range c.Inputs {
		r.Sources = append(r.Sources, Source{Name: c.name(i), IDs: seen.IDs, Within: t.Within[i], Rounded: seen.Rounding.Text()})
	}
	r.Complete = r.IDs > 0 && !slices.ContainsFunc(r.Sources, func(s Source) bool { return s.IDs == 0 || s.Rounded != "" })
	for p, n := range t.Between {
		r.Between = append(r.Between, Pair{c.name(p[0]), c.name(p[1]), n})
	}
	slices.SortFunc(r.Between, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Common, a.Common), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	for _, n := range t.Named {
		d := Duplicate{ID: n.ID.String(), Count: n.Count}
		for _, at := range n.Places {
			d.Places = append(d.Places, c.where(at))
		}
		r.Named = append(r.Named, d)
	}
	if f := c.watcher.fields; f != nil {
		r.Layout, r.Preset, r.Guessed = f.layout.String(), f.preset, c.Layout == nil
	}
	return r
}
