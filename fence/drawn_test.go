package fence_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store/memstore"
)

var (
	drawnSeeds = flag.Int("drawn.seeds", 0, "how many seeds TestDrawnRunsOfHoldersBreakNoRule runs; 0 means 150, and 40 under the race detector")
	drawnSeed  = flag.Int64("drawn.seed", -1, "the one seed that TestDrawnRunsOfHoldersBreakNoRule runs")
)

// TestDrawnRunsOfHoldersBreakNoRule runs real holders in bubbles, a seed each. Package internal/sim does the same to
// the protocol. This is about the goroutines around it: calls that wait, contexts that end, holders that are closed
// and opened again, and stores and disks that hang and heed no context.
//
// A seed fixes the plan and the faults, and not the order of goroutines that may run at the same moment. So
// a failure may not come back at once: -drawn.seed with -count runs one seed again.
//
// The rules:
//
//	unique    no id is issued twice, and a batch increases
//	max-wait  a call ends within max-wait, and fails with an error that a call may have
//	context   a call ends with its context, and so does Open, which takes a second more to give its claim back
//	close     Close ends with its context, and after two request timeouts; calls after it fail at once
//	left      no goroutine is left when all holders are closed
func TestDrawnRunsOfHoldersBreakNoRule(t *testing.T) {
	first, seeds := int64(1), int64(*drawnSeeds)
	switch {
	case *drawnSeed >= 0:
		first, seeds = *drawnSeed, 1
	case seeds == 0 && underRace:
		seeds = 40
	case seeds == 0:
		seeds = 150
	}
	var ids atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+seeds; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRun(t, uint64(seed))
					r.play()
					ids.Add(int64(len(r.ids)))
				})
			})
		}
	})
	t.Logf("%d seeds, %d ids", seeds, ids.Load())
}

// run is one seed: machines around one memory, and the ids that they issued.
type run struct {
	t      *testing.T
	plan   plan
	rng    *rand.Rand // of the run's own goroutine
	memory *memstore.Memory
	begun  time.Time

	machines []*machine
	over     chan struct{}  // closed when everybody is to end
	late     sync.WaitGroup // faults that last, and swaps that are late

	mu    sync.Mutex // guards the fields below
	ids   map[snowfence.ID]*process
	lines []string // the last ones of the log
	found bool
}

func newRun(t *testing.T, seed uint64) *run {
	r := &run{
		t: t, plan: draw(seed), rng: rand.New(rand.NewPCG(seed, 0)), begun: time.Now(),
		over: make(chan struct{}), ids: make(map[snowfence.ID]*process),
	}
	r.memory = memstore.NewWith(memstore.Config{Loss: r.plan.loss})
	for n := range r.plan.machines {
		r.machines = append(r.machines, newMachine(r, n))
	}
	return r
}

// play runs the seed, and returns when every goroutine has ended.
func (r *run) play() {
	ended := make(chan struct{})
	var machines sync.WaitGroup
	for _, m := range r.machines {
		machines.Go(m.run)
	}
	for time.Since(r.begun) < r.plan.length {
		pass(spread(r.rng, r.plan.window/2))
		if r.plan.loss > 0 && r.rng.IntN(5) == 0 {
			lost, err := r.memory.Failover(spread(r.rng, r.plan.loss))
			r.say("a failover loses %d writes: %v", lost, err)
		}
	}
	close(r.over)
	go func() {
		machines.Wait()
		r.late.Wait()
		close(ended)
	}()
	expired, stop := snowfence.SystemClock().After(10 * time.Minute)
	defer stop()
	select {
	case <-ended:
	case <-expired:
		// Its goroutines would keep the bubble going for ever.
		panic("rule close: a call, a Close or an Open has not ended after ten minutes\n" + strings.Join(left(), "\n\n"))
	}
	synctest.Wait()
	if stacks := left(); len(stacks) > 1 {
		r.breaks("left", "%d goroutines:\n%s", len(stacks), strings.Join(stacks, "\n\n"))
	}
}

// issued enters the ids of a call.
func (r *run) issued(p *process, ids []snowfence.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := snowfence.ID(-1)
	for _, id := range ids {
		if by := r.ids[id]; by != nil || id <= last {
			r.broken("unique", "%s issued %d after %d, and before it: %v", p, id, last, by)
			return
		}
		r.ids[id], last = p, id
	}
}

// say adds a line to the log.
func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found {
		return // the log ends with the finding
	}
	if len(r.lines) >= 200 {
		r.lines = append(r.lines[:0], r.lines[100:]...)
	}
	r.lines = append(r.lines, fmt.Sprintf("%12.6fs  ", time.Since(r.begun).Seconds())+fmt.Sprintf(format, args...))
}

// breaks fails the test, with the last of the log the first time.
func (r *run) breaks(rule, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken(rule, format, args...)
}

// broken needs r.mu.
func (r *run) broken(rule, format string, args ...any) {
	text := fmt.Sprintf("%12.6fs  rule %s: ", time.Since(r.begun).Seconds(), rule) + fmt.Sprintf(format, args...)
	if !r.found {
		text += fmt.Sprintf("\nplan: %+v\n%s", r.plan, strings.Join(r.lines, "\n"))
	}
	r.found = true
	r.t.Error(text)
}

// left returns the stacks of the goroutines of this bubble, without those of package testing.
func left() (stacks []string) {
	buffer := make([]byte, 1<<16)
	head, _, _ := strings.Cut(string(buffer[:runtime.Stack(buffer, false)]), "\n")
	_, bubble, _ := strings.Cut(head, "synctest bubble ")
	buffer = make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		line, rest, _ := strings.Cut(stack, "\n")
		if strings.Contains(line, "synctest bubble "+bubble) && !strings.Contains(rest, "testingSynctestTest(") && !strings.HasPrefix(rest, "internal/synctest.") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
