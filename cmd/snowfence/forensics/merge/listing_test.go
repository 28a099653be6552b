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
		a, b := tiny(t, random, "a"), tiny(t, random, "b")
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

func tiny(t *testing.T, random *rand.Rand, side string) *merge.Issuer {
	t.Helper()
	texts := []string{"ms3-worker2-seq1", "ms3-seq1-worker2", "worker2-ms3-seq1", "2ms3-datacenter1-worker1-seq1", "worker1-ms3-datacenter1-seq1", "ms4-worker1-seq1", "3ms2-worker3-seq1"}
	l := layout(t, texts[random.IntN(len(texts))]+"@2026-01-01")
	l.Epoch = now.Add(-time.Duration(random.IntN(12)) * time.Millisecond)
	return &merge.Issuer{Side: side, Name: "tiny", Layout: l, Now: now, Stretches: tinyStretches(random, l)}
}

func tinyStretches(random *rand.Rand, l snowfence.Layout) []merge.Stretch {
	var all []merge.Stretch
	ticks := func() merge.Ticks {
		first := snowfence.Tick(random.Int64N(int64(l.HorizonTick())))
		return merge.Ticks{First: first, Last: min(first+snowfence.Tick(random.IntN(4))-1, l.HorizonTick()-1)}
	}
	for worker := int64(0); worker < l.Workers(); worker++ {
		if random.IntN(2) == 0 {
			continue
		}
		s := merge.Stretch{Workers: merge.Workers{First: worker, Last: worker}, Used: ticks(), Open: ticks()}
		all = append(all, s)
	}
	return all
}
