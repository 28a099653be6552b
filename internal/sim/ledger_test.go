package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

func TestLedgerFindsWhatASetOfAllSlotsFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		l := newLedger(Plain().Layout)
		issuers := []*issuer{{number: 1}, {number: 2}, {number: 3}}
		owner := make(map[uint64]*issuer)
		for range 60 {
			by := issuers[rng.IntN(len(issuers))]
			low := rng.Uint64N(200)
			s := span{low, low + 1 + rng.Uint64N(12), by}
			wantShared, wantUpTo := false, snowfence.Tick(0)
			for slot, other := range owner {
				if other != by && l.tick(slot) >= l.tick(s.low) && l.tick(slot) <= l.tick(s.high-1) {
					wantShared, wantUpTo = true, max(wantUpTo, l.tick(slot))
				}
			}
			want := make(map[uint64]*issuer)
			for slot := s.low; slot < s.high; slot++ {
				if before, ok := owner[slot]; ok {
					want[slot] = before
				} else {
					owner[slot] = by
				}
			}
			repeated, shared, upTo := l.issue(0, s)
			got := make(map[uint64]*issuer)
			for _, r := range repeated {
				for slot := r.slots.low; slot < r.slots.high; slot++ {
					got[slot] = r.before
				}
			}
			if len(got) != len(want) || (shared != nil) != wantShared || upTo != wantUpTo {
				t.Fatalf("round %d: [%d, %d) repeats %d slots and shares ticks: %t, up to %d; want %d, %t and %d", round, s.low, s.high, len(got), shared != nil, upTo, len(want), wantShared, wantUpTo)
			}
			for slot, before := range want {
				if got[slot] != before {
					t.Fatalf("round %d: slot %d was of issuer %d, and is reported as of %v", round, slot, before.number, got[slot])
				}
			}
		}
		last := uint64(0)
		for _, s := range l.columns[0] {
			if s.low < last || s.low >= s.high {
				t.Fatalf("round %d: the ranges overlap: %v", round, l.columns[0])
			}
			last = s.high
		}
	}
}

func TestRangesHoldJustTheIDsOfABatch(t *testing.T) {
	for _, name := range []string{"default", "twitter", "10ms39-seq8-worker16", "baidu", "ms41-datacenter1-worker2-seq3", "worker2-ms39-seq10"} {
		layout, err := snowfence.ParseLayout(name)
		if err != nil {
			t.Fatal(err)
		}
		l := newLedger(layout)
		clock := &clock{agenda: new(Agenda), begin: layout.Epoch.Add(24 * time.Hour)}
		worker := layout.Workers() - 1
		generator, err := snowfence.NewGenerator(snowfence.GeneratorConfig{
			Layout: layout, Worker: &worker, Until: layout.HorizonTick(), Clock: clock, Policy: snowfence.Policy{MaxBurst: 10 * layout.Unit},
		})
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]snowfence.ID, min(500, 3*layout.Sequences()))
		if err := generator.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		i := 0
		l.ranges(ids, func(worker int64, low, high uint64) {
			for slot := low; slot < high; slot++ {
				if w, s := l.split(ids[i]); w != worker || s != slot || l.check(ids[i]) != nil {
					t.Fatalf("%s: id %d is not slot %d of worker %d: %v", name, ids[i], slot, worker, l.check(ids[i]))
				}
				i++
			}
		})
		if i != len(ids) {
			t.Errorf("%s: the ranges hold %d of %d ids", name, i, len(ids))
		}
	}
}
