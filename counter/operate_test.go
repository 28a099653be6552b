package counter_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

func TestOperatorRaisesACounterAndNeverLowersIt(t *testing.T) {
	s := memstore.New().Client()
	tickets := openTickets(t, counter.Config{Store: s, Name: "orders", Start: 5, Increment: 10, Limit: 1000})
	if id, err := tickets.Next(t.Context()); err != nil || id != 5 {
		t.Fatalf("%d, %v", id, err)
	}
	info, err := counter.Show(t.Context(), s, "default", "orders")
	if err != nil || info.Kind != "ticket" || info.Lanes[0].Next != 15 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, next := range []int64{14, math.MaxInt64 - 8} {
		var wrong *counter.ConfigError
		if _, err := info.Raised("", next); !errors.As(err, &wrong) || wrong.Field != "next" {
			t.Errorf("set to %d: %v", next, err)
		}
	}
	if _, err := info.Raised("20261122", 50); err == nil || !strings.HasSuffix(err.Error(), "date is 20261122: must not be given: counter orders has no dates") {
		t.Errorf("a ticket counter's date: %v", err)
	}
	raised, err := info.Raised("", 96)
	if err != nil || raised.Lanes[0].Next != 105 || info.Lanes[0].Next != 15 {
		t.Fatalf("raised to %v, and before %v: %v", raised.Lanes, info.Lanes, err)
	}
	if _, err := counter.Set(t.Context(), s, raised, counter.Operator{Process: counter.Process{Host: "desk"}}); err != nil {
		t.Fatal(err)
	}
	if id, err := tickets.Next(t.Context()); err != nil || id != 105 {
		t.Errorf("after it was set: %d, %v", id, err)
	}
	if _, err := counter.Set(t.Context(), s, raised, counter.Operator{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("set from the earlier read: %v", err)
	}
	for info, err := range counter.List(t.Context(), s, "default") {
		if err != nil || info.Name != "orders" || info.Lanes[0].Next != 115 {
			t.Errorf("listed %+v, %v", info, err)
		}
	}
	if _, err := counter.Show(t.Context(), s, "default", "others"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such counter: %v", err)
	}
}

// TestDateThatASequenceLacksIsSetByTheRulesOfItsProcesses restores a sequence to a day of which the store holds nothing.
func TestDateThatASequenceLacksIsSetByTheRulesOfItsProcesses(t *testing.T) {
	s := memstore.New().Client()
	d, clock := openDaily(t, s, "UTC", nil)
	gives := func(want string) {
		t.Helper()
		if text, err := d.Next(t.Context()); err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("it gave %s, not %s: %v", text, want, err)
		}
	}
	gives("20261122001")
	for date, value := range map[string]string{"": `""`, "20261131": "20261131"} {
		_, err := show(t, s, "invoices").Raised(date, 50)
		want := "snowfence: date is " + value + ": must be like 20261122: counter invoices counts by date"
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	for _, date := range []string{"20261130", "20261123", "20261124", "20261125", "20261126", "20261127", "20261128", "20261129", "20261120", "20261121"} {
		raised, err := show(t, s, "invoices").Raised(date, 50)
		if err == nil {
			_, err = counter.Set(t.Context(), s, raised, counter.Operator{})
		}
		full := date == "20261121" // there are ten from 20261120 on, so that goes
		if err != nil || full && (raised.Lanes[0].Name != date || len(raised.Lanes) != 10) {
			t.Fatalf("date %s: %v, %v", date, raised.Lanes, err)
		}
	}
	gives("20261122002")
	clock.set(clock.Wall().AddDate(0, 0, 1))
	gives("20261123050")
	var forgotten *counter.DateError
	if _, err := show(t, s, "invoices").Raised("20261120", 60); !errors.As(err, &forgotten) || forgotten.Oldest != "20261121" {
		t.Errorf("a date that is forgotten: %v", err)
	}
	var wrong *counter.ConfigError
	if _, err := show(t, s, "invoices").Raised("20261201", 0); !errors.As(err, &wrong) || wrong.Field != "next" {
		t.Errorf("a new date below its first number: %v", err)
	}
}

// TestCounterIsSetAboveTheLimitOfItsLastWriter restores counters that were full, or whose limit was raised since.
func TestCounterIsSetAboveTheLimitOfItsLastWriter(t *testing.T) {
	for name, x := range map[string]struct {
		config   counter.Config
		set, got int64
	}{
		"one past the limit":                        {counter.Config{Start: 1, Limit: 10}, 11, 11},
		"far above it":                              {counter.Config{Start: 1, Limit: 10}, 5000, 5000},
		"above it, by the increment":                {counter.Config{Start: 1, Increment: 10, Limit: 15}, 5000, 5001},
		"one past the greatest limit":               {counter.Config{Start: 1}, math.MaxInt64, math.MaxInt64},
		"one past the greatest, by the increment":   {counter.Config{Start: 1, Increment: 7}, math.MaxInt64 - 6, math.MaxInt64 - 6},
		"just below that, which is the same number": {counter.Config{Start: 1, Increment: 7}, math.MaxInt64 - 12, math.MaxInt64 - 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New().Client()
			x.config.Store, x.config.Name = s, "orders"
			open := func() *counter.Tickets {
				return openTickets(t, x.config)
			}
			next(t, open())
			for _, next := range []int64{x.set, x.got} { // the second time it is there already
				raised, err := show(t, s, "orders").Raised("", next)
				if err == nil {
					raised, err = counter.Set(t.Context(), s, raised, counter.Operator{})
				}
				if err != nil || raised.Lanes[0].Next != x.got {
					t.Fatalf("set to %v: %v", raised.Lanes, err)
				}
			}
			if n, err := open().Next(t.Context()); !errors.Is(err, counter.ErrFull) {
				t.Errorf("with the old limit it gave %d, %v", n, err)
			}
			if x.config.Limit = 100_000; x.got < x.config.Limit {
				if n, err := open().Next(t.Context()); err != nil || int64(n) != x.got {
					t.Errorf("with a greater limit it gave %d, %v, not %d", n, err, x.got)
				}
			}
		})
	}
	s := memstore.New().Client()
	d, _ := openDaily(t, s, "UTC", func(c *counter.DailyConfig) { c.Digits = 1 })
	next(t, d)
	info := show(t, s, "invoices")
	if _, err := info.Raised("20261122", 11); err == nil {
		t.Error("set beyond the end of a date")
	}
	raised, err := info.Raised("20261122", 10)
	if err == nil {
		_, err = counter.Set(t.Context(), s, raised, counter.Operator{})
	}
	if text, full := d.Next(t.Context()); err != nil || !errors.Is(full, counter.ErrFull) {
		t.Errorf("a date that is full gave %s, %v (%v)", text, full, err)
	}
}

func TestRefusalOfALossyStoreNamesTheWayOut(t *testing.T) {
	s := memstore.NewWith(memstore.Config{Loss: time.Second}).Client()
	_, err := counter.OpenTickets(t.Context(), counter.Config{Store: s, Name: "orders"})
	if !errors.Is(err, counter.ErrLossy) || !strings.HasSuffix(err.Error(), "durable=true in its store's URL declares that it loses nothing") {
		t.Errorf("the error is %v", err)
	}
}
