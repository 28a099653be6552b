package source

import (
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// TestRoundedIDsAreKnown rounds ids as programs do. Ids that are round by their layout are not called rounded.
func TestRoundedIDsAreKnown(t *testing.T) {
	ids := func(n int, of func(i int, random uint64) uint64) (items []Item) {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			items = append(items, Item{ID: snowfence.ID(of(i, r.Uint64()))})
		}
		return items
	}
	tick := func(i int) uint64 { return uint64(117250214228971539>>22 + 977*i) }
	exact := func(i int, random uint64) uint64 { return tick(i)<<22 | random&(1<<22-1) }
	for name, x := range map[string]struct {
		n    int
		of   func(i int, random uint64) uint64
		want string
	}{
		"a spreadsheet": {8, func(i int, random uint64) uint64 { return exact(i, random) / 1000 * 1000 }, "8 of 8 long ids have no more than 15 digits"},
		"a spreadsheet, and a few from elsewhere": {1000, func(i int, random uint64) uint64 {
			if i%50 == 0 {
				return exact(i, random)
			}
			return exact(i, random) / 1000 * 1000
		}, "of 1,000 long ids have no more than 15 digits"},
		"a double":            {8, func(i int, random uint64) uint64 { return uint64(float64(exact(i, random))) }, "8 of 8 long ids are numbers that a double"},
		"a double of 63 bits": {100, func(_ int, random uint64) uint64 { return uint64(float64(random>>1 | 1<<62)) }, "100 of 100 long ids are numbers that a double"},
		"cut to 52 bits": {100, func(i int, random uint64) uint64 {
			id := exact(i, random)
			return id &^ (1<<(bits.Len64(id)-52) - 1)
		}, "100 of 100 long ids have no more than 52 bits before their zeros"},
		"JavaScript's text": {100, func(i int, random uint64) uint64 {
			n, _ := strconv.ParseUint(strconv.FormatFloat(float64(exact(i, random)), 'f', -1, 64), 10, 64)
			return n
		}, "of 100 long ids are numbers that a double holds or JavaScript writes"},
		"too few":                         {7, func(i int, random uint64) uint64 { return exact(i, random) / 1000 * 1000 }, ""},
		"as they were made":               {10_000, exact, ""},
		"a sequence that is always 0":     {1000, func(i int, _ uint64) uint64 { return tick(i)<<22 | 5<<12 }, ""},
		"a sequence that is short":        {1000, func(i int, random uint64) uint64 { return tick(i)<<22 | 5<<12 | random&3 }, ""},
		"dates and zeros":                 {1000, func(i int, _ uint64) uint64 { return (20260101_000000 + uint64(i)) * 100_000 }, ""},
		"counted":                         {1000, func(i int, _ uint64) uint64 { return uint64(i) * 1000 }, ""},
		"16 digits, of which one is kept": {1000, func(i int, random uint64) uint64 { return 1e15 + random%1e15 }, ""},
	} {
		var r Rounding
		r.Add(ids(x.n, x.of))
		if got := r.Text(); (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
