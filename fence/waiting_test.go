package fence_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// diary keeps the waits of a holder.
type diary struct {
	mu    sync.Mutex
	waits []fence.Waiting
}

func (d *diary) keep(c *fence.Config) {
	c.OnWait = func(w fence.Waiting) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waits = append(d.waits, w)
	}
}

func (d *diary) all() []fence.Waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits
}

func TestOnWaitSaysForWhatAClaimWaitsAndSinceWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		first := open(t, memory.Client(), pinned)
		begun := time.Now()
		var d diary
		var log journal
		_, err := tryOpen(t, memory.Client(), pinned, d.keep, log.keep, func(c *fence.Config) {
			c.ClaimWait, c.Process.PID = 25*time.Second, 2
		})
		var held *fence.HeldError
		if !errors.As(err, &held) {
			t.Fatal(err)
		}
		waits := d.all()
		if len(waits) != 3 { // at once, and every ten seconds
			t.Fatalf("%d waits: %v", len(waits), waits)
		}
		for _, w := range waits {
			if !errors.As(w.For, &held) || held.Process.PID != 1 || !w.Since.Equal(begun) || !w.Until.Equal(held.Until) || w.Limit != 25*time.Second {
				t.Errorf("%+v", w)
			}
		}
		if text := waits[0].String(); !strings.HasPrefix(text, "waiting for worker 0: held by pid 1 on host host-a until ") || !strings.HasSuffix(text, ", for 25s at most") {
			t.Error(text)
		}
		if said := log.lines("level=INFO", "waiting for worker 0: held by pid 1 on host host-a until "); len(said) != len(waits) {
			t.Errorf("%d waits are logged as %q", len(waits), said)
		}
		next(t, first)
	})
}

func TestOnWaitSaysWhichWorkerIDOfAPoolComesFreeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		open(t, memory.Client())
		open(t, memory.Client())
		var d diary
		var log journal
		_, err := tryOpen(t, memory.Client(), d.keep, log.keep, func(c *fence.Config) { c.ClaimWait = time.Second })
		log.once(t, "level=INFO", "waiting for a worker id", "held=2", "next=\"worker ")
		var full *fence.ExhaustedError
		if waits := d.all(); !errors.As(err, &full) || len(waits) != 1 || !waits[0].Until.Equal(full.First[0].Until) ||
			!strings.HasPrefix(waits[0].String(), "waiting for a worker id: of 2, 2 are held, ") {
			t.Errorf("%v, and the waits are %v", err, waits)
		}
	})
}

func TestOnWaitSaysUntilWhenALossyStoreCanLoseTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		begun := time.Now()
		var log journal
		open(t, memstore.NewWith(memstore.Config{Loss: 2 * time.Second}).Client(), d.keep, log.keep)
		log.once(t, "level=INFO", "waiting until the store can't lose the claim of worker ", "for=2s")
		if waits := d.all(); len(waits) != 1 || !waits[0].Since.Equal(begun) || !waits[0].Until.Equal(begun.Add(2*time.Second)) ||
			!strings.HasPrefix(waits[0].String(), "waiting until the store can't lose the claim of worker ") {
			t.Errorf("the waits are %v", waits)
		}
	})
}

func TestOnWaitIsCalledOnceByEachCallThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		memory := memstore.New()
		open(t, memory.Client())
		faulty := faultstore.New(memory.Client(), nil, nil)
		h := open(t, faulty, d.keep)
		faulty.Follow(noStore)
		pass(60 * time.Second)
		next := func() { _, _ = h.Next(t.Context()) }
		begun := time.Now()
		go next()
		next()
		waits := d.all()
		if len(waits) != 2 {
			t.Fatalf("the waits are %v", waits)
		}
		for _, w := range waits {
			if !errors.Is(w.For, snowfence.ErrWindowEnded) || !w.Since.Equal(begun) || w.Limit <= 0 || w.Limit > snowfence.DefaultMaxWait ||
				!strings.HasPrefix(w.String(), "waiting for ids: ") {
				t.Errorf("%+v", w)
			}
		}
		next() // it is refused at once
		if len(d.all()) != 2 {
			t.Error("a call that does not wait counts as waiting")
		}
	})
}

// TestStandingChangesWithTheWorkerIDAndTheStore has a second holder wait for the worker id of a first one, over a store that
// goes away and comes back, and take over. Then its own store goes away until the window has ended.
func TestStandingChangesWithTheWorkerIDAndTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		first := open(t, memory.Client(), pinned)
		faulty := faultstore.New(memory.Client(), nil, nil)
		standings := make(chan fence.Standing, 100)
		expect := func(when string, want ...fence.Standing) {
			t.Helper()
			synctest.Wait()
			for _, want := range want {
				select {
				case got := <-standings:
					if got != want {
						t.Errorf("%s: %d, want %d", when, got, want)
					}
				default:
					t.Errorf("%s: no change, want %d", when, want)
				}
			}
			if n := len(standings); n > 0 {
				t.Fatalf("%s: %d more changes, the first to %d", when, n, <-standings)
			}
		}
		opened := make(chan *fence.Holder)
		go func() {
			h, err := tryOpen(t, faulty, pinned, func(c *fence.Config) {
				c.ClaimWait, c.Process.PID, c.OnStanding = 1<<62, 2, func(s fence.Standing) { standings <- s }
			})
			if err != nil {
				t.Error(err)
			}
			opened <- h
		}()
		pass(time.Second)
		expect("the worker id is held", fence.StandsBy)
		faulty.Follow(noStore)
		pass(time.Minute)
		expect("the store is away", fence.Idle)
		faulty.Follow(nil)
		pass(time.Minute)
		expect("the store is back", fence.StandsBy)
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := <-opened
		expect("it takes over", fence.Issues)
		faulty.Follow(noStore)
		pass(2 * time.Minute)
		expect("its window has ended", fence.Idle)
		faulty.Follow(nil)
		pass(2 * time.Minute)
		expect("its term goes on", fence.Issues)
		if err := second.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("it is closed", fence.Idle)
	})
}

// TestOnMadeIsCalledForANewNamespaceThoughOpenFails ends Open while it waits until the store can't lose the claim.
func TestOnMadeIsCalledForANewNamespaceThoughOpenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: 2 * time.Second})
		for _, want := range []int{1, 0} {
			var made []snowfence.Layout
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := fence.Open(ctx, fence.Config{
				Store: memory.Client(), Layout: bubbleLayout(), OnMade: func(l snowfence.Layout) { made = append(made, l) },
			})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || len(made) != want || want > 0 && !made[0].Equal(bubbleLayout()) {
				t.Errorf("%v, and it made %v", err, made)
			}
		}
	})
}
