package check

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// paces are logs of one worker id: each returns what is issued from one tick to
// another. With another seed a log of the same pace has other ids, if it is not
// even.
var paces = map[string]func(i issuer, seed uint64, from, to int64) []uint64{
	"low": func(i issuer, seed uint64, from, to int64) []uint64 { // an id in about 300 ticks, sequences that begin anywhere low
		r := rand.New(rand.NewPCG(seed, 7))
		var ids []uint64
		for tick := from + r.Int64N(600); tick < to; tick += 1 + r.Int64N(600) {
			ids = append(ids, i.id(tick, r.Int64N(1024)))
		}
		return ids
	},
	"low, from zero": func(i issuer, seed uint64, from, to int64) []uint64 { // the sequences of low rates are always 0
		r := rand.New(rand.NewPCG(seed, 8))
		var ids []uint64
		for tick := from; tick < to; tick += 1 + r.Int64N(20) {
			ids = append(ids, i.id(tick, 0))
		}
		return ids
	},
	"high": func(i issuer, seed uint64, from, to int64) []uint64 { // up to 11 ids a tick
		r := rand.New(rand.NewPCG(seed, 9))
		var ids []uint64
		for tick := from; tick < to; tick++ {
			for sequence := range r.Int64N(12) {
				ids = append(ids, i.id(tick, sequence))
			}
		}
		return ids
	},
	"even": func(i issuer, _ uint64, from, to int64) []uint64 { // one in every tick
		var ids []uint64
		for tick := from; tick < to; tick++ {
			ids = append(ids, i.id(tick, 0))
		}
		return ids
	},
}

// ticksOf is how many ticks a log of a pace goes over, so that it has 2000 ids or
// more.
var ticksOf = map[string]int64{"low": 1_000_000, "low, from zero": 30_000, "high": 1000, "even": 3000}

// rowsTwice are logs in which rows stand twice, made of a log and what follows it,
// and what they are called at each pace. A clock that was set back makes the very logs
// of an even pace, and those of few rows.
var rowsTwice = []struct {
	name                  string
	log                   func(ids, after []uint64) []uint64
	even, high, low, zero Kind
}{
	{"first row at the end", func(ids, _ []uint64) []uint64 { return join(ids, ids[:1]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"first row at the end, and on", func(ids, after []uint64) []uint64 { return join(ids, ids[:1], after) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"row from the middle at the end", func(ids, _ []uint64) []uint64 { return join(ids, ids[1000:1001]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"row doubled 100 rows later", func(ids, _ []uint64) []uint64 { return join(ids[:1100], ids[1000:1001], ids[1100:]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"row doubled 100 rows before", func(ids, _ []uint64) []uint64 { return join(ids[:900], ids[1000:1001], ids[900:]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"row of the middle as first", func(ids, _ []uint64) []uint64 { return join(ids[1000:1001], ids) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"last row as first", func(ids, _ []uint64) []uint64 { return join(ids[len(ids)-1:], ids) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"row after itself", func(ids, _ []uint64) []uint64 { return join(ids[:1001], ids[1000:]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"3 scattered rows, each once", func(ids, _ []uint64) []uint64 {
		return join(ids[:600], ids[500:501], ids[600:1500], ids[50:51], ids[1500:], ids[7:8])
	}, Unexplained, Unexplained, Unexplained, Unexplained},
	{"12 scattered rows at the end", func(ids, _ []uint64) []uint64 { return join(ids, every(ids[:1500], 125)) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"2 last rows again", func(ids, _ []uint64) []uint64 { return join(ids, ids[len(ids)-2:]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"2 rows of the middle, and on", func(ids, after []uint64) []uint64 { return join(ids, ids[1000:1002], after) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"10 last rows again", func(ids, _ []uint64) []uint64 { return join(ids, ids[len(ids)-10:]) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"10 rows of the middle, and on", func(ids, after []uint64) []uint64 { return join(ids, ids[1000:1010], after) }, Unexplained, Unexplained, Unexplained, Unexplained},
	{"50 rows of the middle", func(ids, _ []uint64) []uint64 { return join(ids, ids[1000:1050]) }, Unexplained, Unexplained, Copies, Copies},
	{"50 rows of the middle, and on", func(ids, after []uint64) []uint64 { return join(ids, ids[1000:1050], after) }, Unexplained, Unexplained, Copies, Copies},
	{"100 last rows again", func(ids, _ []uint64) []uint64 { return join(ids, ids[len(ids)-100:]) }, Unexplained, Copies, Copies, Copies},
	{"100 last rows again, and on", func(ids, after []uint64) []uint64 { return join(ids, ids[len(ids)-100:], after) }, Unexplained, Copies, Copies, Copies},
	{"100 rows of the middle as first", func(ids, _ []uint64) []uint64 { return join(ids[1000:1100], ids) }, Unexplained, Unexplained, Copies, Copies},
	{"100 rows and 100 others again", func(ids, _ []uint64) []uint64 { return join(ids, ids[500:600], ids[700:800]) }, Unexplained, Unexplained, Copies, Copies},
	{"300 last rows again", func(ids, _ []uint64) []uint64 { return join(ids, ids[len(ids)-300:]) }, Unexplained, Copies, Copies, Copies},
	{"300 rows of the middle", func(ids, _ []uint64) []uint64 { return join(ids, ids[1000:1300]) }, Unexplained, Copies, Copies, Copies},
	{"all rows again", func(ids, _ []uint64) []uint64 { return join(ids, ids) }, Unexplained, Copies, Copies, Copies},
	{"all rows again, and on", func(ids, after []uint64) []uint64 { return join(ids, ids, after) }, Unexplained, Copies, Copies, Copies},
	{"100 rows, in no order", func(ids, _ []uint64) []uint64 { ids = shuffled(ids); return join(ids, ids[300:400]) }, Copies, Copies, Copies, Copies},
	{"40 rows, in no order", func(ids, _ []uint64) []uint64 { ids = shuffled(ids); return join(ids, ids[100:140]) }, Copies, Copies, Copies, Copies},
}

func shuffled(ids []uint64) []uint64 {
	mixed := slices.Clone(ids)
	rand.New(rand.NewPCG(4, 4)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	return mixed
}

func join(parts ...[]uint64) []uint64 { return slices.Concat(parts...) }

func every(ids []uint64, n int) []uint64 {
	var some []uint64
	for i := 0; i < len(ids); i += n {
		some = append(some, ids[i])
	}
	return some
}

// allKinds are those of a report's causes.
func allKinds(r Report) string {
	var all []string
	for _, c := range r.Causes {
		all = append(all, string(c.Kind))
	}
	return strings.Join(all, ", ")
}

func TestRowsThatStandTwiceAreToldFromAClockSetBack(t *testing.T) {
	five := issuerOf(t, "default", 5)
	for _, x := range rowsTwice {
		for pace, want := range map[string]Kind{"even": x.even, "high": x.high, "low": x.low, "low, from zero": x.zero} {
			ids, after := paces[pace](five, 1, 0, ticksOf[pace]), paces[pace](five, 2, ticksOf[pace], ticksOf[pace]*5/4)
			said := ""
			for _, workers := range []int{1, 3} {
				cfg := layoutConfig(t, "default")
				cfg.Sizes.Workers = workers
				r := runCheck(t, cfg, numbered("log", x.log(ids, after)))
				if got := allKinds(r); got != string(want) || r.Causes[0].Duplicates != r.Duplicates {
					t.Errorf("%s, %s: %s, want %s: %+v", x.name, pace, got, want, r.Causes)
					continue
				}
				switch evidence := r.Causes[0].Evidence; {
				case said != "" && evidence != said:
					t.Errorf("%s, %s, with %d workers: %s, want %s", x.name, pace, workers, evidence, said)
				case want == Unexplained && x.name != "row after itself" && (!strings.Contains(evidence, "rows that were copied look like this") ||
					!strings.Contains(evidence, "a clock that was set back by") && !strings.Contains(evidence, "a sequence that began again")):
					t.Errorf("%s, %s: names not both causes: %s", x.name, pace, evidence)
				default:
					said = evidence
				}
			}
		}
	}
}

// TestRowsOfManyWorkersThatWereCopiedAreSaid has only a few ids of each worker id
// among the copied ones, so that none of them tells it alone.
func TestRowsOfManyWorkersThatWereCopiedAreSaid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var ids []uint64
	for tick := range int64(3000) {
		ids = append(ids, issuerOf(t, "default", r.Int64N(40)).id(tick, 0))
	}
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", join(ids, ids[2900:]))), Copies)
	contains(t, c, "100 rows in a row: log, line 2901 to log, line 3000 stand at log, line 3001 to line 3100 too")
}

// TestClockSetBackIsNeverCopiedRows has a clock go back by a tick, some ticks, a
// tenth of a second, a second and an hour. Where it goes back by little, the ids
// that follow may be all those before by chance, and nothing tells then.
func TestClockSetBackIsNeverCopiedRows(t *testing.T) {
	const seeds = 8
	five := issuerOf(t, "default", 5)
	for _, back := range []int64{1, 2, 10, 100, 1000, 3_600_000} {
		for _, pace := range names(paces) {
			end, count := ticksOf[pace], map[string]int{}
			for seed := range uint64(seeds) {
				start := max(end-back, -100)
				again := paces[pace](five, 2*seed+1, start, max(end+50, min(start+2*back, start+end*5/4)))
				r := runCheck(t, layoutConfig(t, "default"), numbered("log", join(paces[pace](five, 2*seed, 0, end), again)))
				for _, c := range r.Causes {
					said := c.Evidence + c.Advice
					if c.Kind == Copies || c.Kind == Unexplained && !strings.Contains(said, "a clock that was set back by") && !strings.Contains(said, "began again") {
						t.Errorf("%d ticks, %s, seed %d: %+v", back, pace, seed, c)
					}
				}
				count[allKinds(r)]++
			}
			t.Logf("%7d ticks, %-14s: %v", back, pace, count)
			if pace != "even" && back >= 1000 && count[string(SetBack)]+count[""] < seeds || pace == "high" && back >= 10 && count[string(SetBack)] < seeds {
				t.Errorf("%d ticks, %s: %v", back, pace, count)
			}
		}
	}
}

// names are the keys of a map, in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// TestDuplicatesAreCountedForTheirOwnWorker has rows of many worker ids copied, with
// others between them: none of them may have more duplicates than ids.
func TestDuplicatesAreCountedForTheirOwnWorker(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var a, b []uint64
	for tick := range int64(20_000) {
		id := issuerOf(t, "default", r.Int64N(40)).id(tick, 0)
		a = append(a, id)
		if r.IntN(4) > 0 {
			b = append(b, id)
		}
	}
	for _, c := range runCheck(t, layoutConfig(t, "default"), numbered("a", a), numbered("b", b)).Causes {
		if most := uint64(600); c.WorkerCount > 0 && c.Duplicates > most*uint64(c.WorkerCount) {
			t.Errorf("%d duplicates of %d worker ids, which have up to %d ids each: %s", c.Duplicates, c.WorkerCount, most, c.Evidence)
		}
	}
}
