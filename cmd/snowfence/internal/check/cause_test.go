package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/text"

	"snowfence.example/snowfence"
)

// issuer makes ids of one worker id.
type issuer struct {
	t      *testing.T
	layout snowfence.Layout
	worker int64
}

func issuerOf(t *testing.T, layout string, worker int64) issuer {
	t.Helper()
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	return issuer{t, l, worker}
}

// id is that of a sequence number a number of ticks after the beginning of 2026.
func (i issuer) id(tick, sequence int64) uint64 {
	i.t.Helper()
	begin := i.layout.TickAt(time.Date(2026, time.February, 1, 0, 0, 0, 0, time.UTC))
	id, err := i.layout.Compose(snowfence.Parts{Tick: begin + snowfence.Tick(tick), Worker: i.worker, Sequence: sequence})
	if err != nil {
		i.t.Fatal(err)
	}
	return uint64(id)
}

// log is what it issues from one tick to another: some ids in each tick.
func (i issuer) log(r *rand.Rand, from, to int64) []uint64 {
	var ids []uint64
	for tick := from; tick < to; tick++ {
		for sequence := range r.Int64N(3) {
			ids = append(ids, i.id(tick, sequence))
		}
	}
	return ids
}

// only returns the one cause of a report, which must be of that kind.
func only(t *testing.T, r Report, kind Kind) Cause {
	t.Helper()
	if len(r.Causes) != 1 || r.Causes[0].Kind != kind || r.Causes[0].Duplicates != r.Duplicates || r.Duplicates == 0 {
		t.Fatalf("%d duplicates: causes are %+v, want %s", r.Duplicates, r.Causes, kind)
	}
	return r.Causes[0]
}

// contains checks the evidence.
func contains(t *testing.T, c Cause, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(c.Evidence, w) {
			t.Errorf("%s: %q lacks %q", c.Kind, c.Evidence, w)
		}
	}
	if c.Advice == "" {
		t.Errorf("%s: no advice", c.Kind)
	}
}

func layoutConfig(t *testing.T, layout string) Config {
	t.Helper()
	l := issuerOf(t, layout, 0).layout
	return Config{Layout: &l, Preset: layout, Limit: 10, Sizes: tiny}
}

func TestSameWorkerInTwoFilesIsSaid(t *testing.T) {
	five := issuerOf(t, "default", 5)
	a, b := five.log(rand.New(rand.NewPCG(1, 1)), 0, 4000), five.log(rand.New(rand.NewPCG(2, 2)), 100, 3900)
	other := issuerOf(t, "default", 6).log(rand.New(rand.NewPCG(3, 3)), 0, 4000)
	r := runCheck(t, layoutConfig(t, "default"), numbered("eu", slices.Concat(a, other)), numbered("us", b))
	c := only(t, r, SameWorker)
	contains(t, c, "worker id 5: ", fmt.Sprintf("%s ids in eu and %s in us", text.Grouped(len(a)), text.Grouped(len(b))), "2026-02-01T00:00:0")
	if fmt.Sprint(c.Workers, c.Sources) != "[5] [eu us]" || c.From == nil || c.To.Before(*c.From) {
		t.Errorf("%+v", c)
	}
}

func TestSameWorkerTwiceInOneLogIsSaid(t *testing.T) {
	five := issuerOf(t, "default", 5)
	a, b := five.log(rand.New(rand.NewPCG(1, 1)), 0, 3000), five.log(rand.New(rand.NewPCG(2, 2)), 0, 3000)
	// As two processes write to one log: now this one, now that.
	var ids []uint64
	r := rand.New(rand.NewPCG(9, 9))
	for len(a) > 0 && len(b) > 0 {
		from := &a
		if r.IntN(2) == 0 {
			from = &b
		}
		n := min(1+r.IntN(4), len(*from))
		ids = append(ids, (*from)[:n]...)
		*from = (*from)[n:]
	}
	report := runCheck(t, layoutConfig(t, "default"), numbered("log", ids))
	c := only(t, report, SameWorker)
	contains(t, c, "worker id 5: ", "two rising sequences that alternate")
	if !strings.Contains(c.Advice, "several threads write to one log") {
		t.Error(c.Advice)
	}
}

func TestOverlappingTermsAreSaid(t *testing.T) {
	five := issuerOf(t, "default", 5)
	a, b := five.log(rand.New(rand.NewPCG(1, 1)), 0, 4000), five.log(rand.New(rand.NewPCG(2, 2)), 3950, 8000)
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("after", b), numbered("before", a)), Overlapping)
	contains(t, c, "worker id 5: its ids in before end at 2026-02-01T00:00:03.99", "those in after begin at 2026-02-01T00:00:03.95")

	// A sequence that begins again within a tick.
	var ids []uint64
	for tick := range int64(500) {
		for sequence := range int64(4) {
			ids = append(ids, five.id(tick, sequence))
		}
	}
	ids = append(ids, five.id(499, 0), five.id(499, 1), five.id(500, 0))
	c = only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", ids)), Unexplained)
	contains(t, c, "at log, line 2001", "rows that were copied look like this, and so does a sequence that began again within its tick")
}

func TestClockSetBackIsSaid(t *testing.T) {
	five := issuerOf(t, "default", 5)
	ids := slices.Concat(five.log(rand.New(rand.NewPCG(1, 1)), 0, 9000), five.log(rand.New(rand.NewPCG(2, 2)), 7000, 12000))
	at := len(five.log(rand.New(rand.NewPCG(1, 1)), 0, 9000)) + 1
	// Another worker id whose clock is right does not hide it.
	var mixed []uint64
	line := 0
	for i, id := range ids {
		if i+1 == at {
			line = len(mixed) + 1
		}
		mixed = append(mixed, id, issuerOf(t, "default", 9).id(int64(i), 0))
	}
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", mixed)), SetBack)
	contains(t, c, fmt.Sprintf("worker id 5: at log, line %d its time goes back by 1.9", line), "from 2026-02-01T00:00:08.99", "to 2026-02-01T00:00:07.00")
}

func TestClockThatWasSetBackBeforeIsNoCause(t *testing.T) {
	five := issuerOf(t, "default", 5)
	var ids []uint64
	for tick := range int64(100) {
		ids = append(ids, five.id(tick, 0))
	}
	for tick := range int64(40) { // back by 50 ticks, but other sequence numbers
		ids = append(ids, five.id(50+tick, 1))
	}
	ids = append(ids, ids[len(ids)-1]) // and one row twice
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", ids)), Unexplained)
	contains(t, c, "worker id 5")
}

func TestRowsThatWereCopiedAreNoCollision(t *testing.T) {
	var ids []uint64
	for w := range int64(4) {
		ids = append(ids, issuerOf(t, "default", w).log(rand.New(rand.NewPCG(uint64(w), 1)), 0, 1000)...)
	}
	slices.Sort(ids)
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	want := fmt.Sprintf("%s rows in a row: all, line 1 to all, line %d stand at part, line 11 to line %d too", text.Grouped(len(ids)), len(ids), len(ids)+10)
	rest := issuerOf(t, "default", 77).log(rand.New(rand.NewPCG(5, 5)), 0, 100)[:10]
	contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("all", ids), numbered("part", slices.Concat(rest, ids))), Copies), want)
	contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("twice", slices.Concat(ids, ids))), Copies), "twice, line ")
}

func TestLayoutMixUpIsSaid(t *testing.T) {
	five := issuerOf(t, "default", 5)
	ids := five.log(rand.New(rand.NewPCG(1, 1)), 0, 1000)
	// Ids of Twitter's lie far in the future of the default layout.
	foreign := issuerOf(t, "twitter", 5).log(rand.New(rand.NewPCG(2, 1)), 0, 300)
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("ours", ids), numbered("theirs", slices.Concat(foreign, foreign[:3]))), MixUp)
	contains(t, c, fmt.Sprintf("theirs: %d of %d ids don't fit default", len(foreign)+3, len(foreign)+3), "the first is "+written(foreign[0])+" at line 1", "are plausible as twitter")

	// Without a duplicate it is a warning.
	r := runCheck(t, layoutConfig(t, "default"), numbered("theirs", foreign))
	if r.Duplicates != 0 || len(r.Causes) != 1 || r.Causes[0].Kind != MixUp || r.Causes[0].Duplicates != 0 {
		t.Errorf("%+v", r)
	}
}

func TestTwoPopulationsAreToldApartWhenGuessing(t *testing.T) {
	twitter := issuerOf(t, "twitter", 1).log(rand.New(rand.NewPCG(1, 1)), 0, 500)
	safe := issuerOf(t, "javascript-safe-ms", 1).log(rand.New(rand.NewPCG(1, 1)), 0, 500)
	c := only(t, runCheck(t, Config{Limit: 3, Sizes: tiny}, numbered("a", twitter), numbered("b", slices.Concat(safe, twitter[:5]))), MixUp)
	contains(t, c, "a: 64 of 64 ids looked at are plausible as twitter")
}

func TestWhatNoRuleExplainsIsCalledSo(t *testing.T) {
	five := issuerOf(t, "default", 5)
	ids := five.log(rand.New(rand.NewPCG(1, 1)), 0, 4000)
	twice := slices.Concat(ids, ids[100:110])
	slices.Sort(twice)
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("sorted", twice)), Unexplained)
	contains(t, c, "worker id 5: ids follow themselves", "ids that were sorted")

	rand.New(rand.NewPCG(4, 4)).Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
	c = only(t, runCheck(t, layoutConfig(t, "default"), numbered("shuffled", twice)), Unexplained)
	contains(t, c, "in no order that tells which came first")

	r := rand.New(rand.NewPCG(6, 6))
	random := fill(3000, func(int) uint64 { return r.Uint64() | 1<<63 })
	random[7] = random[9]
	c = only(t, runCheck(t, Config{Sizes: tiny}, numbered("random", random)), Unexplained)
	contains(t, c, "no preset suits")

	mastodon := issuerOf(t, "mastodon", 0).log(rand.New(rand.NewPCG(1, 1)), 0, 900)
	c = only(t, runCheck(t, layoutConfig(t, "mastodon"), numbered("a", mastodon), numbered("b", mastodon[10:20])), Unexplained)
	contains(t, c, "has no worker id")
}

func TestLayoutIsGuessedAndSaidSo(t *testing.T) {
	ids := issuerOf(t, "twitter", 5).log(rand.New(rand.NewPCG(1, 1)), 0, 1000)
	if r := runCheck(t, Config{Sizes: tiny}, numbered("a", ids)); !r.Guessed || r.Preset != "twitter" || len(r.Causes) != 0 {
		t.Errorf("%+v", r)
	}
	if r := runCheck(t, layoutConfig(t, "leaf"), numbered("a", ids)); r.Guessed || r.Preset != "leaf" {
		t.Errorf("%+v", r)
	}
}

func TestManyWorkersAreOneCause(t *testing.T) {
	var a, b []uint64
	for w := range int64(40) {
		i := issuerOf(t, "default", w)
		a = append(a, i.log(rand.New(rand.NewPCG(uint64(w), 1)), 0, 300)...)
		b = append(b, i.log(rand.New(rand.NewPCG(uint64(w), 2)), 0, 300)...)
	}
	slices.Sort(a)
	slices.Sort(b)
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("a", a), numbered("b", b)), SameWorker)
	contains(t, c, "and so do 39 more worker ids")
	if len(c.Workers) != maxWorkers || c.WorkerCount != 40 {
		t.Errorf("%d of %d worker ids", len(c.Workers), c.WorkerCount)
	}
}

func TestWorkersThatWereNotWatchedAreSaidToBe(t *testing.T) {
	var ids []uint64
	for w := range int64(maxSightings + 1) {
		ids = append(ids, issuerOf(t, "sonyflake-v2", w).id(w, 0))
	}
	ids = append(ids, ids[len(ids)-1])
	cfg := layoutConfig(t, "sonyflake-v2")
	cfg.Sizes = idsort.Sizes{}
	c := only(t, runCheck(t, cfg, numbered("a", ids)), Unexplained)
	contains(t, c, "more than 32768 worker ids")
}

func TestNumbersThatADatabaseCountsUpAreOfNoLayout(t *testing.T) {
	ids := fill(3000, func(i int) uint64 { return uint64(i) + 1 })
	ids = append(ids, 17, 2000)
	r := runCheck(t, Config{Sizes: tiny}, numbered("a", ids), numbered("b", []uint64{5, 12}))
	for _, c := range r.Causes {
		if c.Kind != Unexplained {
			t.Errorf("%+v", c)
		}
		contains(t, c, "no preset suits")
	}
}

// TestRowsThatWereDeliveredTwiceAreNoSecondProcess has rows that come again a
// little later, as a queue delivers them.
func TestRowsThatWereDeliveredTwiceAreNoSecondProcess(t *testing.T) {
	var again []uint64
	var log []uint64
	r := rand.New(rand.NewPCG(1, 1))
	for _, id := range issuerOf(t, "default", 5).log(r, 0, 4000) {
		log = append(log, id)
		if r.IntN(20) == 0 {
			again = append(again, id)
		}
		if len(again) == 3 {
			log = append(log, again[0])
			again = again[1:]
		}
	}
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", log)), Unexplained)
	contains(t, c, "worker id 5: its ", "go back ")
}

// TestSameRecordsAreNamedAsAReading has a table that refers to another.
func TestSameRecordsAreNamedAsAReading(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	orders := issuerOf(t, "default", 5).log(r, 0, 4000)
	var lines []uint64
	for _, id := range orders {
		if r.IntN(4) == 0 {
			lines = append(lines, id, id)
		}
	}
	for _, lists := range [][]*list{{numbered("orders", orders), numbered("lines", lines)}, {numbered("lines", lines), numbered("orders", orders)}} {
		report := runCheck(t, layoutConfig(t, "default"), lists...)
		for _, c := range report.Causes {
			if c.Kind == SameWorker {
				if !strings.HasSuffix(c.Advice, "this is no collision") {
					t.Error(c.Advice)
				}
			}
		}
	}
}

// TestCopiesAreSeenHoweverTheWorkIsDivided has rows in no order, so that each of
// several workers sees only a part of those that were copied.
func TestCopiesAreSeenHoweverTheWorkIsDivided(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ids := issuerOf(t, "default", 5).log(r, 0, 4000)
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, workers := range []int{1, 4} {
		cfg := layoutConfig(t, "default")
		cfg.Sizes.Workers = workers
		contains(t, only(t, runCheck(t, cfg, numbered("a", ids), numbered("b", ids[1000:1600])), Copies), "600 rows in a row")
	}
}

// TestEvenPaceOfTwoProcessesIsNotCalledCopies has two processes with one worker id
// issue an id in each tick, or some: nothing tells their logs from copied rows.
func TestEvenPaceOfTwoProcessesIsNotCalledCopies(t *testing.T) {
	seven := issuerOf(t, "default", 7)
	log := func(from, to, each int64) []uint64 {
		var ids []uint64
		for tick := from; tick < to; tick++ {
			for sequence := range each {
				ids = append(ids, seven.id(tick, sequence))
			}
		}
		return ids
	}
	var gaps []uint64
	for n := range int64(20) {
		gaps = append(gaps, log(100*n, 100*n+90-n, 1)...)
	}
	for _, x := range []struct {
		name string
		a, b []uint64
		want Kind
		says []string
	}{
		{"same times", log(0, 1000, 1), log(0, 1000, 1), SameWorker, []string{"1,000 ids in a and 1,000 in b", "if they are the same records"}},
		{"half of the time", log(0, 1000, 1), log(500, 1500, 1), SameWorker, []string{"if they are the same records", "give each process"}},
		{"some each tick", log(0, 1000, 4), log(500, 1500, 4), SameWorker, []string{"4,000 ids in a"}},
		{"one goes on too early", log(0, 10_000, 1), log(9_500, 20_000, 1), Overlapping, []string{"its ids in a end at"}},
		{"gaps at the same places", gaps, gaps, Copies, []string{"in a row"}},
	} {
		for _, workers := range []int{1, 3} {
			cfg := layoutConfig(t, "default")
			cfg.Sizes.Workers = workers
			c := only(t, runCheck(t, cfg, numbered("a", x.a), numbered("b", x.b)), x.want)
			for _, want := range x.says {
				if !strings.Contains(c.Evidence+c.Advice, want) {
					t.Errorf("%s: %q is not in %s -> %s", x.name, want, c.Evidence, c.Advice)
				}
			}
		}
	}
}
