package counter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

func TestOperatorRaisesACounterAndNeverLowersIt(t *testing.T) {
	s := memstore.New().Client()
	tickets, err := counter.OpenTickets(t.Context(), counter.Config{Store: s, Name: "orders", Start: 5, Increment: 10, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer tickets.Close(t.Context()) //nolint:errcheck // nothing is left behind
	if id, err := tickets.Next(t.Context()); err != nil || id != 5 {
		t.Fatalf("%d, %v", id, err)
	}
	info, err := counter.Show(t.Context(), s, "default", "orders")
	if err != nil || info.Kind != "ticket" || info.Lanes[0].Next != 15 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, next := range []int64{14, 1001} {
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
		t.Errorf("set from what was read before: %v", err)
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

// TestDateThatASequenceLacksIsBegunByItsOperator sets a date that a restored store has never seen.
func TestDateThatASequenceLacksIsBegunByItsOperator(t *testing.T) {
	s := memstore.New().Client()
	d, clock := openDaily(t, s, "UTC", nil)
	for range 2 {
		if _, err := d.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.set(clock.Wall().AddDate(0, 0, 5))
	}
	info, err := counter.Show(t.Context(), s, "default", "invoices")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := info.Raised("20261131", 50); err == nil || !strings.HasSuffix(err.Error(), "must be a date such as 20261122: counter invoices has one count for each") {
		t.Errorf("no date: %v", err)
	}
	raised, err := info.Raised("20261202", 50)
	if err == nil {
		_, err = counter.Set(t.Context(), s, raised, counter.Operator{Clock: clock})
	}
	if err != nil || len(info.Lanes) != 2 {
		t.Fatalf("%v, and before %v", err, info.Lanes)
	}
	if text, err := d.Next(t.Context()); err != nil || text != "INV20261202050" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestRefusalOfALossyStoreNamesTheWayOut(t *testing.T) {
	s := memstore.NewWith(memstore.Config{Loss: time.Second}).Client()
	_, err := counter.OpenTickets(t.Context(), counter.Config{Store: s, Name: "orders"})
	if !errors.Is(err, counter.ErrLossy) || !strings.HasSuffix(err.Error(), "durable=true in the URL of its store says that it loses nothing") {
		t.Errorf("the error is %v", err)
	}
}
