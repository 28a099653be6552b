package openstore

import (
	"context"
	"testing"

	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// TestCountersKeepTheirRulesOnEveryEngine runs the conformance suite of counters on real
// servers, well and with faults between the counters and the store.
func TestCountersKeepTheirRulesOnEveryEngine(t *testing.T) {
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := shared(t, name).URL("", sharedLoss)
			h := countertest.Harness{Seed: 3, Draws: 120, Open: func(ctx context.Context) (store.Store, error) { return Open(ctx, url) }}
			t.Run("well", func(t *testing.T) { countertest.Run(t, h) })
			t.Run("with faults", func(t *testing.T) { countertest.RunFaulty(t, h) })
		})
	}
}
