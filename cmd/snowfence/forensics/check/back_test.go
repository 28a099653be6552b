package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// pace is a log of one worker id, from one tick to another. With another seed a log of
// the same pace has other ids, if it is not even.
type pace struct {
	name  string
	ticks int64 // in which it has 2000 ids or more
	log   func(i issuer, r *rand.Rand, from, to int64) []uint64
}

func paces() []pace {
	// every is a log with an id each so many ticks at most, and sequences up to a highest.
	every := func(ticks, sequences int64) func(issuer, *rand.Rand, int64, int64) []uint64 {
		return func(i issuer, r *rand.Rand, from, to int64) (ids []uint64) {
			for tick := from; tick < to; tick += 1 + r.Int64N(ticks) {
				ids = append(ids, i.id(tick, r.Int64N(sequences)))
			}
			return ids
		}
	}
	high := func(i issuer, r *rand.Rand, from, to int64) (ids []uint64) { // up to 11 ids a tick
		for tick := from; tick < to; tick++ {
			for sequence := range r.Int64N(12) {
				ids = append(ids, i.id(tick, sequence))
			}
		}
		return ids
	}
	return []pace{{"low", 1_000_000, every(600, 1024)}, {"low, from zero", 30_000, every(20, 1)}, {"even", 3000, every(1, 1)}, {"high", 1000, high}}
}

func join(parts ...[]uint64) []uint64 { return slices.Concat(parts...) }

// allKinds are the kinds of a report's causes.
func allKinds(r Report) string {
	var all []string
	for _, c := range r.Causes {
		all = append(all, string(c.Kind))
	}
	return strings.Join(all, ", ")
}

func TestClockSetBackIsSaid(t *testing.T) {
	five := issuerOf(t, "default", 5)
	before, again := five.log(seeded(1), 0, 9000), five.log(seeded(2), 7000, 12000)
	// Another worker id whose clock is right does not hide it.
	var mixed []uint64
	for i, id := range join(before, again) {
		mixed = append(mixed, id, issuerOf(t, "default", 9).id(int64(i), 0))
	}
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", mixed)), SetBack)
	contains(t, c, "worker id 5 goes back from 2026-02-01T00:00:08.99", fmt.Sprintf(" to 2026-02-01T00:00:07.001Z at log, line %d, and ", 2*len(before)+1), " until it is past that came before")

	// Where the ids that follow are all new, it is no cause.
	var ids []uint64
	for tick := range int64(100) {
		ids = append(ids, five.id(tick, 0))
	}
	for tick := range int64(40) {
		ids = append(ids, five.id(50+tick, 1))
	}
	contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", append(ids, ids[len(ids)-1]))), Undecided), "can all look like this")
}

// TestRowsThatStandTwiceAreNoClockSetBack has logs in which rows stand twice, at each pace.
func TestRowsThatStandTwiceAreNoClockSetBack(t *testing.T) {
	five := issuerOf(t, "default", 5)
	for name, twice := range map[string]func(ids, after []uint64) []uint64{
		"first row at the end, and on":   func(ids, after []uint64) []uint64 { return join(ids, ids[:1], after) },
		"row from the middle at the end": func(ids, _ []uint64) []uint64 { return join(ids, ids[1000:1001]) },
		"row doubled 100 rows later":     func(ids, _ []uint64) []uint64 { return join(ids[:1100], ids[1000:1001], ids[1100:]) },
		"row doubled 100 rows before":    func(ids, _ []uint64) []uint64 { return join(ids[:900], ids[1000:1001], ids[900:]) },
		"row of the middle as first":     func(ids, _ []uint64) []uint64 { return join(ids[1000:1001], ids) },
		"last row as first":              func(ids, _ []uint64) []uint64 { return join(ids[len(ids)-1:], ids) },
		"row after itself":               func(ids, _ []uint64) []uint64 { return join(ids[:1001], ids[1000:]) },
		"3 scattered rows, each once": func(ids, _ []uint64) []uint64 {
			return join(ids[:600], ids[500:501], ids[600:1500], ids[50:51], ids[1500:], ids[7:8])
		},
		"10 rows of the middle, and on":     func(ids, after []uint64) []uint64 { return join(ids, ids[1000:1010], after) },
		"100 last rows again, and on":       func(ids, after []uint64) []uint64 { return join(ids, ids[len(ids)-100:], after) },
		"100 rows of the middle as first":   func(ids, _ []uint64) []uint64 { return join(ids[1000:1100], ids) },
		"100 rows and 100 others again":     func(ids, _ []uint64) []uint64 { return join(ids, ids[500:600], ids[700:800]) },
		"300 rows of the middle":            func(ids, _ []uint64) []uint64 { return join(ids, ids[1000:1300]) },
		"all rows again, and on":            func(ids, after []uint64) []uint64 { return join(ids, ids, after) },
		"40 rows of a log without an order": func(ids, _ []uint64) []uint64 { ids = shuffled(ids); return join(ids, ids[100:140]) },
	} {
		for _, p := range paces() {
			ids, after := p.log(five, seeded(1), 0, p.ticks), p.log(five, seeded(2), p.ticks, p.ticks*5/4)
			got := allKinds(runCheck(t, layoutConfig(t, "default"), numbered("log", twice(ids, after))))
			if got != string(Undecided) && (got != string(Copies) || p.name == "even" && !strings.Contains(name, "without an order")) {
				t.Errorf("%s, %s: %s", name, p.name, got)
			}
		}
	}
}

// TestClockSetBackIsNeverCopiedRows has a clock go back by a tick, some ticks, a second
// and an hour. Where it goes back by little, the ids that follow may be all those before
// by chance, and nothing shows it then.
func TestClockSetBackIsNeverCopiedRows(t *testing.T) {
	const seeds = 3
	five := issuerOf(t, "default", 5)
	for _, back := range []int64{1, 10, 1000, 3_600_000} {
		for _, p := range paces() {
			count := map[string]int{}
			for seed := range uint64(seeds) {
				start := max(p.ticks-back, -100)
				again := p.log(five, seeded(2*seed+1), start, max(p.ticks+50, min(start+2*back, start+p.ticks*5/4)))
				count[allKinds(runCheck(t, layoutConfig(t, "default"), numbered("log", join(p.log(five, seeded(2*seed), 0, p.ticks), again))))]++
			}
			if count[string(SetBack)]+count[string(Undecided)]+count[""] < seeds || p.name != "even" && back >= 1000 && count[string(SetBack)]+count[""] < seeds || p.name == "high" && back >= 10 && count[string(SetBack)] < seeds {
				t.Errorf("%d ticks, %s: %v", back, p.name, count)
			}
		}
	}
}
