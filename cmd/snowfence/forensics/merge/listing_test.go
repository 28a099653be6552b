package merge_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
)

// TestForecastsAreThoseOfListingEveryID holds forecasts of tiny systems against
// all ids that they issue, tick by tick.
func TestForecastsAreThoseOfListingEveryID(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 0))
	never, may := 0, 0
	for round := range 600 {
		a, b := tiny(random, "a"), tiny(random, "b")
		if random.IntN(3) == 0 {
			b.Layout = a.Layout
			b.Stretches = tinyStretches(random, b.Layout)
		}
		f := merge.Predict(a, b)
		var past bool
		var first time.Time
		theirs := issued(b)
		for id, ours := range issued(a) {
			for _, x := range ours {
				for _, y := range theirs[id] {
					if !x.open && !y.open {
						past = true
						continue
					}
					at := now
					// What may have been stamped is there, also if its tick is still to come.
					for _, z := range []stamped{x, y} {
						if z.open && z.at.After(at) {
							at = z.at
						}
					}
					if first.IsZero() || at.Before(first) {
						first = at
					}
				}
			}
		}
		if first.IsZero() {
			never++
		} else {
			may++
		}
		if !f.FromNow.Equal(first) || (f.Outcome == merge.Never) != (!past && first.IsZero()) {
			t.Fatalf("round %d: from %s, want %s; %s, past %v\n%+v\n%+v", round, f.FromNow, first, f.Outcome, past, a, b)
		}
	}
	if never < 50 || may < 50 {
		t.Errorf("%d never and %d may: not both were tried", never, may)
	}
}

// stamped is one way in which an id may be issued.
type stamped struct {
	at   time.Time
	open bool
}

func issued(i *merge.Issuer) map[snowfence.ID][]stamped {
	all := map[snowfence.ID][]stamped{}
	for _, s := range i.Stretches {
		for worker := s.Workers.First; worker <= s.Workers.Last; worker++ {
			datacenter, within, _ := i.Layout.SplitWorker(worker)
			for open, ticks := range map[bool]merge.Ticks{false: s.Used, true: s.Open} {
				for tick := ticks.First; tick <= ticks.Last; tick++ {
					for sequence := range i.Layout.Sequences() {
						id, err := i.Layout.Compose(snowfence.Parts{Tick: tick, Datacenter: datacenter, Worker: within, Sequence: sequence})
						if err == nil {
							all[id] = append(all[id], stamped{i.Layout.TimeOf(tick), open})
						}
					}
				}
			}
		}
	}
	return all
}

// tiny is an issuer of a layout of few bits, with any order of fields that there can be.
func tiny(random *rand.Rand, side string) *merge.Issuer {
	fields := []snowfence.Field{{Kind: snowfence.Time, Bits: 1 + random.IntN(4)}, {Kind: snowfence.Sequence, Bits: 1 + random.IntN(2)}}
	for _, kind := range []snowfence.FieldKind{snowfence.Datacenter, snowfence.Worker} {
		if random.IntN(4) > 0 {
			fields = append(fields, snowfence.Field{Kind: kind, Bits: 1 + random.IntN(2)})
		}
	}
	units := []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond}
	l := snowfence.Layout{Unit: units[random.IntN(len(units))], Epoch: now.Add(-time.Duration(random.IntN(40)) * time.Millisecond), Fields: fields}
	for valid := false; !valid; valid = l.Validate() == nil {
		random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	return &merge.Issuer{Side: side, Name: "tiny", Layout: l, Now: now, Stretches: tinyStretches(random, l)}
}

// tinyStretches begin and end within datacenters, and have ticks that are none or too high.
func tinyStretches(random *rand.Rand, l snowfence.Layout) []merge.Stretch {
	var all []merge.Stretch
	ticks := func() merge.Ticks {
		first := snowfence.Tick(random.Int64N(1 << l.Bits(snowfence.Time)))
		return merge.Ticks{First: first, Last: first - 1 + snowfence.Tick(random.IntN(9))}
	}
	for next := int64(0); next < l.Workers(); {
		first := next + random.Int64N(3)
		next = min(first+1+random.Int64N(8), l.Workers())
		if first < next {
			all = append(all, merge.Stretch{Workers: merge.Workers{First: first, Last: next - 1}, Used: ticks(), Open: ticks()})
		}
	}
	return all
}
