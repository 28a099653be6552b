package counter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/store"
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
	open := map[string]func(counter.Config) error{
		"segments": func(c counter.Config) error {
			s, err := counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: c})
			if err == nil {
				_, err = s.Next(t.Context())
				err = errors.Join(err, s.Close(t.Context()))
			}
			return err
		},
		"tickets": func(c counter.Config) error {
			s, err := counter.OpenTickets(t.Context(), c)
			if err == nil {
				_, err = s.Next(t.Context())
				err = errors.Join(err, s.Close(t.Context()))
			}
			return err
		},
		"daily": func(c counter.Config) error {
			s, err := counter.OpenDaily(t.Context(), counter.DailyConfig{Config: c})
			if err == nil {
				_, err = s.Next(t.Context())
				err = errors.Join(err, s.Close(t.Context()))
			}
			return err
		},
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
