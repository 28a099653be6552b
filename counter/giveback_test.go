package counter_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func openSegments(t *testing.T, s store.Store, step int64) *counter.Segments {
	t.Helper()
	config := counter.Config{Store: s, Name: "users", MaxWait: 10 * time.Second}
	return openLimited(t, counter.SegmentsConfig{Config: config, Step: step, MostStep: step})
}

// TestNumbersAreGivenBackOnce loses the reply to a write that gave numbers back. Until the process
// looks, another one has reserved exactly these.
func TestNumbersAreGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		var ending atomic.Bool
		link := faultstore.New(memory.Client(), func(c faultstore.Call) faultstore.Fault {
			switch {
			case !ending.Load():
				return faultstore.Fault{}
			case c.Verb == faultstore.Swap:
				return faultstore.Fault{LostReply: true}
			}
			return faultstore.Fault{Delay: time.Second}
		}, nil)
		first := openSegments(t, link, 10)
		fill(t, first, 5) // of 1 to 10; 11 to 20 are reserved, too
		synctest.Wait()
		ending.Store(true)
		closed := make(chan error)
		go func() { closed <- first.Close(context.Background()) }()
		synctest.Wait()
		second := openSegments(t, memory.Client(), 15) // 6 to 20
		if err := <-closed; err != nil {
			t.Error(err)
		}
		third := openSegments(t, memory.Client(), 10)
		held := fill(t, second, 1)
		if got := fill(t, third, 1); held[0] != 6 || got[0] != 21 {
			t.Errorf("the second got %v, and the third %v", held, got)
		}
	})
}

func TestWhatIsLeftIsGivenBackUnlessNumbersWereReservedAfterIt(t *testing.T) {
	memory := memstore.New()
	first, second := openSegments(t, memory.Client(), 10), openSegments(t, memory.Client(), 10)
	// The first has 1 to 10, and the second 11 to 20. Nothing is reserved ahead before a number
	// is drawn.
	for _, s := range []*counter.Segments{first, second} {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	third := openSegments(t, memory.Client(), 10)
	if got := fill(t, third, 1); got[0] != 11 {
		t.Errorf("the third got %v: the second's were the last, the first's were not", got)
	}
}

// TestMarkIsKeptWhenTheRestOfADateIsGivenBackAfterARollback has a store that went back below numbers that
// the process has reserved. The rest of one of its ranges is then the last that the store knows.
func TestMarkIsKeptWhenTheRestOfADateIsGivenBackAfterARollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		d, clock := openDaily(t, memory.Client(), "UTC", func(c *counter.DailyConfig) { c.Step = 10 })
		first := clock.Wall()
		fill := func(n int) {
			t.Helper()
			if _, err := d.Fill(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the step ahead is reserved, and the rest of another date given back
		}
		fill(5) // up to 20 is reserved
		before := memory.Snapshot()
		fill(10) // up to 30, of which 16 to 20 is the rest of a step
		memory.Restore(before)
		// The process reads the store's present state, whichever write comes first at the next date.
		var back *counter.BackwardsError
		if texts, err := d.Fill(t.Context(), 16); !errors.As(err, &back) {
			t.Fatalf("it gives %s (%v), and up to 30 is reserved", texts, err)
		}
		clock.set(first.AddDate(0, 0, 1))
		fill(1)
		clock.set(first)
		if text, err := d.Next(t.Context()); !errors.As(err, &back) || back.Mark != 30 {
			t.Errorf("it gives %s (%v), and up to 30 is reserved", text, err)
		}
	})
}
