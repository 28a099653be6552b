package counter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// open opens a counter of each kind, with its guard if there is one: a daily sequence can have none.
func open(t *testing.T, s store.Store, guard func(name string) counter.Guard) map[string]drawer {
	t.Helper()
	all := map[string]drawer{}
	for name, kind := range kinds {
		c := counter.Config{Store: s, Name: name}
		if guard != nil {
			c.Guard = guard(name)
		}
		if guard != nil && name == "daily" {
			continue
		}
		opened, err := kind(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = opened
	}
	return all
}

func end(t *testing.T, c drawer) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestCounterThatWentBackwardsIsRefusedWithBothNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		counters := open(t, memory.Client(), nil)
		earlier := map[string]memstore.Snapshot{}
		for name, c := range counters {
			fill(t, c, 25)
			synctest.Wait() // the segment ahead is reserved
			earlier[name] = memory.Snapshot()
			fill(t, c, 100)
			synctest.Wait()
		}
		for name, c := range counters {
			memory.Restore(earlier[name])
			err := c.Fill(t.Context(), make([]snowfence.ID, 1000))
			var back *counter.BackwardsError
			if !errors.As(err, &back) || back.Next > back.Mark || back.Mark < 125 {
				t.Errorf("%s: %v", name, err)
			}
			end(t, c)
		}
	})
}

func TestGuardNoticesWhatNoProcessRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, elsewhere := memstore.New(), memstore.New()
		guard := func(name string) counter.Guard {
			g, err := counter.OpenStoreGuard(t.Context(), elsewhere.Client(), "default", name)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		before := memory.Snapshot()
		for name, c := range open(t, memory.Client(), guard) {
			fill(t, c, 25)
			synctest.Wait()
			end(t, c)
			if mark, err := guard(name).Mark(t.Context()); err != nil || mark < 25 {
				t.Fatalf("the mark of %s is %d (%v)", name, mark, err)
			}
		}
		memory.Restore(before)
		// The next process begins with an empty store.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var back *counter.BackwardsError
		config := counter.Config{Store: memory.Client(), Name: "segments", Guard: guard("segments")}
		if _, err := counter.OpenSegments(ctx, counter.SegmentsConfig{Config: config}); !errors.As(err, &back) || back.Next != 1 || back.Mark < 25 {
			t.Errorf("segments: %v", err)
		}
		config.Name, config.Guard = "tickets", guard("tickets")
		tickets, err := counter.OpenTickets(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tickets.Next(ctx); !errors.As(err, &back) || back.Next != 1 || back.Mark != 25 {
			t.Errorf("tickets: %v", err)
		}
		if err := tickets.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestGreatestIDOfATableIsAGuard(t *testing.T) {
	greatest := int64(41)
	guard := counter.QueryGuard{Name: "max(id) of orders", Greatest: func(context.Context) (int64, error) { return greatest, nil }}
	tickets := openTickets(t, counter.Config{Store: memstore.New().Client(), Name: "orders", Guard: guard})
	var back *counter.BackwardsError
	if _, err := tickets.Next(t.Context()); !errors.As(err, &back) || back.By != "max(id) of orders" || back.Mark != 41 {
		t.Errorf("the error is %v", err)
	}
	greatest = -1
	if id, err := tickets.Next(t.Context()); err != nil || id != 1 {
		t.Errorf("without rows: %d, %v", id, err)
	}
}

// table is another system's counter, which a test sets back.
type table struct {
	next     int64
	reserved func() // may be nil
}

func (t *table) Reserve(_ context.Context, need func() int64) (counter.Range, error) {
	got := counter.Range{First: t.next, Increment: 1, Count: need()}
	t.next += got.Count
	if t.reserved != nil {
		t.reserved()
	}
	return got, nil
}

func TestGuardedSourceRefusesWhatIsInUse(t *testing.T) {
	foreign := &table{next: 100}
	source := counter.Guarded(foreign, storeGuard(t, memstore.New().Client()), "leaf orders")
	tickets := counter.NewTickets(source, counter.Config{Name: "orders"})
	defer tickets.Close(t.Context()) //nolint:errcheck // nothing is left behind
	fill(t, tickets, 7)
	foreign.next = 103 // a stale copy was promoted
	var back *counter.BackwardsError
	if _, err := tickets.Next(t.Context()); !errors.As(err, &back) || back.Next != 103 || back.Mark != 106 || back.Counter != "leaf orders" {
		t.Errorf("the error is %v", err)
	}
	if said := fmt.Sprint(back); !strings.HasSuffix(said, ": set the counter to 107 or more") {
		t.Errorf("without a remedy of the source the error is %s", said)
	}
	foreign.next = 107
	if id, err := tickets.Next(t.Context()); err != nil || id != 107 {
		t.Errorf("above the mark: %d, %v", id, err)
	}
}

// TestCounterThatWentBackByOneNumberIsRefused is the nearest that a counter can be to a number in use.
func TestCounterThatWentBackByOneNumberIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ guarded, again bool }{
		"its own process knows it":      {},
		"a guard knows it":              {guarded: true, again: true},
		"its process and a guard do so": {guarded: true},
	} {
		t.Run(name, func(t *testing.T) {
			memory := memstore.New()
			config := counter.Config{Store: memory.Client(), Name: "orders"}
			if test.guarded {
				config.Guard = storeGuard(t, memstore.New().Client())
			}
			start := func() *counter.Tickets {
				return openTickets(t, config)
			}
			tickets := start()
			fill(t, tickets, 2)
			before := memory.Snapshot()
			next(t, tickets)
			memory.Restore(before)
			if test.again {
				tickets = start()
			}
			var back *counter.BackwardsError
			if id, err := tickets.Next(t.Context()); !errors.As(err, &back) || back.Next != 3 || back.Mark != 3 {
				t.Errorf("it gives %d (%v), and 3 is in use", id, err)
			}
		})
	}
}

// TestGuardsOfDifferentRowsShareNoMark has names that a key can't hold as they are.
func TestGuardsOfDifferentRowsShareNoMark(t *testing.T) {
	marks := memstore.New().Client()
	long := strings.Repeat("x", 200)
	rows := [][]string{
		{"default", "orders"}, {"default", "Orders"}, {"default", "orders "}, {"default", "订单"}, {"default", "订货"}, {"default", ""}, {"default"},
		{"leaf-segment", "shop", "orders"}, {"leaf-segment", "shop/orders"}, {"leaf-segment/shop", "orders"}, {"leaf-segment", "shopo", "rders"},
		{"tinyid", "shop", "orders"}, {"tinyid", "shop", long}, {"tinyid", "shop", long + "y"}, {"tinyid", long, "shop"},
	}
	open := func(row []string) *counter.StoreGuard {
		guard, err := counter.OpenStoreGuard(t.Context(), marks, row...)
		if err != nil {
			t.Fatal(err)
		}
		return guard
	}
	for mark, row := range rows {
		if err := open(row).Raise(t.Context(), 0, int64(mark)); err != nil {
			t.Errorf("%q: %v", row, err)
		}
	}
	for mark, row := range rows {
		if got, err := open(row).Mark(t.Context()); err != nil || got != int64(mark) {
			t.Errorf("%q has the mark %d (%v), must be %d", row, got, err, mark)
		}
	}
}
