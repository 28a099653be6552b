package counter_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/memstore"
)

// crowd is many processes on one counter of a lossy store.
type crowd struct {
	*testing.T
	memory *memstore.Memory
	ended  sync.WaitGroup
	stop   context.Context // of all processes

	mu     sync.Mutex
	draws  bool
	given  map[int64]bool
	last   []time.Time // by process: when it got a number
	held   []func() []counter.Range
	errors map[string]int
	failed int // calls and openings
}

// pass lets virtual time pass.
func pass(d time.Duration) { at(time.Now(), int(d.Milliseconds())) }

const crowdLoss = 15 * time.Second

func newCrowd(t *testing.T) (*crowd, func()) {
	stop, end := context.WithCancel(t.Context())
	c := &crowd{T: t, memory: memstore.NewWith(memstore.Config{Loss: crowdLoss}), stop: stop, draws: true, given: map[int64]bool{}, errors: map[string]int{}}
	return c, func() { end(); c.ended.Wait() }
}

// grow starts processes, at a distance.
func (c *crowd) grow(n int, apart time.Duration) {
	for range n {
		c.mu.Lock()
		i := len(c.last)
		c.last, c.held = append(c.last, time.Time{}), append(c.held, nil)
		c.mu.Unlock()
		c.ended.Go(func() { c.process(i) })
		pass(apart)
	}
}

// process opens the counter until that succeeds, and draws two numbers a second.
func (c *crowd) process(i int) {
	for c.stop.Err() == nil {
		s, err := counter.OpenSegments(c.stop, counter.SegmentsConfig{Config: counter.Config{Store: c.memory.Client(), Name: "orders"}, Step: 10})
		if err != nil {
			c.note(i, 0, err)
			pass(3 * time.Second)
			continue
		}
		c.mu.Lock()
		c.held[i] = func() []counter.Range { return s.Status().Held }
		c.mu.Unlock()
		for ; c.stop.Err() == nil; pass(500 * time.Millisecond) {
			c.mu.Lock()
			draws := c.draws
			c.mu.Unlock()
			if draws {
				id, err := s.Next(c.stop)
				c.note(i, int64(id), err)
			}
		}
		_ = s.Close(context.Background())
	}
}

func (c *crowd) note(i int, id int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stop.Err() != nil:
	case err != nil:
		c.failed++
		c.errors[err.Error()]++
	case c.given[id]:
		c.Errorf("%d was given twice", id)
	default:
		c.given[id], c.last[i] = true, time.Now()
	}
}

// judge checks that every process got a number lately, and returns how many numbers were burnt.
func (c *crowd) judge() (burnt int64) {
	c.mu.Lock()
	c.draws = false
	c.mu.Unlock()
	pass(time.Minute) // reservations under way end
	c.mu.Lock()
	defer c.mu.Unlock()
	burnt = show(c.T, c.memory.Client(), "orders").Lanes[0].Next - 1 - int64(len(c.given))
	for i, last := range c.last {
		if time.Since(last) > 70*time.Second {
			c.Errorf("process %d got its last number %s ago", i, time.Since(last))
		}
		if c.held[i] != nil {
			for _, r := range c.held[i]() {
				burnt -= r.Count
			}
		}
	}
	c.Logf("%d processes got %d numbers; %d calls failed, %d numbers were burnt", len(c.last), len(c.given), c.failed, burnt)
	c.draws = true
	return burnt
}

// TestFleetOfALossyStoreGrowsWithoutGaps has 20 processes, and then 60.
func TestFleetOfALossyStoreGrowsWithoutGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := newCrowd(t)
		defer end()
		for _, n := range []int{20, 40} {
			c.grow(n, 100*time.Millisecond)
			pass(5 * time.Minute)
			if burnt := c.judge(); burnt != 0 || c.failed != 0 {
				t.Errorf("%d numbers were burnt, and %v failed", burnt, c.errors)
			}
		}
	})
}

// TestProcessesBeyondTheLimitWaitForTheirTurn starts more at once than can wait to be confirmed.
func TestProcessesBeyondTheLimitWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := newCrowd(t)
		defer end()
		c.grow(150, 10*time.Millisecond)
		pass(3 * time.Minute)
		if burnt := c.judge(); burnt > 150*10 {
			t.Errorf("%d numbers were burnt", burnt)
		}
		const want = "counter orders: 100 reservations wait to be confirmed, which takes 15s each: at most 100 can at a time"
		for text := range c.errors {
			if !strings.Contains(text, want) {
				t.Errorf("a process failed with: %s", text)
			}
		}
		if c.failed == 0 {
			t.Error("processes did not have to wait")
		}
	})
}

// TestProcessesThatEndBeforeTheyConfirmStopNoOther fills the list with processes that end.
func TestProcessesThatEndBeforeTheyConfirmStopNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: crowdLoss})
		short, crash := context.WithTimeout(t.Context(), 5*time.Second)
		defer crash()
		var ended sync.WaitGroup
		for range 120 {
			ended.Go(func() {
				if _, err := counter.OpenSegments(short, counter.SegmentsConfig{Config: counter.Config{Store: memory.Client(), Name: "orders"}}); err == nil {
					t.Error("a process opened before it could confirm")
				}
			})
		}
		ended.Wait()
		for try, begun := 0, time.Now(); ; try++ {
			s, err := counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: counter.Config{Store: memory.Client(), Name: "orders"}})
			if err == nil {
				_ = s.Close(t.Context())
				break
			}
			if try == 3 {
				t.Fatalf("after %s: %v", time.Since(begun), err)
			}
		}
	})
}
