package counter_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// TestReservedSegmentIsOfItsCallerAlone has two processes give single numbers and whole segments, and end and begin
// again, which gives numbers back.
func TestReservedSegmentIsOfItsCallerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		var mu sync.Mutex
		var all []snowfence.ID
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for range 20 {
					s := openSegments(t, memory.Client(), 10)
					var calls sync.WaitGroup
					for i := range 6 {
						calls.Go(func() {
							ids := make([]snowfence.ID, 7)
							err := s.Fill(t.Context(), ids)
							r, failed := s.Reserve(t.Context(), int64(i+1))
							if err = errors.Join(err, failed); err != nil || r.Count != int64(i+1) {
								t.Errorf("%+v, %v", r, err)
							}
							mu.Lock()
							defer mu.Unlock()
							all = append(all, ids...)
							for n := range r.Count {
								all = append(all, snowfence.ID(r.First+n*r.Increment))
							}
						})
					}
					calls.Wait()
					if err := s.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != len(all) || n == 0 {
			t.Errorf("%d numbers, %d of them distinct", len(all), n)
		}
	})
}

func TestSegmentThatCanNotBeReservedSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		link := faultstore.New(memstore.New().Client(), while(&away, faultstore.Fault{Delay: time.Hour}), nil)
		s := openLimited(t, counter.SegmentsConfig{Config: counter.Config{Store: link, Name: "users", Limit: 15}, Step: 10})
		// 1 to 10 are in hand.
		if r, err := s.Reserve(t.Context(), 10); err != nil || r != (counter.Range{First: 11, Increment: 1, Count: 5}) {
			t.Errorf("the last numbers: %+v, %v", r, err)
		}
		if _, err := s.Reserve(t.Context(), 10); !errors.Is(err, counter.ErrFull) {
			t.Errorf("beyond the limit: %v", err)
		}
		away.Store(true)
		began := time.Now()
		if _, err := s.Reserve(t.Context(), 10); !errors.Is(err, counter.ErrUnavailable) || time.Since(began) != time.Second {
			t.Errorf("without the store: %v after %s", err, time.Since(began))
		}
		given, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Reserve(given, 10); !errors.Is(err, context.Canceled) {
			t.Errorf("of a caller that left: %v", err)
		}
		away.Store(false)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := s.Reserve(t.Context(), 10); !errors.Is(err, counter.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}
