package counter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// openHundred opens a counter of the numbers 1 to 100.
func openHundred(t *testing.T, s store.Store, clock snowfence.Clock) *counter.Tickets {
	t.Helper()
	return openTickets(t, counter.Config{Store: s, Name: "orders", Limit: 100, Clock: clock})
}

func TestRateOfACounterIsThatOfAllItsDaysButNotOfTheFirst(t *testing.T) {
	clock := &setClock{Clock: snowfence.SystemClock()}
	created := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	clock.set(created)
	tickets := openHundred(t, memstore.New().Client(), clock)
	fill(t, tickets, 10)
	const day = 24 * time.Hour
	for _, test := range []struct{ after, in time.Duration }{{0, 0}, {day - 1, 0}, {day, 9 * day}, {10 * day, 90 * day}} {
		clock.set(created.Add(test.after))
		got, want := tickets.Status().RunsOut, time.Time{}
		if test.in > 0 {
			want = clock.Wall().Add(test.in)
		}
		if got.Sub(want).Abs() > time.Second {
			t.Errorf("after %s it runs out at %s, want %s", test.after, got, want)
		}
	}
	fill(t, tickets, 90)
	last := clock.Wall()
	clock.set(last.Add(day))
	if s := tickets.Status(); s.Left != 0 || !s.RunsOut.Equal(last) {
		t.Errorf("it ran out at %s, with %d left, want %s", s.RunsOut, s.Left, last)
	}
}

func TestNumbersInHandAreLeft(t *testing.T) {
	clock := &setClock{Clock: snowfence.SystemClock()}
	created := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	clock.set(created)
	config := counter.Config{Store: memstore.New().Client(), Name: "users", Limit: 500, Clock: clock}
	segments := openLimited(t, counter.SegmentsConfig{Config: config})
	clock.set(created.Add(48 * time.Hour))
	for _, test := range []struct {
		given, left int
		runsOut     time.Time
	}{{0, 500, time.Time{}}, {100, 400, created.Add(240 * time.Hour)}, {399, 1, created.Add(48*time.Hour + 48*time.Hour/499)}, {1, 0, created}} {
		fill(t, segments, test.given)
		if s := segments.Status(); s.Left != int64(test.left) || s.Total != 500 || s.RunsOut.Sub(test.runsOut).Abs() > time.Second {
			t.Errorf("after %d more: %d left of %d until %s, want %d until %s", test.given, s.Left, s.Total, s.RunsOut, test.left, test.runsOut)
		}
	}
}

func TestStatusShowsBeforeTheFirstCallHowFarTheCounterIs(t *testing.T) {
	s := memstore.New().Client()
	fill(t, openHundred(t, s, nil), 95)
	if got := openHundred(t, s, nil).Status(); got.Next != 96 || got.Left != 5 || got.Total != 100 {
		t.Errorf("next %d, %d left of %d, want 96, 5 of 100", got.Next, got.Left, got.Total)
	}
}

func TestDailyStatusIsOfTodayThoughYesterdayIsFull(t *testing.T) {
	d, clock := openDaily(t, memstore.New().Client(), "UTC", nil)
	if _, err := d.Fill(t.Context(), 999); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Next(t.Context()); !errors.Is(err, counter.ErrFull) {
		t.Fatalf("beyond the digits: %v", err)
	}
	if s := d.Status(); s.Left != 0 || s.LastError == nil {
		t.Errorf("%d left, %v, want 0 and an error", s.Left, s.LastError)
	}
	clock.set(clock.Wall().AddDate(0, 0, 1))
	if s := d.Status(); s.Left != 999 || s.Total != 999 || s.LastError != nil {
		t.Errorf("on the next day %d left of %d, %v, want all and no error", s.Left, s.Total, s.LastError)
	}
}

func TestSegmentsInHandAreShown(t *testing.T) {
	config := counter.Config{Store: memstore.New().Client(), Name: "orders", Start: 1, Increment: 2}
	segments := openLimited(t, counter.SegmentsConfig{Config: config, Step: 10, MostStep: 10})
	fill(t, segments, 3)
	held := segments.Status().Held
	if want := (counter.Range{First: 7, Increment: 2, Count: 7}); len(held) == 0 || held[0] != want {
		t.Errorf("held are %+v, want %+v first", held, want)
	}
	if held := openHundred(t, memstore.New().Client(), nil).Status().Held; held != nil {
		t.Errorf("tickets hold %+v", held)
	}
}

// every5th is another system's table, whose numbers are five apart.
type every5th struct{}

func (every5th) Reserve(_ context.Context, need func() int64) (counter.Range, error) {
	return counter.Range{First: 10, Increment: 5, Count: need()}, nil
}

func TestStatusShowsTheIncrement(t *testing.T) {
	apart := counter.Config{Store: memstore.New().Client(), Name: "orders", Increment: 3}
	own := openLimited(t, counter.SegmentsConfig{Config: apart})
	apart.Name = "tickets"
	tickets := openTickets(t, apart)
	others, err := counter.NewSegments(t.Context(), every5th{}, counter.SegmentsConfig{Step: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = others.Close(t.Context()) })
	for name, test := range map[string]struct {
		of   drawer
		want int64
	}{"segments": {own, 3}, "tickets": {tickets, 3}, "segments of another source": {others, 5}} {
		if got := test.of.Status().Increment; got != test.want {
			t.Errorf("%s before the first call: %d, want %d", name, got, test.want)
		}
		fill(t, test.of, 4)
		if got := test.of.Status().Increment; got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
