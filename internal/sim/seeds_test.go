package sim

import (
	"bytes"
	"os"
	"reflect"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often: a plan takes little memory, and a fourth of the time went into that.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// TestDrawnPlansBreakNoRule runs the true code in drawn plans. The program simulate runs many more.
func TestDrawnPlansBreakNoRule(t *testing.T) {
	t.Parallel()
	const seeds = 1000
	sum, failed := RunSeeds(0, seeds)
	if failed != nil {
		t.Fatalf("seed %d: %s", failed.Seed, failed.Finding)
	}
	t.Logf("%d seeds, %.0f hours of virtual time: %s", seeds, sum.Hours, sum)
	if missing := sum.Missing(); len(missing) > 0 {
		t.Errorf("these never happened: %v", missing)
	}
}

func TestEqualPlansGiveEqualRuns(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		var first, second bytes.Buffer
		a := Run(Draw(seed), Config{Trace: &first})
		b := Run(Draw(seed), Config{Trace: &second})
		if !reflect.DeepEqual(a, b) || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("seed %d: the second run differs from the first", seed)
		}
		if quiet := Run(Draw(seed), Config{}); !reflect.DeepEqual(a, quiet) {
			t.Errorf("seed %d: a trace changes the run", seed)
		}
	}
}
