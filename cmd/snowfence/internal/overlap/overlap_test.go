package overlap_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// listed is every id of a set, each with its tick, found by composing them all.
func listed(t *testing.T, s overlap.Set) map[snowfence.ID]snowfence.Tick {
	t.Helper()
	ids := map[snowfence.ID]snowfence.Tick{}
	for tick := max(s.Ticks.First, 0); tick <= s.Ticks.Last && tick < 1<<s.Layout.Bits(snowfence.Time); tick++ {
		for worker := max(s.Workers.First, 0); worker <= s.Workers.Last && worker < s.Layout.Workers(); worker++ {
			datacenter, within, err := s.Layout.SplitWorker(worker)
			if err != nil {
				t.Fatal(err)
			}
			for sequence := range s.Layout.Sequences() {
				id, err := s.Layout.Compose(snowfence.Parts{Tick: tick, Datacenter: datacenter, Worker: within, Sequence: sequence})
				if err != nil {
					t.Fatal(err)
				}
				ids[id] = tick
			}
		}
	}
	return ids
}

// found is all that the package can be asked about two sets.
type found struct {
	ok              bool
	lowest, highest snowfence.ID
	first           snowfence.Tick // of a
	at              time.Time
}

// enumerated answers by looking at every id.
func enumerated(t *testing.T, a, b overlap.Set) found {
	t.Helper()
	var f found
	others := listed(t, b)
	for id, tick := range listed(t, a) {
		other, ok := others[id]
		if !ok {
			continue
		}
		at := a.Layout.TimeOf(tick)
		if later := b.Layout.TimeOf(other); later.After(at) {
			at = later
		}
		if !f.ok {
			f = found{ok: true, lowest: id, highest: id, first: tick, at: at}
		}
		f.lowest, f.highest = min(f.lowest, id), max(f.highest, id)
		f.first = min(f.first, tick)
		if at.Before(f.at) {
			f.at = at
		}
	}
	return f
}

// decided asks the package.
func decided(t *testing.T, a, b overlap.Set) found {
	t.Helper()
	var f found
	var oks [4]bool
	var m overlap.Meeting
	var r overlap.Meeting
	f.lowest, oks[0] = overlap.Lowest(a, b)
	f.highest, oks[1] = overlap.Highest(a, b)
	m, oks[2] = overlap.Earliest(a, b)
	issued := b
	issued.Issued = true
	r, oks[3] = overlap.Earliest(a, issued)
	f.at, f.ok = m.At, oks[0]
	if oks != [4]bool{f.ok, f.ok, f.ok, f.ok} || overlap.Meet(a, b) != f.ok {
		t.Errorf("the answers disagree: %v", oks)
	}
	if !f.ok {
		return f
	}
	// Where those of b are there already, the first tick of a that reaches one counts.
	f.first = r.A.Tick
	if !r.At.Equal(a.Layout.TimeOf(f.first)) || !overlap.Meet(overlap.Set{Layout: a.Layout, Ticks: overlap.Ticks{First: r.A.Tick, Last: r.A.Tick}, Workers: overlap.Workers{First: r.A.Worker, Last: r.A.Worker}}, b) {
		t.Errorf("reached %+v: no id of it is in both", r)
	}
	// The witness is in both sets, and of that instant.
	one := a.Layout.TimeOf(m.A.Tick)
	if two := b.Layout.TimeOf(m.B.Tick); two.After(one) {
		one = two
	}
	if !one.Equal(m.At) || listed(t, a)[m.ID] != m.A.Tick || listed(t, b)[m.ID] != m.B.Tick {
		t.Errorf("meeting %+v is none of %s", m, m.At)
	}
	return f
}

// tiny is a layout of few bits, with any order that there can be.
func tiny(random *rand.Rand) snowfence.Layout {
	fields := []snowfence.Field{{Kind: snowfence.Time, Bits: 1 + random.IntN(4)}, {Kind: snowfence.Sequence, Bits: 1 + random.IntN(2)}}
	for _, kind := range []snowfence.FieldKind{snowfence.Datacenter, snowfence.Worker} {
		if random.IntN(4) > 0 {
			fields = append(fields, snowfence.Field{Kind: kind, Bits: 1 + random.IntN(2)})
		}
	}
	units := []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond}
	l := snowfence.Layout{Unit: units[random.IntN(len(units))], Epoch: time.UnixMilli(int64(random.IntN(40))), Fields: fields}
	for {
		random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		if l.Validate() == nil {
			return l
		}
	}
}

// some is a set of a layout. Its intervals may be empty or reach too far.
func some(random *rand.Rand, l snowfence.Layout) overlap.Set {
	s := overlap.Set{Layout: l, Ticks: overlap.AllTicks(l), Workers: overlap.AllWorkers(l)}
	if random.IntN(3) > 0 {
		first := random.Int64N(1 << l.Bits(snowfence.Time))
		s.Ticks = overlap.Ticks{First: snowfence.Tick(first), Last: snowfence.Tick(first - 1 + random.Int64N(9))}
	}
	if random.IntN(3) > 0 {
		first := random.Int64N(l.Workers())
		s.Workers = overlap.Workers{First: first, Last: first - 1 + random.Int64N(l.Workers()+1)}
	}
	return s
}

func TestDecisionsAreThoseOfListingEveryID(t *testing.T) {
	const seed, rounds = 4, 6000
	random := rand.New(rand.NewPCG(seed, 0))
	meet := 0
	for round := range rounds {
		a := some(random, tiny(random))
		b := some(random, a.Layout)
		if random.IntN(5) > 0 {
			b = some(random, tiny(random))
		}
		want, got := enumerated(t, a, b), decided(t, a, b)
		if want.ok {
			meet++
		}
		if !want.at.Equal(got.at) {
			t.Errorf("seed %d, round %d: at %s, want %s", seed, round, got.at, want.at)
		}
		want.at, got.at = time.Time{}, time.Time{}
		if want != got {
			t.Errorf("seed %d, round %d: %s %v %v and %s %v %v:\n got %+v\nwant %+v", seed, round, a.Layout, a.Ticks, a.Workers, b.Layout, b.Ticks, b.Workers, got, want)
		}
		if t.Failed() {
			return
		}
	}
	// Both answers were put to the test.
	if meet < rounds/4 || meet > rounds*9/10 {
		t.Errorf("%d of %d rounds had an integer in common", meet, rounds)
	}
}

// TestEveryPairOfTinyLayoutsIsDecided goes through all orders of all fields, with
// every interval of ticks and of worker numbers.
func TestEveryPairOfTinyLayoutsIsDecided(t *testing.T) {
	var layouts []snowfence.Layout
	for _, text := range []string{
		"ms2-seq1", "ms2-worker1-seq1", "worker1-ms2-seq1", "ms2-seq1-worker1", "ms1-datacenter1-worker1-seq1",
		"datacenter1-ms1-worker1-seq1", "worker1-ms1-datacenter1-seq1", "ms1-worker2-seq1",
	} {
		l, err := snowfence.ParseLayout(text + "@1970-01-01")
		if err != nil {
			t.Fatal(err)
		}
		layouts = append(layouts, l)
	}
	var sets []overlap.Set
	for _, l := range layouts {
		ticks, workers := overlap.AllTicks(l), overlap.AllWorkers(l)
		for first := range ticks.Last + 1 {
			for last := first; last <= ticks.Last; last++ {
				for low := range workers.Last + 1 {
					for high := low; high <= workers.Last; high++ {
						sets = append(sets, overlap.Set{Layout: l, Ticks: overlap.Ticks{First: first, Last: last}, Workers: overlap.Workers{First: low, Last: high}})
					}
				}
			}
		}
	}
	ids := make([][]snowfence.ID, len(sets))
	for i, s := range sets {
		for id := range listed(t, s) {
			ids[i] = append(ids[i], id)
		}
		slices.Sort(ids[i])
	}
	common := func(i, j int) (n uint64) {
		for _, id := range ids[i] {
			if _, ok := slices.BinarySearch(ids[j], id); ok {
				n++
			}
		}
		return n
	}
	for i, a := range sets {
		for j, b := range sets {
			if want := common(i, j); overlap.Meet(a, b) != (want > 0) {
				t.Fatalf("%s %v %v and %s %v %v have %d ids in common, but %v is decided", a.Layout, a.Ticks, a.Workers, b.Layout, b.Ticks, b.Workers, want, want == 0)
			}
		}
	}
	t.Logf("%d sets, %d pairs", len(sets), len(sets)*len(sets))
}

func whole(t *testing.T, layout string, workers ...int64) overlap.Set {
	t.Helper()
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	s := overlap.Set{Layout: l, Ticks: overlap.AllTicks(l), Workers: overlap.AllWorkers(l)}
	if len(workers) > 0 {
		s.Workers = overlap.Workers{First: workers[0], Last: workers[1]}
	}
	return s
}

func TestLayoutsOfOtherSystems(t *testing.T) {
	for _, x := range []struct {
		a, b overlap.Set
		want bool
		at   string
	}{
		// Fixed bits: 0 to 3 and 4 to 7 differ in a bit of the worker id.
		{whole(t, "twitter", 0, 3), whole(t, "twitter", 4, 7), false, ""},
		{whole(t, "twitter", 0, 4), whole(t, "twitter", 4, 7), true, "2010-11-04T01:42:54.657Z"},
		// The same bits under another epoch: what one issues, the other issues when
		// its own clock is as far from its own epoch.
		{whole(t, "twitter"), whole(t, "default"), true, "2026-01-01T00:00:00Z"},
		{whole(t, "twitter", 0, 3), whole(t, "leaf", 4, 7), false, ""},
		// Discord's upper five bits are twitter's datacenter.
		{whole(t, "twitter", 32, 63), whole(t, "discord", 64, 95), false, ""},
		// The worker on top: its ids are far above those of small numbers.
		{whole(t, "seata", 512, 512), whole(t, "ms41-worker5-seq7"), false, ""},
		{whole(t, "seata", 0, 0), whole(t, "ms41-worker5-seq7"), true, "2026-01-01T00:00:00Z"},
		// 53 bits are below the present ids of 63 bits, but not below the first.
		{whole(t, "javascript-safe-ms"), whole(t, "default"), true, "2026-01-01T00:00:00Z"},
	} {
		t.Run(fmt.Sprintf("%s %v and %s %v", x.a.Layout, x.a.Workers, x.b.Layout, x.b.Workers), func(t *testing.T) {
			m, ok := overlap.Earliest(x.a, x.b)
			if ok != x.want || ok && m.At.Format(time.RFC3339Nano) != x.at {
				t.Errorf("%v, %v; want %v at %s", m, ok, x.want, x.at)
			}
		})
	}
}

func TestUnsignedLayoutsReachThe64thBit(t *testing.T) {
	a, b := whole(t, "discord"), whole(t, "instagram")
	if id, ok := overlap.Highest(a, b); !ok || uint64(id) != 1<<64-1 {
		t.Errorf("highest is %d, %v", uint64(id), ok)
	}
}

func TestSplitterReadsAsDecomposeDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	for _, preset := range snowfence.Presets() {
		s := overlap.NewSplitter(preset.Layout)
		for range 200 {
			id := snowfence.ID(random.Uint64() >> random.IntN(40))
			tick, worker, ok := s.Split(id)
			parts, err := preset.Layout.Decompose(id)
			if ok != (err == nil) {
				t.Fatalf("%s: %s: %v, but %v", preset.Name, id, ok, err)
			}
			if !ok {
				continue
			}
			number, err := preset.Layout.WorkerNumber(parts.Datacenter, parts.Worker)
			if err != nil || tick != parts.Tick || worker != number {
				t.Fatalf("%s: %s: tick %d, worker %d; want %d, %d: %v", preset.Name, id, tick, worker, parts.Tick, number, err)
			}
		}
	}
}
