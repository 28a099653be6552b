package merge

import (
	"math/bits"
	"slices"

	"snowfence.example/snowfence"
)

// maxStands is how many of the places of one id are kept to be named.
const maxStands = 8

// Stand is where an id stands: the side, the source as they were given in all, and
// the place in that source.
type Stand struct {
	Side   int
	Source int
	At     uint64
}

// Clash is an id that stands on several sides.
type Clash struct {
	ID snowfence.ID
	// Rows is how often it stands there, and Stands are the first of them, as they
	// came.
	Rows   uint64
	Stands []Stand
}

// Tally counts the ids that stand on several sides. It is given all ids, or all
// that stand anywhere twice, in ascending order as unsigned numbers.
type Tally struct {
	shown int
	runs  []*runs

	id      snowfence.ID
	began   bool
	sides   uint64
	rows    []uint64 // of the present id, by side
	sources map[int]uint64
	stands  []Stand

	// Clashing is how many ids stand on several sides.
	Clashing uint64
	// Of are how many of them stand on each side, and RowsOf in how many rows.
	Of, RowsOf []uint64
	// RowsIn is in how many rows of each source.
	RowsIn map[int]uint64
	// Twice is how many ids stand several times on one side, and RowsTwice in how
	// many rows, by side. Those are not what a merge does.
	Twice, RowsTwice []uint64
	// Between is how many ids each two sides have in common, by the lesser and the
	// greater of their numbers.
	Between map[[2]int]uint64
	// Renumber is how many rows at least need another id, so that each id stands on
	// one side only: of each id all rows but those of the side that has most.
	Renumber uint64
	// First are the lowest that clash, with their places.
	First []Clash
}

// NewTally counts for that many sides. Clashing ids are put into runs for each of
// the layouts, or by their number alone if there is none; of them and of the ids
// the first are kept, as many as shown, which is 0 or more.
func NewTally(sides int, layouts []snowfence.Layout, shown int) *Tally {
	t := &Tally{
		shown: shown, rows: make([]uint64, sides), sources: map[int]uint64{},
		Of: make([]uint64, sides), RowsOf: make([]uint64, sides), RowsIn: map[int]uint64{},
		Twice: make([]uint64, sides), RowsTwice: make([]uint64, sides), Between: map[[2]int]uint64{},
	}
	for i := range layouts {
		t.runs = append(t.runs, newRuns(&layouts[i]))
	}
	if len(t.runs) == 0 {
		t.runs = append(t.runs, newRuns(nil))
	}
	return t
}

// Add takes one row. Its id must not be below the one before, as an unsigned
// number; if it is, it is counted as if it were another id.
func (t *Tally) Add(id snowfence.ID, at Stand) {
	if !t.began || id != t.id {
		t.end()
		t.began, t.id = true, id
	}
	t.sides |= 1 << at.Side
	t.rows[at.Side]++
	t.sources[at.Source]++
	// Of each side at least one is kept, as far as there is room.
	if len(t.stands) < maxStands || t.rows[at.Side] == 1 && len(t.stands) < maxStands+MaxSides {
		t.stands = append(t.stands, at)
	}
}

// end is the end of the rows of one id.
func (t *Tally) end() {
	if !t.began {
		return
	}
	clash := bits.OnesCount64(t.sides) > 1
	var all, most uint64
	for left := t.sides; left != 0; left &= left - 1 {
		side := bits.TrailingZeros64(left)
		n := t.rows[side]
		t.rows[side] = 0
		all, most = all+n, max(most, n)
		if n > 1 {
			t.Twice[side]++
			t.RowsTwice[side] += n
		}
		if !clash {
			continue
		}
		t.Of[side]++
		t.RowsOf[side] += n
		for others := left & (left - 1); others != 0; others &= others - 1 {
			t.Between[[2]int{side, bits.TrailingZeros64(others)}]++
		}
	}
	if clash {
		t.Clashing++
		t.Renumber += all - most
		for source, n := range t.sources {
			t.RowsIn[source] += n
		}
		for _, r := range t.runs {
			r.add(t.id, t.sides)
		}
		if len(t.First) < t.shown {
			t.First = append(t.First, Clash{t.id, all, slices.Clone(t.stands)})
		}
	}
	clear(t.sources)
	t.sides, t.stands = 0, t.stands[:0]
}

// End is called once, after the last row.
func (t *Tally) End() {
	t.end()
	t.began = false
	for _, r := range t.runs {
		r.end()
	}
}

// Runs are the runs of clashing ids, for each layout that [NewTally] was given.
func (t *Tally) Runs() []Runs {
	var all []Runs
	for _, r := range t.runs {
		all = append(all, r.list(t.shown))
	}
	return all
}

// Fewest returns the side with the fewest rows to renumber if all of one side are
// renumbered, of two sides; false where there are not two, or nothing clashes.
func (t *Tally) Fewest() (side int, rows uint64, ok bool) {
	if len(t.Of) != 2 || t.Clashing == 0 {
		return 0, 0, false
	}
	if t.RowsOf[1] < t.RowsOf[0] {
		return 1, t.RowsOf[1], true
	}
	return 0, t.RowsOf[0], true
}
