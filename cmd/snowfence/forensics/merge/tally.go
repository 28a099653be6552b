package merge

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"snowfence.example/snowfence/cmd/snowfence/forensics/check"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// Stand is a place of an id: its side, its source, and the place there.
type Stand struct {
	Side   string `json:"side"`
	Source string `json:"source"`
	Place  string `json:"place"`
}

// Clash is an id on several sides: how often it is there, and its first places.
type Clash struct {
	ID     string  `json:"id"`
	Rows   uint64  `json:"rows"`
	Stands []Stand `json:"stands"`
}

// Pair is two sides and how many ids they have in common.
type Pair struct {
	Sides [2]string `json:"sides"`
	IDs   uint64    `json:"ids"`
}

// Data is the comparison of the sides' ids.
type Data struct {
	// Clashing is how many ids are on several sides.
	Clashing uint64 `json:"clashing_ids"`
	// Between are the pairs of sides that have ids in common.
	Between []Pair `json:"between"`
	// First are the lowest ids that clash, with their places.
	First []Clash `json:"first"`
}

// read reads all ids, and counts them.
func (c Config) read(ctx context.Context, r *Report) error {
	side := "" // of the source that is being read
	inputs := make([]idsort.Input, len(c.Inputs))
	for n, in := range c.Inputs {
		inputs[n] = idsort.Input{Open: func(ctx context.Context) (source.Source, error) {
			side = c.Sides[in.Side]
			return in.Open(ctx)
		}}
	}
	sorted, err := idsort.Sort(ctx, inputs, c.Sort)
	switch {
	case err == nil:
	case side == "", errors.As(err, new(*idsort.FullError)):
		return err
	default:
		return &SideError{Side: side, Reason: err}
	}
	groups := make([]int, len(c.Inputs)) // the sides
	for n, in := range sorted.Inputs {
		groups[n] = c.Inputs[n].Side
		side := &r.Sides[groups[n]]
		s := &SourceReport{Source: in.Name(), IDs: in.IDs, Rounded: in.Rounding.Text()}
		side.IDs, side.Sources = side.IDs+in.IDs, append(side.Sources, s)
	}
	t := check.NewTally(sorted, groups, true, c.Shown)
	if err := cmp.Or(sorted.Each(ctx, t.Add), sorted.Close()); err != nil {
		return err
	}
	t.End()
	c.report(t, r)
	return nil
}

// report adds what was counted.
func (c Config) report(t *check.Tally, r *Report) {
	for n := range t.Twice {
		r.Sides[n].Twice, r.Sides[n].Clashing = t.Twice[n], t.By[n]
	}
	if len(t.Groups) == 0 || t.Groups[0] == t.Groups[len(t.Groups)-1] {
		return
	}
	r.Data = &Data{Clashing: t.Repeated, Between: []Pair{}, First: []Clash{}}
	for _, p := range slices.SortedFunc(maps.Keys(t.Between), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		r.Data.Between = append(r.Data.Between, Pair{[2]string{c.Sides[p[0]], c.Sides[p[1]]}, t.Between[p]})
	}
	for _, n := range t.Named {
		clash := Clash{ID: n.ID.String(), Rows: n.Count}
		for _, at := range n.Places {
			input, in := t.Stand(at)
			clash.Stands = append(clash.Stands, Stand{c.Sides[t.Groups[input]], t.Inputs[input].Name(), t.Inputs[input].Place(in)})
		}
		r.Data.First = append(r.Data.First, clash)
	}
}
