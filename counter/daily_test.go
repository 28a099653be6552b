package counter_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// setClock is a clock that a test sets.
type setClock struct {
	snowfence.Clock
	now atomic.Pointer[time.Time]
}

func (c *setClock) Wall() time.Time { return *c.now.Load() }

func (c *setClock) set(at time.Time) { c.now.Store(&at) }

func openDaily(t *testing.T, s store.Store, zone string, change func(*counter.DailyConfig)) (*counter.Daily, *setClock) {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	clock := &setClock{Clock: snowfence.SystemClock()}
	clock.set(time.Date(2026, 11, 22, 12, 0, 0, 0, location))
	c := counter.DailyConfig{Config: counter.Config{Store: s, Name: "invoices", Clock: clock}, Prefix: "INV", Zone: location, Digits: 3}
	if change != nil {
		change(&c)
	}
	d, err := counter.OpenDaily(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return d, clock
}

func TestDailyNumbersBeginAgainAtMidnightOfTheirZone(t *testing.T) {
	shanghai, newYork := "Asia/Shanghai", "America/New_York"
	for _, test := range []struct {
		name, zone string
		times      []string // in UTC
		want       []string
	}{
		{
			"midnight in Shanghai is 16:00 in London", shanghai,
			[]string{"2026-11-22T15:59:59.999999999Z", "2026-11-22T16:00:00Z", "2026-11-22T16:00:01Z"},
			[]string{"INV20261122001", "INV20261123001", "INV20261123002"},
		},
		{
			"the night in which New York's clocks go back has one date", newYork,
			[]string{"2026-11-01T04:00:00Z", "2026-11-01T05:59:59Z", "2026-11-01T06:00:00Z", "2026-11-01T06:59:59Z", "2026-11-02T04:59:59Z", "2026-11-02T05:00:00Z"},
			[]string{"INV20261101001", "INV20261101002", "INV20261101003", "INV20261101004", "INV20261101005", "INV20261102001"},
		},
		{
			"the night in which they go forward, too", newYork,
			[]string{"2026-03-08T05:00:00Z", "2026-03-08T06:59:59Z", "2026-03-08T07:00:00Z", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z"},
			[]string{"INV20260308001", "INV20260308002", "INV20260308003", "INV20260308004", "INV20260309001"},
		},
		{
			"a day without midnight begins at one", "America/Santiago",
			[]string{"2026-09-06T03:59:59Z", "2026-09-06T04:00:00Z", "2026-09-06T18:00:00Z", "2026-09-07T02:59:59Z", "2026-09-07T03:00:00Z"},
			[]string{"INV20260905001", "INV20260906001", "INV20260906002", "INV20260906003", "INV20260907001"},
		},
		{
			"a clock that is set back a day counts on", "UTC",
			[]string{"2026-11-22T12:00:00Z", "2026-11-23T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-23T12:00:00Z"},
			[]string{"INV20261122001", "INV20261123001", "INV20261122002", "INV20261123002"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, clock := openDaily(t, memstore.New().Client(), test.zone, nil)
			for i, at := range test.times {
				now, err := time.Parse(time.RFC3339, at)
				if err != nil {
					t.Fatal(err)
				}
				clock.set(now)
				if text, err := d.Next(t.Context()); err != nil || text != test.want[i] {
					t.Errorf("at %s: %s (%v), want %s", at, text, err, test.want[i])
				}
			}
		})
	}
}

func TestDateThatGaveItsRestBackCountsOnWhenItsClockGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, clock := openDaily(t, memstore.New().Client(), "UTC", func(c *counter.DailyConfig) { c.Step = 10 })
		first := clock.Wall()
		for i, want := range []string{"INV20261122001", "INV20261123001", "INV20261122002", "INV20261123002", "INV20261122003"} {
			clock.set(first.AddDate(0, 0, i%2))
			if text, err := d.Next(t.Context()); err != nil || text != want {
				t.Errorf("call %d: %s (%v), want %s", i, text, err, want)
			}
			synctest.Wait() // the rest of the other date is given back
		}
	})
}

// midnight is a clock that never goes back, and that shows midnight after some reads.
type midnight struct {
	snowfence.Clock
	reads atomic.Int64
}

func (m *midnight) Wall() time.Time {
	day := 22
	if m.reads.Add(1) > 500 {
		day = 23
	}
	runtime.Gosched() // another call may pass this one here
	return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)
}

func TestMidnightEndsADateOnce(t *testing.T) {
	for range 50 {
		var swaps atomic.Int64
		s := faultstore.New(memstore.New().Client(), func(c faultstore.Call) faultstore.Fault {
			if c.Verb == faultstore.Swap {
				swaps.Add(1)
			}
			return faultstore.Fault{}
		}, nil)
		d, _ := openDaily(t, s, "UTC", func(c *counter.DailyConfig) {
			c.Digits, c.Step, c.Clock = 6, 1000, &midnight{Clock: snowfence.SystemClock()}
		})
		var calls sync.WaitGroup
		for range 64 {
			calls.Go(func() {
				for range 10 {
					if _, err := d.Next(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		calls.Wait()
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := swaps.Load(); n > 6 {
			t.Fatalf("%d writes, must be at most 6: two reservations for each date, and the numbers that each gives back", n)
		}
	}
}

func TestDailyNumberNeverOutgrowsItsDigits(t *testing.T) {
	d, clock := openDaily(t, memstore.New().Client(), "UTC", nil)
	if texts, err := d.Fill(t.Context(), 999); err != nil || texts[998] != "INV20261122999" {
		t.Fatal(err)
	}
	_, err := d.Next(t.Context())
	var full *counter.FullError
	if !errors.As(err, &full) || full.Limit != 999 || full.Date != "20261122" {
		t.Errorf("beyond the digits: %v", err)
	}
	clock.set(clock.Wall().AddDate(0, 0, 1))
	if text, err := d.Next(t.Context()); err != nil || text != "INV20261123001" {
		t.Errorf("on the next day: %s, %v", text, err)
	}
}

// TestDailyTextsOfMoreDigitsEqualNone is about the way on when a sequence outgrows its digits.
func TestDailyTextsOfMoreDigitsEqualNone(t *testing.T) {
	s := memstore.New().Client()
	given := map[string]bool{}
	for digits, count := range map[int]int{1: 9, 2: 99, 3: 999} {
		d, clock := openDaily(t, s, "UTC", func(c *counter.DailyConfig) {
			c.Digits, c.Name = digits, fmt.Sprint("invoices-", digits)
		})
		for range 2 {
			texts, err := d.Fill(t.Context(), count)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				if given[text] {
					t.Errorf("%s is given twice", text)
				}
				given[text] = true
			}
			clock.set(clock.Wall().AddDate(0, 0, 1))
		}
	}
}

func TestDateThatIsForgottenIsNeverBegunAgain(t *testing.T) {
	s := memstore.New().Client()
	d, clock := openDaily(t, s, "UTC", nil)
	first := clock.Wall()
	for day := range 11 {
		clock.set(first.AddDate(0, 0, day))
		next(t, d)
	}
	for day, refused := range map[int]bool{-1: true, 0: true, 1: false, 10: false} {
		clock.set(first.AddDate(0, 0, day))
		text, err := d.Next(t.Context())
		var date *counter.DateError
		if refused != errors.As(err, &date) || !refused && err != nil {
			t.Errorf("day %d: %s, %v", day, text, err)
		}
		if refused && date.Oldest != "20261123" {
			t.Errorf("the oldest is %s", date.Oldest)
		}
	}
}

func TestCounterOfAnotherShapeDoesNotOpen(t *testing.T) {
	s := memstore.New().Client()
	ctx := t.Context()
	tokyo := time.FixedZone("Asia/Tokyo", 9*3600)
	type open = func(counter.Config, counter.DailyConfig) (drawer, error)
	tickets := func(c counter.Config, _ counter.DailyConfig) (drawer, error) { return counter.OpenTickets(ctx, c) }
	segments := func(c counter.Config, _ counter.DailyConfig) (drawer, error) {
		return counter.OpenSegments(ctx, counter.SegmentsConfig{Config: c})
	}
	daily := func(c counter.Config, d counter.DailyConfig) (drawer, error) {
		d.Config = c
		opened, err := counter.OpenDaily(ctx, d)
		return texts{opened}, err
	}
	for _, test := range []struct {
		field         string // no field: it opens
		open          open
		name          string
		start, digits int
		increment     int64
		zone          *time.Location
	}{
		{"", tickets, "tickets", 5, 0, 3, nil},
		{"", segments, "segments", 5, 0, 3, nil},
		{"", daily, "daily", 5, 3, 0, nil},
		{"kind", daily, "tickets", 5, 3, 0, nil},
		{"kind", tickets, "daily", 5, 0, 3, nil},
		{"kind", segments, "tickets", 5, 0, 3, nil},
		{"start", tickets, "tickets", 6, 0, 3, nil},
		{"increment", tickets, "tickets", 5, 0, 4, nil},
		{"increment", segments, "segments", 5, 0, 4, nil},
		{"start", daily, "daily", 7, 3, 0, nil},
		{"zone", daily, "daily", 5, 3, 0, tokyo},
		{"digits", daily, "daily", 5, 4, 0, nil},
	} {
		c, err := test.open(counter.Config{Store: s, Name: test.name, Start: int64(test.start), Increment: test.increment},
			counter.DailyConfig{Digits: test.digits, Zone: test.zone})
		if test.field == "" {
			if err != nil || c.Fill(ctx, make([]snowfence.ID, 1)) != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			continue
		}
		var mismatch *counter.MismatchError
		if !errors.As(err, &mismatch) || mismatch.Field != test.field || mismatch.Counter != test.name {
			t.Errorf("the %s of %s: %v", test.field, test.name, err)
		}
	}
}

// The next date's first write hangs. A call of the date before has its number by then.
func TestDailyCallThatHasItsNumberWaitsForNoOtherDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := faultstore.New(memstore.New().Client(), func(c faultstore.Call) faultstore.Fault {
			switch {
			case c.Verb == faultstore.Swap && c.N == 2:
				return faultstore.Fault{ReplyDelay: time.Second}
			case c.Verb == faultstore.Swap && c.N == 3:
				return faultstore.Fault{Delay: time.Hour}
			}
			return faultstore.Fault{}
		}, nil)
		d, clock := openDaily(t, slow, "UTC", func(c *counter.DailyConfig) { c.MaxWait = 2 * time.Second })
		next(t, d)
		begun := time.Now()
		var today sync.WaitGroup
		today.Go(func() {
			text, err := d.Next(t.Context())
			if took := time.Since(begun); text != "INV20261122002" || err != nil || took != time.Second {
				t.Errorf("the call got %q after %s: %v", text, took, err)
			}
		})
		at(begun, 500)
		clock.set(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		if text, err := d.Next(t.Context()); !errors.Is(err, counter.ErrUnavailable) {
			t.Errorf("the call of the next date got %q: %v", text, err)
		}
		today.Wait()
	})
}

// TestDailyCallWaitsForOneMaxWaitAtAChangeOfDate begins a call just before midnight. Max-wait is longer
// than a close may take, as it is on many lossy stores.
func TestDailyCallWaitsForOneMaxWaitAtAChangeOfDate(t *testing.T) {
	const maxWait = 7 * time.Second
	for takes, want := range map[time.Duration]string{6 * time.Second: "INV20261122002", time.Hour: ""} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { atAChangeOfDate(t, maxWait, takes, want) })
		})
	}
}

// atAChangeOfDate draws before and after midnight. Each write of the store but the first takes its time.
func atAChangeOfDate(t *testing.T, maxWait, takes time.Duration, want string) {
	t.Helper()
	slow := faultstore.New(memstore.New().Client(), func(c faultstore.Call) (f faultstore.Fault) {
		if c.Verb == faultstore.Swap && c.N > 1 {
			f.Delay = takes
		}
		return f
	}, nil)
	d, clock := openDaily(t, slow, "UTC", func(c *counter.DailyConfig) { c.MaxWait, c.RequestTimeout = maxWait, time.Minute })
	next(t, d)
	var calls sync.WaitGroup
	next := func(want string) {
		begun := time.Now()
		text, err := d.Next(t.Context())
		if took := time.Since(begun); text != want || want == "" && !errors.Is(err, counter.ErrUnavailable) || took > maxWait {
			t.Errorf("got %q after %s, want %q within %s: %v", text, took, want, maxWait, err)
		}
	}
	calls.Go(func() { next(want) })
	at(time.Now(), 500)
	clock.set(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	next("") // it ends the earlier date
	calls.Wait()
}

func ExampleDaily() {
	clock := &setClock{Clock: snowfence.SystemClock()}
	clock.set(time.Date(2026, 11, 22, 16, 0, 0, 0, time.UTC))
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	invoices, err := counter.OpenDaily(ctx, counter.DailyConfig{
		Config: counter.Config{Store: memstore.New().Client(), Name: "invoices", Clock: clock}, Prefix: "INV", Zone: shanghai,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer invoices.Close(ctx) //nolint:errcheck // nothing is left behind
	fmt.Println(invoices.Next(ctx))
	// Output: INV20261123000001 <nil>
}
