package countertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// Harness gives the rules a store.
type Harness struct {
	// Open opens a new client of the store. The store keeps its registers between rules.
	Open func(ctx context.Context) (store.Store, error)

	// Draws is how many numbers a process draws. Zero means 300.
	Draws int

	// Seed begins the faults of [RunFaulty].
	Seed uint64
}

// processes is how many clients draw at a time.
const processes = 4

// Run checks every rule.
func Run(t *testing.T, h Harness) {
	t.Helper()
	h.run(t, func(s store.Store, _ int) store.Store { return s })
}

// RunFaulty checks every rule with lost requests and replies, late swaps and stale reads.
func RunFaulty(t *testing.T, h Harness) {
	t.Helper()
	rates := faultstore.Rates{Before: 0.03, LostReply: 0.05, Late: 0.03, Stale: 0.1}
	h.run(t, func(s store.Store, n int) store.Store {
		return faultstore.New(s, faultstore.Seeded(h.Seed+uint64(n), rates), nil)
	})
}

func (h Harness) run(t *testing.T, wrap func(store.Store, int) store.Store) {
	t.Helper()
	if h.Draws == 0 {
		h.Draws = 300
	}
	for _, rule := range []struct {
		name  string
		check func(*testing.T, *bench)
	}{
		{"SegmentsGiveNoNumberTwice", segments},
		{"TicketsIncreaseInTheOrderOfTime", tickets},
		{"DailyNumbersAreNeverGivenTwice", daily},
		{"NothingIsGivenBeyondTheLimit", limited},
	} {
		t.Run(rule.name, func(t *testing.T) {
			b := &bench{T: t, draws: h.Draws, name: strings.ToLower(rule.name[:12] + "." + rand.Text())}
			for i := range processes {
				s, err := h.Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				b.clients = append(b.clients, wrap(s, i))
			}
			traits, err := b.clients[0].Traits(t.Context())
			for try := 0; err != nil && try < 20; try++ {
				traits, err = b.clients[0].Traits(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			b.loss = traits.Loss
			rule.check(t, b)
		})
	}
}

// bench is what a rule works with.
type bench struct {
	*testing.T
	clients []store.Store
	draws   int
	name    string
	loss    time.Duration
}

func (b *bench) config(client int) counter.Config {
	return counter.Config{Store: b.clients[client], Name: b.name, MaxWait: time.Minute + 2*b.loss, RequestTimeout: 5 * time.Second}
}

// together runs the processes at the same time, until each has ended.
func (b *bench) together(process func(client int) error) {
	b.Helper()
	errs := make([]error, processes)
	var wait sync.WaitGroup
	for i := range processes {
		wait.Go(func() { errs[i] = process(i) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

// opened opens a counter, again if a fault prevents it.
func opened[C any](open func() (C, error)) (C, error) {
	c, err := open()
	for try := 0; err != nil && errors.Is(err, faultstore.ErrInjected) && try < 50; try++ {
		c, err = open()
	}
	return c, err
}

func segments(t *testing.T, b *bench) {
	var mu sync.Mutex
	var all []int64
	b.together(func(client int) error {
		s, err := opened(func() (*counter.Segments, error) {
			return counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: b.config(client), Step: 7, MostStep: 50, Target: time.Millisecond})
		})
		if err != nil {
			return err
		}
		defer s.Close(context.Background()) //nolint:errcheck // what is not given back is a gap
		got := make([]int64, 0, b.draws)
		last := int64(0)
		for len(got) < b.draws {
			ids := make([]snowfence.ID, 1+len(got)%11)
			if err := s.Fill(t.Context(), ids); err != nil {
				return err
			}
			for _, id := range ids {
				if int64(id) <= last {
					return fmt.Errorf("%d after %d in one process", id, last)
				}
				last = int64(id)
				got = append(got, last)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, got...)
		return nil
	})
	if err := Distinct(all); err != nil {
		t.Error(err)
	}
}

func tickets(t *testing.T, b *bench) {
	if b.loss > 0 {
		if _, err := counter.OpenTickets(t.Context(), b.config(0)); !errors.Is(err, counter.ErrLossy) {
			t.Errorf("opened on a lossy store: %v", err)
		}
		return
	}
	const callers = 4
	clock := snowfence.SystemClock()
	var mu sync.Mutex
	var all []Drawn
	b.together(func(client int) error {
		c, err := opened(func() (*counter.Tickets, error) { return counter.OpenTickets(t.Context(), b.config(client)) })
		if err != nil {
			return err
		}
		defer c.Close(context.Background()) //nolint:errcheck // nothing is left behind
		errs := make([]error, callers)
		var wait sync.WaitGroup
		for i := range callers {
			wait.Go(func() {
				for n := range b.draws / callers {
					patience := time.Minute
					if n%8 == 0 { // a caller that leaves, perhaps while it reserves for the others
						patience = time.Duration(n) * 100 * time.Microsecond
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					begun := clock.Monotonic()
					id, err := c.Next(ctx)
					left := ctx.Err() != nil
					cancel()
					if err != nil && left {
						continue
					}
					if err != nil {
						errs[i] = err
						return
					}
					mu.Lock()
					all = append(all, Drawn{int64(id), begun, clock.Monotonic()})
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		return errors.Join(errs...)
	})
	if err := Order(all); err != nil {
		t.Error(err)
	}
}

func daily(t *testing.T, b *bench) {
	var mu sync.Mutex
	var all []string
	b.together(func(client int) error {
		d, err := opened(func() (*counter.Daily, error) {
			return counter.OpenDaily(t.Context(), counter.DailyConfig{Config: b.config(client), Prefix: "INV"})
		})
		if err != nil {
			return err
		}
		defer d.Close(context.Background()) //nolint:errcheck // what is not given back is a gap
		for range b.draws / 5 {
			texts, err := d.Fill(t.Context(), 5)
			if err != nil {
				return err
			}
			mu.Lock()
			all = append(all, texts...)
			mu.Unlock()
		}
		return nil
	})
	if err := Distinct(all); err != nil {
		t.Error(err)
	}
}

func faulty(s store.Store) bool {
	_, is := s.(*faultstore.Store)
	return is
}

func limited(t *testing.T, b *bench) {
	c := b.config(0)
	c.Start, c.Increment, c.Limit = 5, 3, 31 // 5, 8, … 29
	s, err := opened(func() (*counter.Segments, error) {
		return counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: c, Step: 2})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context()) //nolint:errcheck // nothing is left
	var got []int64
	for {
		id, err := s.Next(t.Context())
		var full *counter.FullError
		if errors.As(err, &full) {
			if full.Limit != 31 {
				t.Errorf("the limit is %d", full.Limit)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, int64(id))
	}
	if want := []int64{5, 8, 11, 14, 17, 20, 23, 26, 29}; !faulty(b.clients[0]) && fmt.Sprint(got) != fmt.Sprint(want) || Distinct(got) != nil || len(got) > len(want) {
		t.Errorf("drew %v", got)
	}
}
