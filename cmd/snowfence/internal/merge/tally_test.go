package merge_test

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// row is an id and where it stands.
type row struct {
	id snowfence.ID
	at merge.Stand
}

// tallied counts rows in the order in which a sort hands them out.
func tallied(sides int, layouts []snowfence.Layout, shown int, rows []row) *merge.Tally {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(uint64(a.id), uint64(b.id)) })
	t := merge.NewTally([]string{"A", "B", "C", "D", "E", "F"}[:sides], 6, layouts, shown)
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
		got := tallied(sides, nil, 1000, rows)
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
		var ids uint64
		for _, r := range got.Runs[0].List {
			ids += r.IDs
		}
		if ids != clashing {
			t.Fatalf("round %d: the runs have %d ids, want %d", round, ids, clashing)
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
	c := tallied(2, nil, 1, rows).First[0]
	if last := c.Stands[len(c.Stands)-1]; last.Side != 1 || c.Rows != 1001 || len(c.Stands) > 20 {
		t.Errorf("%+v", c)
	}
}

// TestClashingIDsThatLookRoundedAreSaid asks of the ids that clash alone: the others are exact.
func TestClashingIDsThatLookRoundedAreSaid(t *testing.T) {
	for _, unit := range []uint64{1, 1000} {
		var rows []row
		for n := range uint64(1000) {
			id := snowfence.ID(117250214228971539 + 7919*n)
			rows = append(rows, row{id, merge.Stand{Side: int(n % 2)}})
			if n%10 == 0 {
				id -= id % snowfence.ID(unit)
				rows = append(rows, row{id, merge.Stand{Side: 0}}, row{id, merge.Stand{Side: 1}})
			}
		}
		if got := tallied(2, nil, 0, rows).Rounded; strings.HasPrefix(got, "100 of 100 long ids ") != (unit > 1) {
			t.Errorf("unit %d: %q", unit, got)
		}
	}
}

func TestFewerRowsAreRenumberedOnTheSmallerSide(t *testing.T) {
	rows := []row{{1, merge.Stand{Side: 0}}, {1, merge.Stand{Side: 0}}, {1, merge.Stand{Side: 1}}, {2, merge.Stand{Side: 0}}, {2, merge.Stand{Side: 1}}, {3, merge.Stand{Side: 1}}}
	tally := tallied(2, nil, 0, rows)
	if tally.FewestOn != "B" || tally.RowsOf[1] != 2 || tally.Renumber != 2 {
		t.Errorf("%+v", tally)
	}
	if side := tallied(2, nil, 0, rows[5:]).FewestOn; side != "" {
		t.Error("nothing clashes, but a side is to be renumbered:", side)
	}
	if side := tallied(3, nil, 0, rows).FewestOn; side != "" {
		t.Error("of three sides no one is enough:", side)
	}
}

// compose is an id of the default layout.
func compose(t *testing.T, l snowfence.Layout, at time.Time, worker, sequence int64) snowfence.ID {
	t.Helper()
	id, err := l.Compose(snowfence.Parts{Tick: l.TickAt(at), Worker: worker, Sequence: sequence})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func both(id snowfence.ID) []row {
	return []row{{id, merge.Stand{Side: 0, Source: 0}}, {id, merge.Stand{Side: 1, Source: 1}}}
}

func TestRunsAreOfOneWorkerAndWithoutLargeGaps(t *testing.T) {
	l := snowfence.DefaultLayout()
	var rows []row
	for _, x := range []struct {
		worker int64
		after  time.Duration
	}{
		{3, 0}, {3, 59 * time.Second}, {4, 30 * time.Second}, {3, 2 * time.Minute}, {3, 2*time.Minute + time.Millisecond}, {3, 10 * time.Minute},
	} {
		rows = append(rows, both(compose(t, l, now.Add(x.after), x.worker, 1))...)
	}
	rows = append(rows, both(-1)...) // none of the layout
	runs := tallied(2, []snowfence.Layout{l}, 10, rows).Runs[0]
	at := func(after time.Duration) merge.Time { return merge.Time{Time: now.Add(after)} }
	want := []merge.Run{
		{Worker: 3, IDs: 2, From: at(0), To: at(59 * time.Second)},
		{Worker: 4, IDs: 1, From: at(30 * time.Second), To: at(30 * time.Second)},
		{Worker: 3, IDs: 2, From: at(2 * time.Minute), To: at(2*time.Minute + time.Millisecond)},
		{Worker: 3, IDs: 1, From: at(10 * time.Minute), To: at(10 * time.Minute)},
	}
	if runs.All != len(want) || runs.Outside != 1 || runs.Gap != 60 || len(runs.List) != len(want) {
		t.Fatalf("%+v", runs)
	}
	for i, r := range runs.List {
		w := want[i]
		if r.Worker != w.Worker || r.IDs != w.IDs || !r.From.Equal(w.From.Time) || !r.To.Equal(w.To.Time) || !slices.Equal(r.Sides, []string{"A", "B"}) {
			t.Errorf("%+v, want %+v", r, w)
		}
	}
	// The ones with the most ids are kept.
	if few := tallied(2, []snowfence.Layout{l}, 2, rows).Runs[0]; few.All != 4 || len(few.List) != 2 || few.List[0].IDs != 2 || few.List[1].IDs != 2 {
		t.Errorf("%+v", few)
	}
}

func TestRunsOfDifferentSidesAreApart(t *testing.T) {
	rows := []row{
		{1, merge.Stand{Side: 0}}, {1, merge.Stand{Side: 1}}, {2, merge.Stand{Side: 0}}, {2, merge.Stand{Side: 2}}, {3, merge.Stand{Side: 0}}, {3, merge.Stand{Side: 1}},
		{4, merge.Stand{Side: 0}}, {4, merge.Stand{Side: 1}},
	}
	runs := tallied(3, nil, 10, rows).Runs[0]
	if runs.All != 3 || !slices.Equal(runs.List[0].Sides, []string{"A", "B"}) || !slices.Equal(runs.List[1].Sides, []string{"A", "C"}) || runs.List[2].IDs != 2 {
		t.Errorf("%+v", runs)
	}
}

func TestManyRunsBecomeFewerAndLoseNothing(t *testing.T) {
	const n = 200_000
	tally := merge.NewTally([]string{"A", "B"}, 2, nil, 1<<20)
	for i := range uint64(n) {
		id := snowfence.ID(i*1000 + i/100*1_000_000) // each is a run of its own at first
		tally.Add(id, merge.Stand{Side: 0})
		tally.Add(id, merge.Stand{Side: 1})
	}
	tally.End()
	runs := tally.Runs[0]
	var ids uint64
	last := merge.ID(-1)
	for _, r := range runs.List {
		ids += r.IDs
		if last >= 0 && uint64(r.First-last) < runs.Apart || r.Last < r.First {
			t.Fatalf("%+v begins too close to the end of the run before it, %d", r, last)
		}
		last = r.Last
	}
	if runs.All > 1<<17 || runs.Apart < 1000 || ids != n || len(runs.List) != runs.All {
		t.Errorf("%d runs with %d ids, at least %d apart", runs.All, ids, runs.Apart)
	}
}

func TestTooManyWorkersToBeToldApartGoIntoOneRun(t *testing.T) {
	l, err := snowfence.ParseLayout("s20-worker22-seq12")
	if err != nil {
		t.Fatal(err)
	}
	tally := merge.NewTally([]string{"A", "B"}, 2, []snowfence.Layout{l}, 1<<20)
	const n = 40_000
	for worker := range int64(n) {
		id, err := l.Compose(snowfence.Parts{Tick: 5, Worker: worker})
		if err != nil {
			t.Fatal(err)
		}
		tally.Add(id, merge.Stand{Side: 0})
		tally.Add(id, merge.Stand{Side: 1})
	}
	tally.End()
	runs := tally.Runs[0]
	var ids, several uint64
	for _, r := range runs.List {
		ids += r.IDs
		if r.Worker == merge.NoWorker {
			several += r.IDs
		}
	}
	if ids != n || several == 0 || runs.All > 1<<15 {
		t.Errorf("%d runs, %d ids, %d of them of several workers", runs.All, ids, several)
	}
}
