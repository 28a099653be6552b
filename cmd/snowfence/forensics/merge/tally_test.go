package merge_test

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
)

// row is an id and where it stands.
type row struct {
	id snowfence.ID
	at merge.Stand
}

// tallied counts rows in the order in which a sort hands them out.
func tallied(sides int, shown int, rows []row) *merge.Tally {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(uint64(a.id), uint64(b.id)) })
	t := merge.NewTally([]string{"A", "B", "C", "D", "E", "F"}[:sides], 6, shown)
	for _, r := range rows {
		t.Add(r.id, r.at)
	}
	t.End()
	return t
}

func TestTalliesAreThoseOfCountingByHand(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	for round := range 300 {
		sides := 2 + random.IntN(4)
		var rows []row
		by := map[snowfence.ID][]int{} // rows by side
		for n := range 60 {
			side := random.IntN(sides)
			id := snowfence.ID(random.IntN(40))
			if random.IntN(10) == 0 {
				id = -id - 1 // with the 64th bit
			}
			rows = append(rows, row{id, merge.Stand{Side: side, Source: side, At: uint64(n)}})
			if by[id] == nil {
				by[id] = make([]int, sides)
			}
			by[id][side]++
		}
		var clashing, renumber uint64
		of, rowsOf, twice := make([]uint64, sides), make([]uint64, sides), make([]uint64, sides)
		between := map[[2]int]uint64{}
		for _, counts := range by {
			on, all, most := 0, 0, 0
			for side, n := range counts {
				if n > 1 {
					twice[side]++
				}
				if n > 0 {
					on++
				}
				all, most = all+n, max(most, n)
			}
			if on < 2 {
				continue
			}
			clashing++
			renumber += uint64(all - most)
			for a, n := range counts {
				if n == 0 {
					continue
				}
				of[a]++
				rowsOf[a] += uint64(n)
				for b := a + 1; b < sides; b++ {
					if counts[b] > 0 {
						between[[2]int{a, b}]++
					}
				}
			}
		}
		got := tallied(sides, 1000, rows)
		if got.Clashing != clashing || got.Renumber != renumber || !slices.Equal(got.Of, of) || !slices.Equal(got.RowsOf, rowsOf) || !slices.Equal(got.Twice, twice) || len(got.First) != int(clashing) {
			t.Fatalf("round %d: %+v\nwant %d clashing, %d to renumber, of %v, rows %v, twice %v", round, got, clashing, renumber, of, rowsOf, twice)
		}
		for pair, n := range between {
			sides := [2]string{string(rune('A' + pair[0])), string(rune('A' + pair[1]))}
			if !slices.Contains(got.Between, merge.Pair{Sides: sides, IDs: n}) {
				t.Fatalf("round %d: between %v: %v, want %d", round, sides, got.Between, n)
			}
		}
		if len(got.Between) != len(between) {
			t.Fatalf("round %d: %v, want %d pairs", round, got.Between, len(between))
		}
		for _, c := range got.First {
			sides := uint64(0)
			for _, s := range c.Stands {
				sides |= 1 << s.Side
			}
			if bits.OnesCount64(sides) < 2 || uint64(len(c.Stands)) > c.Rows {
				t.Fatalf("round %d: %+v does not name two sides", round, c)
			}
		}
	}
}

func TestEverySideOfAnIDIsNamedHoweverOftenItStandsOnOne(t *testing.T) {
	var rows []row
	for n := range 1000 {
		rows = append(rows, row{7, merge.Stand{Side: 0, Source: 0, At: uint64(n)}})
	}
	rows = append(rows, row{7, merge.Stand{Side: 1, Source: 1, At: 1}})
	c := tallied(2, 1, rows).First[0]
	if last := c.Stands[len(c.Stands)-1]; last.Side != 1 || c.Rows != 1001 || len(c.Stands) > 20 {
		t.Errorf("%+v", c)
	}
}
