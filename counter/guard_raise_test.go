package counter_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// storeGuard is a guard of the counter "orders".
func storeGuard(t *testing.T, marks store.Store) *counter.StoreGuard {
	t.Helper()
	g, err := counter.OpenStoreGuard(t.Context(), marks, "default", "orders")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// slowed is a client of a store whose calls take a second each while slow is set.
func slowed(m *memstore.Memory, slow *atomic.Bool) store.Store {
	return faultstore.New(m.Client(), while(slow, faultstore.Fault{Delay: time.Second}), nil)
}

// setBack is where tickets are counted, which can be set back to an earlier state.
type setBack struct {
	open       func(*testing.T, counter.Guard) *counter.Tickets
	save, back func()
}

// storeSetBack is a counter in a store. It calls reserved when a swap is about to be sent.
func storeSetBack(reserved func()) setBack {
	memory := memstore.New()
	s := faultstore.New(memory.Client(), func(c faultstore.Call) faultstore.Fault {
		if c.Verb == faultstore.Swap {
			reserved()
		}
		return faultstore.Fault{}
	}, nil)
	var saved memstore.Snapshot
	return setBack{func(t *testing.T, g counter.Guard) *counter.Tickets {
		t.Helper()
		return openTickets(t, counter.Config{Store: s, Name: "orders", Guard: g, MaxWait: time.Minute})
	}, func() { saved = memory.Snapshot() }, func() { memory.Restore(saved) }}
}

// tableSetBack is another system's table.
func tableSetBack(reserved func()) setBack {
	foreign := &table{next: 1, reserved: reserved}
	saved := foreign.next
	return setBack{func(_ *testing.T, g counter.Guard) *counter.Tickets {
		return counter.NewTickets(counter.Guarded(foreign, g, "orders"), counter.Config{Name: "orders", MaxWait: time.Minute})
	}, func() { saved = foreign.next }, func() { foreign.next = saved }}
}

// TestNumberIsGivenByOneProcessThoughAnotherRaisesTheGuardLate sets the counter back when a process has
// reserved and not yet raised the guard. Another process reserves meanwhile.
func TestNumberIsGivenByOneProcessThoughAnotherRaisesTheGuardLate(t *testing.T) {
	for name, start := range map[string]func(reserved func()) setBack{"a register": storeSetBack, "another system's table": tableSetBack} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				marks := memstore.New()
				var slow atomic.Bool
				counted := start(func() { slow.Store(true) })
				first, second := counted.open(t, storeGuard(t, slowed(marks, &slow))), counted.open(t, storeGuard(t, marks.Client()))
				fill(t, first, 1)
				slow.Store(false)
				counted.save()
				got := make(chan snowfence.ID)
				go func() {
					ids := make([]snowfence.ID, 3)
					if err := first.Fill(t.Context(), ids); err != nil {
						t.Error(err)
					}
					got <- ids[0]
				}()
				synctest.Wait() // it has reserved, and the raise is under way
				counted.back()
				other := fill(t, second, 1)[0] // the mark is within the range of the first one then
				slow.Store(false)
				if id := <-got; id <= other {
					t.Errorf("the process that raised late gives %d, the other one %d", id, other)
				}
				for _, tickets := range []*counter.Tickets{first, second} {
					if err := tickets.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestNothingIsReservedWhileAGuardCanNotBeRaised has a store of marks whose disk is full: it answers reads.
func TestNothingIsReservedWhileAGuardCanNotBeRaised(t *testing.T) {
	for name, counted := range segmentsBehind() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var full atomic.Bool
				marks := faultstore.New(memstore.New().Client(), func(c faultstore.Call) faultstore.Fault {
					return faultstore.Fault{Before: c.Verb == faultstore.Swap && full.Load(), Delay: time.Millisecond}
				}, nil)
				guard := storeGuard(t, marks)
				full.Store(true)
				for range 3 { // processes that start
					if _, err := counted.open(t.Context(), guard); !errors.Is(err, faultstore.ErrInjected) {
						t.Fatalf("it opened, or failed with %v", err)
					}
				}
				if n := counted.next(t); n != 1 {
					t.Errorf("processes that could not open have reserved up to %d", n)
				}
				full.Store(false)
				segments, err := counted.open(t.Context(), guard)
				if err != nil {
					t.Fatal(err)
				}
				full.Store(true)
				for begun := time.Now(); time.Since(begun) < time.Hour; {
					_ = segments.Fill(t.Context(), make([]snowfence.ID, 7))
				}
				if n := counted.next(t); n > 40 {
					t.Errorf("in an hour numbers were reserved up to %d, in steps of 10", n)
				}
				full.Store(false)
				if err := segments.Fill(t.Context(), make([]snowfence.ID, 7)); err != nil {
					t.Errorf("after the hour: %v", err)
				}
				_ = segments.Close(t.Context())
			})
		})
	}
}

// TestProcessesOfOneGuardMakeProgress has processes that raise one guard out of turn: each is as far from
// it as it likes. A range that comes late is a gap.
func TestProcessesOfOneGuardMakeProgress(t *testing.T) {
	const processes, each = 5, 40
	synctest.Test(t, func(t *testing.T) {
		memory, marks := memstore.New(), memstore.New()
		var mu sync.Mutex
		var all []int64
		var callers sync.WaitGroup
		for i := range processes {
			link := faultstore.New(marks.Client(), faultstore.Seeded(uint64(i), faultstore.Rates{Delay: 1, MaxDelay: time.Duration(i+1) * 10 * time.Millisecond}), nil)
			tickets := openTickets(t, counter.Config{Store: memory.Client(), Name: "orders", Guard: storeGuard(t, link), MaxWait: 20 * time.Second})
			callers.Go(func() {
				for range each {
					id, err := tickets.Next(t.Context())
					if err != nil {
						t.Errorf("process %d: %v", i, err)
					}
					mu.Lock()
					all = append(all, int64(id))
					mu.Unlock()
				}
				if err := tickets.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		slices.Sort(all)
		last := all[len(all)-1]
		t.Logf("%d numbers, and %d gaps", len(all), last-int64(len(all)))
		if given := len(slices.Compact(all)); given != processes*each || last > processes*each*processes {
			t.Errorf("%d numbers up to %d, must be %d, and each may cost the others one each", given, last, processes*each)
		}
	})
}

func TestGuardOnAStoreThatCanLoseTheMarkIsRefused(t *testing.T) {
	s := memstore.NewWith(memstore.Config{Loss: time.Second}).Client()
	_, err := counter.OpenStoreGuard(t.Context(), s, "default", "orders")
	if !errors.Is(err, counter.ErrLossy) || !strings.HasSuffix(err.Error(), "durable=true in that store's URL declares that it loses nothing") {
		t.Errorf("the error is %v", err)
	}
}
