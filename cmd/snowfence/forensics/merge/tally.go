package merge

import (
	"math/bits"
	"slices"

	"snowfence.example/snowfence"
)

// maxStands is how many of the places of one id are named.
const maxStands = 8

// Stand is a place of an id. Side and Source are the numbers of the side and of the source,
// counted over all sides, and At is the place in the source. [Check] fills in the words.
type Stand struct {
	Side       int    `json:"-"`
	Source     int    `json:"-"`
	At         uint64 `json:"-"`
	SideName   string `json:"side"`
	SourceName string `json:"source"`
	Place      string `json:"place"`
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
	// Renumber is how many rows at least need another id, so that each id is on
	// one side only: of each id all rows but the rows of the side that has most.
	Renumber uint64 `json:"rows_to_renumber"`
	// Between are the pairs of sides that have ids in common.
	Between []Pair `json:"between"`
	// First are the lowest ids that clash, with their places.
	First []Clash `json:"first"`
}

// Tally counts the ids on several sides.
type Tally struct {
	// Data is complete after [Tally.End].
	Data
	// Of is how many of the clashing ids are on each side, RowsOf in how many rows,
	// and RowsIn in how many rows of each source.
	Of, RowsOf, RowsIn []uint64
	// Twice is how many ids are several times on one side, by side. A merge does not cause these.
	Twice []uint64

	names   []string
	shown   int
	between []uint64 // by the numbers of both sides

	// Of the present id: its rows, by side and by source, its sides as bits, its sources
	// and first places.
	id           snowfence.ID
	all, sides   uint64
	rows, counts []uint64
	sources      []int
	stands       []Stand
}

// NewTally returns a tally for the named sides and a number of sources. It keeps the first
// clashing ids, at most shown of them.
func NewTally(sides []string, sources, shown int) *Tally {
	counts := func(n int) []uint64 { return make([]uint64, n) }
	n := len(sides)
	return &Tally{
		names: sides, shown: shown, rows: counts(n), counts: counts(sources), between: counts(n * n),
		Of: counts(n), RowsOf: counts(n), RowsIn: counts(sources), Twice: counts(n),
		Data: Data{Between: []Pair{}, First: []Clash{}},
	}
}

// Add takes one row, in ascending order of the ids as unsigned numbers.
func (t *Tally) Add(id snowfence.ID, at Stand) {
	if id != t.id {
		t.next()
		t.id = id
	}
	if t.counts[at.Source] == 0 {
		t.sources = append(t.sources, at.Source)
	}
	t.counts[at.Source]++
	t.all++
	t.sides |= 1 << at.Side
	t.rows[at.Side]++
	// At least one place of each side is named.
	if len(t.stands) < maxStands || t.rows[at.Side] == 1 {
		t.stands = append(t.stands, at)
	}
}

// next counts the id whose rows are complete.
func (t *Tally) next() {
	clash := bits.OnesCount64(t.sides) > 1
	var most uint64
	for left := t.sides; left != 0; left &= left - 1 {
		side := bits.TrailingZeros64(left)
		n := t.rows[side]
		t.rows[side] = 0
		most = max(most, n)
		if n > 1 {
			t.Twice[side]++
		}
		if !clash {
			continue
		}
		t.Of[side]++
		t.RowsOf[side] += n
		for others := left & (left - 1); others != 0; others &= others - 1 {
			t.between[side*len(t.names)+bits.TrailingZeros64(others)]++
		}
	}
	for _, n := range t.sources {
		if clash {
			t.RowsIn[n] += t.counts[n]
		}
		t.counts[n] = 0
	}
	if clash {
		t.Clashing++
		t.Renumber += t.all - most
		if len(t.First) < t.shown {
			t.First = append(t.First, Clash{t.id.String(), t.all, slices.Clone(t.stands)})
		}
	}
	t.all, t.sides, t.sources, t.stands = 0, 0, t.sources[:0], t.stands[:0]
}

// End is called once, after the last row.
func (t *Tally) End() {
	t.next()
	for i, n := range t.between {
		if n > 0 {
			t.Between = append(t.Between, Pair{[2]string{t.names[i/len(t.names)], t.names[i%len(t.names)]}, n})
		}
	}
}
