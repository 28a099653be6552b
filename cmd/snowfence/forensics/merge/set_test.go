package merge_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
)

// listed is every id of a set, each with its tick, found by composing them all.
func listed(t *testing.T, s merge.Set) map[snowfence.ID]snowfence.Tick {
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

// enumerated looks at every id: from when on both sets have one in common, and by which
// tick of a the first is, if those of b are there already.
func enumerated(t *testing.T, a, b merge.Set) (at time.Time, first snowfence.Tick, ok bool) {
	t.Helper()
	others := listed(t, b)
	for id, tick := range listed(t, a) {
		other, both := others[id]
		if !both {
			continue
		}
		later := a.Layout.TimeOf(tick)
		if o := b.Layout.TimeOf(other); o.After(later) {
			later = o
		}
		if !ok || later.Before(at) {
			at = later
		}
		if !ok || tick < first {
			first = tick
		}
		ok = true
	}
	return at, first, ok
}

// drawn is a layout of few bits, with any order that there can be.
func drawn(random *rand.Rand) snowfence.Layout {
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
func some(random *rand.Rand, l snowfence.Layout) merge.Set {
	s := merge.Set{Layout: l, Ticks: merge.AllTicks(l), Workers: merge.AllWorkers(l)}
	if random.IntN(3) > 0 {
		first := random.Int64N(1 << l.Bits(snowfence.Time))
		s.Ticks = merge.Ticks{First: snowfence.Tick(first), Last: snowfence.Tick(first - 1 + random.Int64N(9))}
	}
	if random.IntN(3) > 0 {
		first := random.Int64N(l.Workers())
		s.Workers = merge.Workers{First: first, Last: first - 1 + random.Int64N(l.Workers()+1)}
	}
	return s
}

func TestDecisionsAreThoseOfListingEveryID(t *testing.T) {
	const seed, rounds = 4, 2000
	random := rand.New(rand.NewPCG(seed, 0))
	meet := 0
	for round := range rounds {
		a := some(random, drawn(random))
		b := some(random, a.Layout)
		if random.IntN(5) > 0 {
			b = some(random, drawn(random))
		}
		at, first, want := enumerated(t, a, b)
		if want {
			meet++
		}
		got, ok := merge.Earliest(a, b)
		issued := b
		issued.Issued = true
		then, _ := merge.Earliest(a, issued)
		if ok != want || merge.Meet(a, b) != want || want && (!got.Equal(at) || !then.Equal(a.Layout.TimeOf(first))) {
			t.Fatalf("seed %d, round %d: %s %v %v and %s %v %v: %v at %s, %s, want %v at %s, tick %d", seed, round, a.Layout, a.Ticks, a.Workers, b.Layout, b.Ticks, b.Workers, ok, got, then, want, at, first)
		}
	}
	// Both answers were put to the test.
	if meet < rounds/4 || meet > rounds*9/10 {
		t.Errorf("%d of %d rounds had an integer in common", meet, rounds)
	}
}
