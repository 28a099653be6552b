package counter_test

import (
	"context"
	"errors"
	"math"
	"strings"
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

// behind is where segments of ten numbers are counted behind a guard.
type behind struct {
	open func(context.Context, counter.Guard) (*counter.Segments, error)
	next func(*testing.T) int64
}

// segmentsBehind are the ways on which a guard is used.
func segmentsBehind() map[string]behind {
	s, foreign := memstore.New().Client(), &table{next: 1}
	return map[string]behind{
		"a register": {func(ctx context.Context, g counter.Guard) (*counter.Segments, error) {
			config := counter.Config{Store: s, Name: "orders", Guard: g}
			return counter.OpenSegments(ctx, counter.SegmentsConfig{Config: config, Step: 10, MostStep: 10})
		}, func(t *testing.T) int64 {
			t.Helper()
			if _, err := counter.Show(t.Context(), s, "default", "orders"); errors.Is(err, store.ErrNotFound) {
				return 1
			}
			return show(t, s, "orders").Lanes[0].Next
		}},
		"another system's table": {func(ctx context.Context, g counter.Guard) (*counter.Segments, error) {
			return counter.NewSegments(ctx, counter.Guarded(foreign, g, "orders"), counter.SegmentsConfig{Config: counter.Config{Name: "orders"}, Step: 10, MostStep: 10})
		}, func(*testing.T) int64 { return foreign.next }},
	}
}

// TestReplyOfAGuardThatNeverComesCostsOneRequestTimeout has a connection to the guard that falls silent. New
// connections work.
func TestReplyOfAGuardThatNeverComesCostsOneRequestTimeout(t *testing.T) {
	for reply, verb := range map[string]faultstore.Verb{"a mark": faultstore.Get, "a raise": faultstore.Swap} {
		for name, counted := range segmentsBehind() {
			t.Run(reply+" of "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var silent atomic.Bool
					marks := faultstore.New(memstore.New().Client(), func(c faultstore.Call) faultstore.Fault {
						if c.Verb == verb && silent.CompareAndSwap(true, false) {
							return faultstore.Fault{Delay: time.Hour}
						}
						return faultstore.Fault{}
					}, nil)
					segments, err := counted.open(t.Context(), storeGuard(t, marks))
					if err != nil {
						t.Fatal(err)
					}
					defer segments.Close(context.Background()) //nolint:errcheck // a gap at the end
					synctest.Wait()                            // the segment ahead is reserved
					silent.Store(true)
					var last time.Duration // when the last call has failed
					for begun := time.Now(); time.Since(begun) < 20*time.Second; at(time.Now(), 100) {
						if err := segments.Fill(t.Context(), make([]snowfence.ID, 7)); err != nil {
							last = time.Since(begun)
						}
					}
					if last == 0 || last > 6*time.Second {
						t.Errorf("the last call failed after %s, must be a request timeout of 5s and the wait of a call", last)
					}
				})
			})
		}
	}
}

// TestCounterIsFullIfItsGuardLeavesNoNumber has a mark at and above the greatest number.
func TestCounterIsFullIfItsGuardLeavesNoNumber(t *testing.T) {
	for name, counted := range segmentsBehind() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard := storeGuard(t, memstore.New().Client())
				if err := guard.Raise(t.Context(), 1, math.MaxInt64); err != nil {
					t.Fatal(err)
				}
				segments, err := counted.open(t.Context(), guard)
				if err != nil {
					t.Fatal(err)
				}
				defer segments.Close(context.Background()) //nolint:errcheck // it has no number
				begun := time.Now()
				_, err = segments.Next(t.Context())
				if full := new(counter.FullError); !errors.As(err, &full) ||
					!strings.Contains(err.Error(), "9223372036854775807 is in use already, according to the guard of default/orders") {
					t.Errorf("the error is %v", err)
				}
				if took := time.Since(begun); took > 0 {
					t.Errorf("it is tried again for %s", took)
				}
			})
		})
	}
}
