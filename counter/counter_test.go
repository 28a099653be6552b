package counter_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// openTickets opens tickets, which are closed when the test ends.
func openTickets(t *testing.T, c counter.Config) *counter.Tickets {
	t.Helper()
	tickets, err := counter.OpenTickets(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tickets.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tickets
}

// openLimited opens segments of a configuration, which are closed when the test ends.
func openLimited(t *testing.T, c counter.SegmentsConfig) *counter.Segments {
	t.Helper()
	segments, err := counter.OpenSegments(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = segments.Close(context.Background()) })
	return segments
}

// fill draws n numbers, which there must be.
func fill(t *testing.T, c interface {
	Fill(ctx context.Context, ids []snowfence.ID) error
}, n int,
) []snowfence.ID {
	t.Helper()
	ids := make([]snowfence.ID, n)
	if err := c.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	return ids
}

// next draws a number, which there must be.
func next[T any](t *testing.T, c interface {
	Next(ctx context.Context) (T, error)
},
) T {
	t.Helper()
	got, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func show(t *testing.T, s store.Store, name string) counter.Info {
	t.Helper()
	info, err := counter.Show(t.Context(), s, "default", name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// while is a plan whose calls of some verbs, or of any, have a fault while it is on.
func while(on *atomic.Bool, fault faultstore.Fault, verbs ...faultstore.Verb) faultstore.Plan {
	return func(c faultstore.Call) faultstore.Fault {
		if on.Load() && (len(verbs) == 0 || slices.Contains(verbs, c.Verb)) {
			return fault
		}
		return faultstore.Fault{}
	}
}

func TestCountersKeepTheirRules(t *testing.T) {
	for name, loss := range map[string]time.Duration{"durable": 0, "lossy": 50 * time.Millisecond} {
		memory := memstore.NewWith(memstore.Config{Loss: loss})
		h := countertest.Harness{Open: func(context.Context) (store.Store, error) { return memory.Client(), nil }, Seed: 7}
		t.Run(name, func(t *testing.T) { countertest.Run(t, h) })
		t.Run(name+" with faults", func(t *testing.T) { countertest.RunFaulty(t, h) })
	}
}

func TestCounterThatMustExistIsNeverBegun(t *testing.T) {
	memory := memstore.New()
	open := map[string]func(counter.Config) error{}
	for name, kind := range kinds {
		open[name] = func(c counter.Config) error {
			s, err := kind(t.Context(), c)
			if err == nil {
				err = errors.Join(s.Fill(t.Context(), make([]snowfence.ID, 1)), s.Close(t.Context()))
			}
			return err
		}
	}
	for name, use := range open {
		config := counter.Config{Store: memory.Client(), Name: name, Existing: true}
		if err := use(config); !errors.Is(err, counter.ErrMustExist) || !strings.Contains(err.Error(), "the record of counter "+name+" of namespace default is gone") {
			t.Errorf("%s: without its record: %v", name, err)
		}
		if n := memory.Len(); n != 0 {
			t.Fatalf("%s: %d registers were made", name, n)
		}
	}
	for name, use := range open {
		for _, existing := range []bool{false, true} {
			if err := use(counter.Config{Store: memory.Client(), Name: name, Existing: existing}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
