package fence_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store/memstore"
)

var (
	shellSeeds = flag.Int("shell.seeds", 0, "how many seeds TestShell runs; 0 means 300, and 40 under the race detector")
	shellSeed  = flag.Int64("shell.seed", -1, "the one seed that TestShell runs")
)

const (
	longest      = "longest wait in % of max-wait"
	workerBits   = 5
	sequenceBits = 8
	logged       = 120 // lines of a run's log that a failure shows, before it and
	loggedAfter  = 20  // after it
)

// TestShell runs real holders in bubbles, a seed each: with goroutines that wait
// in calls, contexts that end, processes that are closed, killed and started
// again, clocks that step and drift, machines that are stopped, and a store that
// fails in every way that its contract allows, and in one that it forbids: it is
// deaf to contexts.
//
// What is drawn from a seed is always the same: the plan, what befalls each
// machine and when, and what befalls which call to the store. How goroutines
// that may run at the same moment follow each other is not, as a bubble fixes the
// time and not the order. So a failure may not come back by its seed at once: it
// shows the plan and the log of the run, and -shell.seed with -count runs the same
// seed again.
//
// The rules:
//
//	unique        no id is issued twice
//	fenced        a tick of a worker id is stamped by one generator only
//	bounded       its tick lies in its term's interval, as the store has it
//	acknowledged  and below what its process was told of, and on a lossy store
//	              below what was confirmed; so does the status
//	order         a caller's ids of one term increase, and those of a batch, which
//	              is of one term
//	waiting       a call ends within max-wait, whatever it waits for and however many
//	              terms it takes, and within its context
//	errors        and fails with what it may fail with
//	closed        a call that begins after Close returned issues nothing
//	lost          nor does one of a term whose loss was told before
//	close, open   Close and Open end with their context, and Close after two request
//	              timeouts; so does Close when the faults have ended, and Open anyway
//	status        ready is whether a call succeeds
//	counters      losses and outages are counted as they are told
//	live          when the faults have ended, whoever may have a worker id issues
//	              within two windows, the store's loss and a little
//	stays         no goroutine is left when all are closed
func TestShell(t *testing.T) {
	first, seeds := int64(1), int64(*shellSeeds)
	switch {
	case *shellSeed >= 0:
		first, seeds = *shellSeed, 1
	case seeds == 0 && underRace:
		seeds = 40
	case seeds == 0:
		seeds = 300
	}
	var mu sync.Mutex
	tally := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+seeds; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				w := simulate(t, uint64(seed))
				mu.Lock()
				defer mu.Unlock()
				tally["ids"] += w.ids
				for what, n := range w.faults {
					if what == longest {
						tally[what] = max(tally[what], n)
						continue
					}
					tally[what] += n
				}
			})
		}
	})
	t.Logf("%d seeds: %v", seeds, tally)
}

// simulate runs one seed in a bubble of its own.
func simulate(t *testing.T, seed uint64) *world {
	w := &world{
		plan: draw(seed), terms: make(map[string]*tenure), held: make(map[int64][]*tenure),
		slots: make(map[slotKey]slot), faults: make(map[string]int),
	}
	defer func() {
		// A goroutine that nothing can wake any more ends the bubble by a panic.
		if stuck := recover(); stuck != nil {
			w.breaks("stays", "%v", stuck)
			t.Fatalf("seed %d: %s", seed, w.account())
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w.play()
		if len(w.found) > 0 {
			t.Errorf("seed %d: %s", seed, w.account())
		}
	})
	return w
}

// play is the run. It returns when every goroutine has ended.
func (w *world) play() {
	w.clock = snowfence.SystemClock()
	w.begun = w.clock.Monotonic()
	w.calm, w.over = make(chan struct{}), make(chan struct{})
	config := memstore.Config{Loss: w.plan.loss, Rand: seeded(w.plan.seed, -1)}
	if w.plan.engine {
		config.Now = w.clock.Wall
	}
	w.memory = memstore.NewWith(config)
	rng := rand.New(seeded(w.plan.seed, -2))
	var machines sync.WaitGroup
	for n := range w.plan.machines {
		m := &machine{
			w: w, n: n, rng: rand.New(seeded(w.plan.seed, n)), clock: newWristwatch(), disk: &sheet{},
			keeps: w.plan.journals && rng.IntN(3) > 0, sends: make(map[string]time.Duration),
		}
		if n < w.plan.pins {
			worker := int64(n / (1 + rng.IntN(2)))
			m.pin = &worker
		}
		w.machines = append(w.machines, m)
	}
	for _, m := range w.machines {
		machines.Go(m.run)
	}
	w.storm(rng, w.look)
	w.settle()
	w.late.Wait()
	w.settled()
	close(w.over)
	ended := make(chan struct{})
	go func() {
		machines.Wait()
		w.late.Wait()
		close(ended)
	}()
	expired, stop := w.clock.After(10 * time.Minute)
	select {
	case <-ended:
		stop()
		pass(4 * w.plan.timeout) // what was on its way to the store is through
		synctest.Wait()
		w.remains()
	case <-expired:
		w.breaks("stays", "a call, a Close or an Open has not ended after ten minutes\n%s", strings.Join(own(), "\n\n"))
		panic(w.account()) // it would keep the bubble going for ever
	}
}

// remains checks that nothing is left of the bubble but this goroutine.
func (w *world) remains() {
	if left := own(); len(left) > 1 {
		w.breaks("stays", "%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
}

// own returns the stacks of the goroutines of this bubble, without the root and
// what the testing package has there.
func own() (stacks []string) {
	buffer := make([]byte, 1<<16)
	head := string(buffer[:runtime.Stack(buffer, false)])
	_, bubble, _ := strings.Cut(strings.SplitN(head, "\n", 2)[0], "synctest bubble ")
	mark := "synctest bubble " + bubble
	buffer = make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		line, rest, _ := strings.Cut(stack, "\n")
		if strings.Contains(line, mark) && !strings.Contains(rest, "testingSynctestTest(") && !strings.HasPrefix(rest, "internal/synctest.") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
