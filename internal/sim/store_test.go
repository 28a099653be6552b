package sim

import (
	"testing"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

func TestAnyStoreServesALosslessPlan(t *testing.T) {
	other := Config{Store: func(int) store.Store { return memstore.New().Client() }}
	for seed := range uint64(5) {
		p := Draw(seed).Lossless()
		if r := Run(p, other); len(r.Findings) > 0 || r.Digest != Run(p, Config{}).Digest {
			t.Errorf("seed %d: %v, or another course than on the reference store", seed, r.Findings)
		}
	}
}

func TestPlanThatTakesWritesAwayNeedsTheReferenceStore(t *testing.T) {
	lossy, clocked := Draw(0).Lossless(), Draw(0).Lossless()
	lossy.Faults = []Fault{{Kind: Rollback, Node: Everywhere, For: 1}}
	clocked.EngineClock = true
	for _, p := range []Plan{lossy, clocked} {
		r := Run(p, Config{Store: func(int) store.Store { return nil }})
		if len(r.Findings) != 1 || r.Findings[0].Rule != "harness" {
			t.Errorf("%v", r.Findings)
		}
	}
}
