package check

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
)

// expected fills in what a map finds in lists, and returns how many ids two of them share.
func expected(lists []*list) (r Report, between map[string]uint64) {
	places, between := map[uint64][]Place{}, map[string]uint64{}
	for _, l := range lists {
		for _, x := range l.items {
			places[uint64(x.ID)] = append(places[uint64(x.ID)], Place{l.name, x.At, fmt.Sprintf("line %d", x.At)})
		}
		r.IDs += uint64(len(l.items))
		r.Sources = append(r.Sources, Source{Name: l.name, IDs: uint64(len(l.items))})
	}
	r.Distinct = uint64(len(places))
	for _, id := range slices.Sorted(maps.Keys(places)) {
		all := places[id]
		if len(all) == 1 {
			continue
		}
		r.Repeated++
		var in []string
		for i, l := range lists {
			n := 0
			for _, p := range all {
				n += map[bool]int{true: 1}[p.Source == l.name]
			}
			if n == 0 {
				continue
			}
			r.Sources[i].Within += uint64(n) - 1
			for _, before := range in {
				between[before+" "+l.name]++
			}
			in = append(in, l.name)
		}
		r.Named = append(r.Named, Duplicate{snowfence.ID(id).String(), uint64(len(all)), all[:min(len(all), maxPlaces)]})
	}
	return r, between
}

func TestEveryDuplicateIsFoundAsAMapFindsIt(t *testing.T) {
	for name, id := range map[string]func(r *rand.Rand, i int) uint64{
		"few different":            func(r *rand.Rand, _ int) uint64 { return r.Uint64N(50) },
		"of 64 bits":               func(r *rand.Rand, _ int) uint64 { return ^uint64(0) - r.Uint64N(3)<<r.IntN(62) },
		"spread":                   func(r *rand.Rand, _ int) uint64 { return r.Uint64() },
		"in order with equal ones": func(_ *rand.Rand, i int) uint64 { return uint64(i / 3 * 5) },
		"two logs at once":         func(_ *rand.Rand, i int) uint64 { return uint64(i/2) + uint64(i%2)*1000 },
	} {
		for seed := range uint64(2) {
			r := rand.New(rand.NewPCG(seed, 1))
			lists := []*list{numbered("nothing", nil), numbered("one", []uint64{7})}
			for i := range 1 + r.IntN(3) {
				l := numbered(fmt.Sprint("source", i), fill(1+r.IntN(9000), func(i int) uint64 { return id(r, i) }))
				gap := uint64(0)
				for k := range l.items { // lines without an id
					gap += r.Uint64N(20) / 19 * r.Uint64N(1<<r.Uint64N(40))
					l.items[k].At += gap
				}
				lists = append(lists, l)
			}
			got := runCheck(t, Config{Sort: tiny, Limit: 1 << 20}, lists...)
			want, between := expected(lists)
			pairs, sum := map[string]uint64{}, uint64(0)
			for _, p := range got.Between {
				pairs[p.A+" "+p.B] = p.Common
			}
			for _, c := range got.Causes {
				sum += c.Duplicates
			}
			if !maps.Equal(pairs, between) || sum != got.Duplicates || got.Duplicates != got.IDs-got.Distinct || got.Spilled == 0 && got.IDs > 4000 {
				t.Errorf("%s: %v, want %v; causes of %d of %d duplicates; %d bytes put aside", name, pairs, between, sum, got.Duplicates, got.Spilled)
			}
			for i := range got.Sources {
				got.Sources[i].Rounded = ""
			}
			if got.IDs != want.IDs || got.Distinct != want.Distinct || got.Repeated != want.Repeated || fmt.Sprint(got.Sources, got.Named) != fmt.Sprint(want.Sources, want.Named) {
				t.Errorf("%s, seed %d: %.300v, want %.300v", name, seed, got, want)
			}
		}
	}
}

// TestReportDoesNotShowHowTheWorkWasDivided has rows in no order, so that each of several
// workers sees only a part of the copied rows.
func TestReportDoesNotShowHowTheWorkWasDivided(t *testing.T) {
	var want string
	for _, workers := range []int{1, 2, 7} {
		r := rand.New(rand.NewPCG(1, 2))
		ids := issuerOf(t, "default", 5).log(r, 0, 4000)
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		cfg := layoutConfig(t, "default")
		cfg.Sort.Sizes.Workers = workers
		report := runCheck(t, cfg, numbered("a", ids), numbered("b", ids[1000:1600]), numbered("a", ids[:700]))
		report.Spilled = 0
		if got := fmt.Sprint(report); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%d workers: %.300s…, want %.300s…", workers, got, want)
		}
	}
}

func TestPairsOfManySourcesAreBounded(t *testing.T) {
	var lists []*list
	for i := range 300 {
		lists = append(lists, numbered(fmt.Sprint("source", i), []uint64{7, 8}))
	}
	report := runCheck(t, Config{Sort: tiny, Limit: 1}, lists...)
	if len(report.Between) != maxBetween || !report.Partial || report.Duplicates != 598 {
		t.Errorf("%d pairs, partial: %v; %d duplicates", len(report.Between), report.Partial, report.Duplicates)
	}
	if report = runCheck(t, Config{Sort: tiny, Limit: 1}, lists[:100]...); len(report.Between) != 100*99/2 || report.Partial || report.Between[0].Common != 2 {
		t.Errorf("%d pairs, partial: %v", len(report.Between), report.Partial)
	}
}

// TestAnswerIsCompleteOnlyWithEveryID holds that a check of no ids, or of fewer than there are lines, is no answer.
func TestAnswerIsCompleteOnlyWithEveryID(t *testing.T) {
	for name, x := range map[string]struct {
		lists []*list
		want  bool
	}{
		"ids":         {[]*list{numbered("a", []uint64{7, 8})}, true},
		"none":        {[]*list{numbered("a", nil)}, false},
		"none of one": {[]*list{numbered("a", []uint64{7}), numbered("b", nil), numbered("c", []uint64{8})}, false},
	} {
		if report := runCheck(t, layoutConfig(t, "default"), x.lists...); report.Complete != x.want || report.Duplicates > 0 {
			t.Errorf("%s: complete is %v", name, report.Complete)
		}
	}
}

// TestMostSightingsFitTheProgramsShare adds up what the most worker ids take, with twice
// as much for the map.
func TestMostSightingsFitTheProgramsShare(t *testing.T) {
	const size = 8 * (7 + 2*5)
	if taken := int64(maxSightings * (size + 2*16)); taken > idsort.OwnHeap {
		t.Errorf("%d bytes are taken, of %d", taken, idsort.OwnHeap)
	}
	var ids []uint64
	for w := range int64(maxSightings + 1) {
		ids = append(ids, issuerOf(t, "sonyflake-v2", w).id(w, 0))
	}
	ids = append(ids, ids[len(ids)-1])
	cfg := layoutConfig(t, "sonyflake-v2")
	cfg.Sort.Sizes = idsort.Sizes{}
	contains(t, only(t, runCheck(t, cfg, numbered("a", ids)), Undecided), "they are too many")
}
