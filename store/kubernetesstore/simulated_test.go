//go:build servers

package kubernetesstore_test

import (
	"flag"
	"fmt"
	"testing"

	"snowfence.example/snowfence/internal/sim"
	"snowfence.example/snowfence/store"
)

var (
	simulated     = flag.Uint64("sim.seeds", 10, "schedules that are simulated on the API server")
	simulatedFrom = flag.Uint64("sim.from", 0, "the first of them")
)

// The machines, their clocks and the network are simulated, and the registers are Leases of a real API
// server.
func TestSimulatedSchedulesKeepEveryRule(t *testing.T) {
	k := shared()
	var sum sim.Tally
	for seed := *simulatedFrom; seed < *simulatedFrom+*simulated; seed++ {
		r := sim.Run(sim.Draw(seed).Lossless(), sim.Config{Store: func(number int) store.Store {
			return open(t, k, fmt.Sprintf("sim-%d-%d", seed, number))
		}})
		for _, f := range r.Findings {
			t.Errorf("seed %d: %s", seed, f)
		}
		sum.Add(r.Tally)
	}
	t.Logf("%d schedules on the API server: %s", *simulated, sum)
	if sum.Counts[sim.IDs] == 0 || sum.Counts[sim.Writes] == 0 || sum.AllFaults() == 0 {
		t.Errorf("%d ids, %d writes, %d faults: must be some of each", sum.Counts[sim.IDs], sum.Counts[sim.Writes], sum.AllFaults())
	}
}
