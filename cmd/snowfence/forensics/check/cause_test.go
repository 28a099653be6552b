package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

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

// id is that of a sequence number a number of ticks after the first of February 2026.
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
		if !strings.Contains(c.Evidence, w) || c.Advice == "" {
			t.Errorf("%s: %q lacks %q, or there is no advice", c.Kind, c.Evidence, w)
		}
	}
}

func layoutConfig(t *testing.T, layout string) Config {
	t.Helper()
	l := issuerOf(t, layout, 0).layout
	return Config{Layout: &l, Preset: layout, Limit: 10, Sort: tiny}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func shuffled(ids []uint64) []uint64 {
	mixed := slices.Clone(ids)
	seeded(4).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	return mixed
}

func TestOneWorkerIDInTwoSourcesIsSaid(t *testing.T) {
	var a, b []uint64
	for w := range int64(40) {
		i := issuerOf(t, "default", w)
		a, b = append(a, i.log(seeded(uint64(w)+1), 0, 300)...), append(b, i.log(seeded(uint64(w)+100), 0, 300)...)
	}
	slices.Sort(a)
	slices.Sort(b)
	other := issuerOf(t, "default", 77).log(seeded(3), 0, 300)
	c := only(t, runCheck(t, layoutConfig(t, "default"), numbered("eu", slices.Concat(a, other)), numbered("us", b)), SameWorker)
	contains(t, c, "worker id ", " ids in eu, 2026-02-01T00:00:00.00", " in us, ", " are in both")
	if len(c.Workers) != maxWorkers || c.WorkerCount != 40 || !slices.Equal(c.Sources, []string{"eu", "us"}) {
		t.Errorf("%+v", c)
	}
}

// TestRecordsOfAnotherSourceAreNoSecondProcess has a table that refers to another, in
// which each worker id has no id of its own.
func TestRecordsOfAnotherSourceAreNoSecondProcess(t *testing.T) {
	orders := issuerOf(t, "default", 5).log(seeded(1), 0, 4000)
	var lines []uint64
	for i, id := range orders {
		if i%4 == 0 {
			lines = append(lines, id)
		}
	}
	for _, lists := range [][]*list{{numbered("orders", orders), numbered("lines", shuffled(lines))}, {numbered("lines", shuffled(lines)), numbered("orders", orders)}} {
		if got := allKinds(runCheck(t, layoutConfig(t, "default"), lists...)); got != string(Undecided) && got != string(Copies) {
			t.Error(got)
		}
	}
	twice := slices.Concat(lines, lines)
	slices.Sort(twice)
	for _, c := range runCheck(t, layoutConfig(t, "default"), numbered("orders", shuffled(orders)), numbered("lines", twice)).Causes {
		if c.Kind != Undecided {
			t.Errorf("%+v", c)
		}
	}
}

func TestCopiedRowsAreNoCollision(t *testing.T) {
	var ids []uint64
	for w := range int64(4) {
		ids = append(ids, issuerOf(t, "default", w).log(seeded(uint64(w)), 0, 1000)...)
	}
	ids = shuffled(ids)
	rest := issuerOf(t, "default", 77).log(seeded(5), 0, 100)[:10]
	contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("all", ids), numbered("part", slices.Concat(rest, ids))), Copies),
		" rows stand twice in one order: from all, line 1 on, and from part, line 11 on")
	only(t, runCheck(t, layoutConfig(t, "default"), numbered("twice", slices.Concat(ids, ids))), Copies)

	// Only a few ids of each worker id are among the copied rows.
	var mixed []uint64
	r := seeded(1)
	for tick := range int64(3000) {
		mixed = append(mixed, issuerOf(t, "default", r.Int64N(40)).id(tick, 0))
	}
	contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("log", slices.Concat(mixed, mixed[2900:]))), Copies), "100 rows stand twice in one order: from log, line 2901 on, and from log, line 3001 on")
}

// TestEvenPaceIsNotCalledCopies has two processes with one worker id, or two databases
// that count from 1: who left one copy out would lose records.
func TestEvenPaceIsNotCalledCopies(t *testing.T) {
	numbers := func(from, to int) []uint64 {
		return fill(to-from, func(i int) uint64 { return uint64(from + i) })
	}
	seven := func(from, to, each int64) (ids []uint64) {
		for tick := from; tick < to; tick++ {
			for sequence := range each {
				ids = append(ids, issuerOf(t, "default", 7).id(tick, sequence))
			}
		}
		return ids
	}
	for name, x := range map[string]struct {
		cfg  Config
		a, b []uint64
		want Kind
	}{
		"two databases":    {Config{Sort: tiny}, numbers(1, 3000), numbers(1, 5000), Undecided},
		"one begun again":  {Config{Sort: tiny}, slices.Concat(numbers(1, 3000), numbers(1, 2000)), nil, Undecided},
		"a high start":     {Config{Sort: tiny}, numbers(1<<40, 1<<40+2000), numbers(1<<40+500, 1<<40+4000), Undecided},
		"same times":       {layoutConfig(t, "default"), seven(0, 1000, 1), seven(0, 1000, 1), Undecided},
		"half of the time": {layoutConfig(t, "default"), seven(0, 1000, 1), seven(500, 1500, 1), SameWorker},
		"some each tick":   {layoutConfig(t, "default"), seven(0, 1000, 4), seven(500, 1500, 4), SameWorker},
		"in no order":      {Config{Sort: tiny}, shuffled(numbers(1, 2000)), shuffled(numbers(1, 2000)), Copies},
	} {
		if got := allKinds(runCheck(t, x.cfg, numbered("a", x.a), numbered("b", x.b))); got != string(x.want) {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

func TestDuplicatesWithoutAWorkerIDAreUndecided(t *testing.T) {
	r := seeded(6)
	random := fill(3000, func(int) uint64 { return r.Uint64() | 1<<63 })
	random[7] = random[9]
	contains(t, only(t, runCheck(t, Config{Sort: tiny}, numbered("random", random)), Undecided), "worker ids are not known")
	mastodon := issuerOf(t, "mastodon", 0).log(seeded(1), 0, 900)
	contains(t, only(t, runCheck(t, layoutConfig(t, "mastodon"), numbered("a", mastodon), numbered("b", mastodon[10:20])), Undecided), "worker ids are not known")
	// Ids of Twitter's lie far in the future of the default layout.
	foreign := issuerOf(t, "twitter", 5).log(seeded(2), 0, 300)
	contains(t, only(t, runCheck(t, layoutConfig(t, "default"), numbered("theirs", append(foreign, foreign[3]))), Undecided), "worker ids are not known")
}

func TestLayoutIsGuessedUnlessItIsNamed(t *testing.T) {
	ids := issuerOf(t, "twitter", 5).log(seeded(1), 0, 1000)
	if r := runCheck(t, Config{Sort: tiny}, numbered("a", ids)); !r.Guessed || r.Preset != "twitter" || len(r.Causes) != 0 {
		t.Errorf("%+v", r)
	}
	if r := runCheck(t, layoutConfig(t, "leaf"), numbered("a", ids)); r.Guessed || r.Preset != "leaf" {
		t.Errorf("%+v", r)
	}
	r := seeded(7)
	if got := runCheck(t, Config{Sort: tiny}, numbered("a", fill(5000, func(int) uint64 { return r.Uint64() }))); got.Layout != "" || got.Guessed {
		t.Errorf("random numbers: %s", got.Layout)
	}
}
