package sim

import (
	"bytes"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestDrawnPlansBreakNoRule runs the true code in drawn plans. The program simulate runs many more.
func TestDrawnPlansBreakNoRule(t *testing.T) {
	t.Parallel()
	const seeds = 1000
	var (
		next atomic.Uint64
		mu   sync.Mutex
		sum  Tally
		wg   sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < seeds && !t.Failed(); seed = next.Add(1) - 1 {
				r := Run(Draw(seed), Config{})
				mu.Lock()
				sum.Add(r.Tally)
				mu.Unlock()
				if len(r.Findings) > 0 {
					t.Errorf("seed %d: %s", seed, r.Findings[0])
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %.0f hours of virtual time: %s", seeds, sum.Hours, sum)
	if missing := sum.Missing(); len(missing) > 0 && !t.Failed() {
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

func TestOtherSeedGivesAnotherRun(t *testing.T) {
	p := Plain()
	a := Run(p, Config{})
	p.Seed++
	if b := Run(p, Config{}); a.Digest == b.Digest {
		t.Error("two seeds have the same digest")
	}
}
