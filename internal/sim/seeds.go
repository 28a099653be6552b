package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Failure is a seed whose plan broke a rule, and the first finding.
type Failure struct {
	Seed uint64
	Finding
}

// RunSeeds runs the drawn plans of n seeds from first on, each in one goroutine, on all processors. It returns the
// counts and the lowest seed that failed, or nil. The seeds after a failure are not begun.
func RunSeeds(first, n uint64) (sum Tally, failed *Failure) {
	var (
		next atomic.Uint64
		mu   sync.Mutex // guards the results
		wg   sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				seed := first + i
				r := Run(Draw(seed), Config{})
				mu.Lock()
				sum.Add(r.Tally)
				if len(r.Findings) > 0 && (failed == nil || seed < failed.Seed) {
					next.Store(n)
					failed = &Failure{seed, r.Findings[0]}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return sum, failed
}
