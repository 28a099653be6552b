package merge

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// maxStands is how many of the places of one id are named.
const maxStands = 8

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

// tally counts the ids on several sides, in the report.
type tally struct {
	Config
	*idsort.Sorted
	sides   []SideReport
	data    Data
	between []uint64 // by the numbers of both sides

	// Of the present id: its rows, by side, too, its sides as bits, and first positions.
	id       snowfence.ID
	all, set uint64
	rows     []uint64
	places   []uint64
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
	n := len(c.Sides)
	t := &tally{
		Config: c, Sorted: sorted, sides: r.Sides, data: Data{Between: []Pair{}, First: []Clash{}},
		between: make([]uint64, n*n), rows: make([]uint64, n),
	}
	for n, in := range sorted.Inputs {
		side := &r.Sides[c.Inputs[n].Side]
		s := &SourceReport{Source: in.Name(), IDs: in.IDs, Rounded: in.Rounding.Text()}
		side.IDs, side.Sources = side.IDs+in.IDs, append(side.Sources, s)
	}
	if err := cmp.Or(sorted.Each(ctx, t.add), sorted.Close()); err != nil {
		return err
	}
	t.end()
	if slices.ContainsFunc(c.Inputs, func(in Input) bool { return in.Side != c.Inputs[0].Side }) {
		r.Data = &t.data
	}
	return nil
}

// add takes the rows that come next, in ascending order of the ids as unsigned numbers.
func (t *tally) add(items []source.Item) error {
	for _, item := range items {
		if item.ID != t.id {
			t.next()
			t.id = item.ID
		}
		source, _ := t.Stand(item.At)
		side := t.Config.Inputs[source].Side
		t.all++
		t.set |= 1 << side
		t.rows[side]++
		// At least one place of each side is named.
		if len(t.places) < maxStands || t.rows[side] == 1 {
			t.places = append(t.places, item.At)
		}
	}
	return nil
}

// next counts the id whose rows are complete.
func (t *tally) next() {
	clash := bits.OnesCount64(t.set) > 1
	for left := t.set; left != 0; left &= left - 1 {
		n := bits.TrailingZeros64(left)
		side := &t.sides[n]
		if t.rows[n] > 1 {
			side.Twice++
		}
		t.rows[n] = 0
		if !clash {
			continue
		}
		side.Clashing++
		for others := left & (left - 1); others != 0; others &= others - 1 {
			t.between[n*len(t.sides)+bits.TrailingZeros64(others)]++
		}
	}
	if clash {
		t.data.Clashing++
		if len(t.data.First) < t.Shown {
			c := Clash{ID: t.id.String(), Rows: t.all}
			for _, at := range t.places {
				n, in := t.Stand(at)
				c.Stands = append(c.Stands, Stand{t.Sides[t.Config.Inputs[n].Side], t.Sorted.Inputs[n].Name(), t.Sorted.Inputs[n].Place(in)})
			}
			t.data.First = append(t.data.First, c)
		}
	}
	t.all, t.set, t.places = 0, 0, t.places[:0]
}

// end counts the last id, and lists the pairs of sides.
func (t *tally) end() {
	t.next()
	for i, n := range t.between {
		if n > 0 {
			t.data.Between = append(t.data.Between, Pair{[2]string{t.Sides[i/len(t.Sides)], t.Sides[i%len(t.Sides)]}, n})
		}
	}
}
