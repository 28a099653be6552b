package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
)

// expected is what a map finds.
func expected(lists []*list) (distinct, repeated uint64, within map[string]uint64, between map[string]uint64, named []Duplicate) {
	type where struct {
		list int
		at   uint64
	}
	places := map[uint64][]where{}
	for i, l := range lists {
		for _, x := range l.items {
			places[uint64(x.ID)] = append(places[uint64(x.ID)], where{i, x.At})
		}
	}
	within, between = map[string]uint64{}, map[string]uint64{}
	var ids []uint64
	for id, all := range places {
		distinct++
		if len(all) == 1 {
			continue
		}
		repeated++
		ids = append(ids, id)
		counts := make([]uint64, len(lists))
		for _, w := range all {
			counts[w.list]++
		}
		for i, n := range counts {
			within[lists[i].name] += max(n, 1) - 1
			for k, m := range counts[:i] {
				if n > 0 && m > 0 {
					between[lists[k].name+" "+lists[i].name]++
				}
			}
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		d := Duplicate{ID: written(id), Count: uint64(len(places[id]))}
		for _, w := range places[id] {
			if len(d.Places) < maxPlaces {
				d.Places = append(d.Places, Place{lists[w.list].name, w.at, fmt.Sprintf("line %d", w.at)})
			}
		}
		named = append(named, d)
	}
	return distinct, repeated, within, between, named
}

func TestEveryDuplicateIsFoundAsAMapFindsIt(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, 1))
				var lists []*list
				for i := range 1 + r.IntN(3) {
					l := numbered(fmt.Sprint("source", i), shape(r, 1+r.IntN(9000)))
					gap := uint64(0)
					for k := range l.items { // lines without an id
						gap += r.Uint64N(20) / 19 * r.Uint64N(1<<r.Uint64N(40))
						l.items[k].At += gap
					}
					lists = append(lists, l)
				}
				if seed%3 == 0 {
					lists = append(lists, numbered("nothing", nil), numbered("one", []uint64{7}))
				}
				compareWithMap(t, fmt.Sprint("seed ", seed), Config{Sizes: tiny, Limit: 1 << 20}, lists)
			}
		})
	}
}

func compareWithMap(t *testing.T, about string, cfg Config, lists []*list) {
	t.Helper()
	report := runCheck(t, cfg, lists...)
	distinct, repeated, within, between, named := expected(lists)
	if report.Distinct != distinct || report.Repeated != repeated || report.Duplicates != report.IDs-distinct {
		t.Fatalf("%s: %d distinct, %d repeated, want %d, %d", about, report.Distinct, report.Repeated, distinct, repeated)
	}
	for i, s := range report.Sources {
		if s.Name != lists[i].name || s.IDs != uint64(len(lists[i].items)) || s.Within != within[s.Name] {
			t.Fatalf("%s: %+v, want %d ids and %d within", about, s, len(lists[i].items), within[s.Name])
		}
	}
	for _, p := range report.Between {
		if between[p.A+" "+p.B] != p.Common {
			t.Fatalf("%s: %+v, want %d", about, p, between[p.A+" "+p.B])
		}
		delete(between, p.A+" "+p.B)
	}
	if len(between) > 0 {
		t.Fatalf("%s: not found: %v", about, between)
	}
	if len(report.Named) != len(named) {
		t.Fatalf("%s: %d are named, want %d", about, len(report.Named), len(named))
	}
	for i, d := range report.Named {
		// Of very many places any may be kept; all that are kept are right.
		if d.Count > maxPlaces {
			continue
		}
		if fmt.Sprint(d) != fmt.Sprint(named[i]) {
			t.Fatalf("%s: %+v, want %+v", about, d, named[i])
		}
	}
	sum, ranges := uint64(0), uint64(0)
	for _, c := range report.Causes {
		sum += c.Duplicates
	}
	for _, r := range report.Ranges {
		ranges += r.Count
	}
	// Of very many ranges the shortest are only counted.
	all := report.RangeCount == uint64(len(report.Ranges))
	if sum != report.Duplicates || !all && cfg.Limit >= int(report.RangeCount) || all && ranges != repeated || !all && len(report.Ranges) < maxRanges {
		t.Fatalf("%s: causes of %d of %d duplicates, ranges of %d of %d ids", about, sum, report.Duplicates, ranges, repeated)
	}
}

// TestReportDoesNotShowHowTheWorkWasDivided compares reports of one worker with
// those of several, each of which had a range of the ids.
func TestReportDoesNotShowHowTheWorkWasDivided(t *testing.T) {
	for name, shape := range shapes {
		var want string
		for _, workers := range []int{1, 2, 3, 7} {
			r := rand.New(rand.NewPCG(1, 2))
			cfg := Config{Sizes: tiny, Limit: 1 << 20}
			cfg.Sizes.Workers = workers
			report := runCheck(t, cfg, numbered("a", shape(r, 7000)), numbered("b", shape(r, 5000)), numbered("a", shape(r, 3000)))
			got := fmt.Sprint(report.RangeCount, report.Ranges, report.Between)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, %d workers: %.300s…, want %.300s…", name, workers, got, want)
			}
		}
	}
}

func TestPairsOfManySourcesAreBounded(t *testing.T) {
	var lists []*list
	for i := range 300 {
		lists = append(lists, numbered(fmt.Sprint("source", i), []uint64{7, 8}))
	}
	report := runCheck(t, Config{Sizes: tiny, Limit: 1}, lists...)
	if len(report.Between) != maxBetween || !report.Partial || report.Duplicates != 598 {
		t.Errorf("%d pairs, partial: %v; %d duplicates", len(report.Between), report.Partial, report.Duplicates)
	}
	if report = runCheck(t, Config{Sizes: tiny, Limit: 1}, lists[:100]...); len(report.Between) != 100*99/2 || report.Partial || report.Between[0].Common != 2 {
		t.Errorf("%d pairs, partial: %v", len(report.Between), report.Partial)
	}
}

func TestLargerPiecesFindTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids := fill(400_000, func(int) uint64 { return r.Uint64N(1<<24) << 30 })
	compareWithMap(t, "", Config{Memory: idsort.LeastMemory, Limit: 1 << 20, Sizes: idsort.Sizes{Chunk: 60_000, Page: 4096, Workers: 2, Room: 1 << 20, Fan: 100}}, []*list{numbered("a", ids)})
}

func TestOneDuplicateAmongManyIsNamedWithItsLines(t *testing.T) {
	ids := fill(100_000, func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 })
	ids[99_000] = ids[123]
	report := runCheck(t, Config{Sizes: tiny, Limit: 5}, numbered("stream", ids))
	want := fmt.Sprintf("[{%s 2 [{stream 124 line 124} {stream 99001 line 99001}]}]", written(ids[123]))
	if got := fmt.Sprint(report.Named); got != want || report.Duplicates != 1 {
		t.Errorf("%s, want %s", got, want)
	}
}
