package merge_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// TestForecastsAreThoseOfListingEveryID holds forecasts of tiny systems against
// all ids that they issue, tick by tick.
func TestForecastsAreThoseOfListingEveryID(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 0))
	never, may := 0, 0
	for round := range 1500 {
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
		gotPast := false
		for _, c := range f.Chances {
			gotPast = gotPast || c.Settled()
		}
		if !f.FromNow.Equal(first) || gotPast != past {
			t.Fatalf("round %d: from %s, want %s; past %v, want %v\n%+v\n%+v", round, f.FromNow, first, gotPast, past, a, b)
		}
		if (f.Why == "") != (past || !first.IsZero()) {
			t.Fatalf("round %d: why %q", round, f.Why)
		}
		if f.Above != 0 {
			checkAbove(t, f)
		}
	}
	if never < 100 || may < 100 {
		t.Errorf("%d never and %d may: not both were tried", never, may)
	}
}

// checkAbove holds that the ids of one from now on lie above the other's.
func checkAbove(t *testing.T, f merge.Forecast) {
	t.Helper()
	one, other := f.A, f.B
	if f.Above < 0 {
		one, other = other, one
	}
	highest := uint64(0)
	for id, stamps := range issued(other) {
		for _, s := range stamps {
			if f.FromNow.IsZero() || s.at.Before(f.FromNow.Time) {
				highest = max(highest, uint64(id))
			}
		}
	}
	for id, stamps := range issued(one) {
		for _, s := range stamps {
			if s.open && uint64(id) <= highest {
				t.Fatalf("%s of %s is not above %d", id, one.Side, highest)
			}
		}
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
			for open, ticks := range map[bool]overlap.Ticks{false: s.Used, true: s.Open} {
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
	ticks := func() overlap.Ticks {
		first := snowfence.Tick(random.Int64N(int64(l.HorizonTick())))
		return overlap.Ticks{First: first, Last: min(first+snowfence.Tick(random.IntN(4))-1, l.HorizonTick()-1)}
	}
	for worker := int64(0); worker < l.Workers(); worker++ {
		if random.IntN(2) == 0 {
			continue
		}
		s := merge.Stretch{Workers: overlap.Workers{First: worker, Last: worker}, Used: ticks(), Open: ticks()}
		s.Term = s.Used
		all = append(all, s)
	}
	return all
}
