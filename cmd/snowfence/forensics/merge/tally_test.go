package merge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
)

// TestTalliesAreThoseOfCountingByHand has ids on up to five sides, some of them with the 64th bit.
func TestTalliesAreThoseOfCountingByHand(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	for round := range 100 {
		lines := make([]string, 2+random.IntN(4))
		by := map[uint64][]uint64{} // rows by side
		for range 60 {
			side, id := random.IntN(len(lines)), random.Uint64N(40)-4
			lines[side] += fmt.Sprintln(id)
			if by[id] == nil {
				by[id] = make([]uint64, len(lines))
			}
			by[id][side]++
		}
		want := make([]merge.SideReport, len(lines))
		data, between := merge.Data{}, map[string]uint64{}
		for _, counts := range by {
			on := ""
			for side, n := range counts {
				if n > 1 {
					want[side].Twice++
				}
				if n > 0 {
					on += string(rune('A' + side))
				}
			}
			if len(on) < 2 {
				continue
			}
			data.Clashing++
			for i, a := range on {
				want[a-'A'].Clashing++
				for _, b := range on[i+1:] {
					between[fmt.Sprintf("%c %c", a, b)]++
				}
			}
		}
		got, err := checked(t, lines)
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range got.Sides {
			if s.Clashing != want[n].Clashing || s.Twice != want[n].Twice {
				t.Fatalf("round %d: %+v, want %+v", round, s, want[n])
			}
		}
		pairs := map[string]uint64{}
		for _, p := range got.Data.Between {
			pairs[strings.Join(p.Sides[:], " ")] = p.IDs
		}
		if got.Data.Clashing != data.Clashing || fmt.Sprint(pairs) != fmt.Sprint(between) || uint64(len(got.Data.First)) != min(data.Clashing, 10) {
			t.Fatalf("round %d: %+v, want %+v, between %v", round, got.Data, data, between)
		}
		for _, c := range got.Data.First {
			if last := c.Stands[len(c.Stands)-1]; last.Side == c.Stands[0].Side || uint64(len(c.Stands)) > c.Rows {
				t.Fatalf("round %d: %+v does not name two sides", round, c)
			}
		}
	}
}

func TestEverySideOfAnIDIsNamedHoweverOftenItStandsOnOne(t *testing.T) {
	got, err := checked(t, []string{strings.Repeat("7 ", 1000), "7"})
	if err != nil {
		t.Fatal(err)
	}
	c := got.Data.First[0]
	if last := c.Stands[len(c.Stands)-1]; last != (merge.Stand{Side: "B", Source: "standard input", Place: "line 1"}) || c.Rows != 1001 || len(c.Stands) > 20 {
		t.Errorf("%+v", c)
	}
}
