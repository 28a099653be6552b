package counter_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/memstore"
)

// distant is a guard that takes time before a reservation is sent, and until it is used. It needs no
// lock, because one reservation is made at a time.
type distant struct {
	before, after time.Duration
	fails         error // of the next reservation
	sent, ended   int   // reservations; the ones that their context ended
}

// openDistant opens tickets of which a reservation takes 200 ms. The first one is drawn already, so
// that the next call reserves by itself.
func openDistant(t *testing.T) (*counter.Tickets, *distant) {
	t.Helper()
	d := &distant{before: 100 * time.Millisecond, after: 100 * time.Millisecond}
	tickets := openTickets(t, counter.Config{Store: memstore.New().Client(), Name: "orders", MaxWait: 3 * time.Second, Guard: d})
	next(t, tickets)
	d.sent = 0
	return tickets, d
}

func (*distant) String() string { return "a distant guard" }

func (d *distant) Mark(ctx context.Context) (int64, error) { return -1, d.pass(ctx, d.before) }

func (d *distant) Raise(ctx context.Context, first, last int64) error {
	if last < first {
		return nil // whether it can be raised
	}
	d.sent++
	err := cmp.Or(d.pass(ctx, d.after), d.fails)
	d.fails = nil
	return err
}

// pass lets time pass, until ctx ends.
func (d *distant) pass(ctx context.Context, takes time.Duration) error {
	expired, stop := snowfence.SystemClock().After(takes)
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		d.ended++
		return context.Cause(ctx)
	}
}

// drawn is one call: its beginning, its caller's end, and its expected result and time, in ms.
type drawn struct {
	begins, leaves int
	want           snowfence.ID
	err            error
	ends           int
}

// draw makes calls at the same time.
func draw(t *testing.T, tickets *counter.Tickets, calls []drawn) {
	t.Helper()
	origin := time.Now()
	var all sync.WaitGroup
	for _, c := range calls {
		all.Go(func() {
			at(origin, c.begins)
			ctx := t.Context()
			if c.leaves > 0 {
				limited, cancel := context.WithDeadline(ctx, origin.Add(time.Duration(c.leaves)*time.Millisecond))
				defer cancel()
				ctx = limited
			}
			got, err := tickets.Next(ctx)
			if took := int(time.Since(origin).Milliseconds()); got != c.want || !errors.Is(err, c.err) || took != c.ends {
				t.Errorf("the call of %d ms got %d after %d ms: %v", c.begins, got, took, err)
			}
		})
	}
	all.Wait()
}

// at waits for an instant, in ms.
func at(origin time.Time, ms int) {
	expired, _ := snowfence.SystemClock().After(time.Until(origin.Add(time.Duration(ms) * time.Millisecond)))
	<-expired
}

func TestCallThatFindsNoReservationMakesOneForAllThatWait(t *testing.T) {
	left := context.DeadlineExceeded
	gone := counter.ErrReplaced
	away := errors.New("the network is away")
	for _, test := range []struct {
		name  string
		calls []drawn
		fails error
		sent  int
	}{
		{"one that comes before it is sent rides on it, a later one does not", []drawn{
			{begins: 0, want: 2, ends: 200}, {begins: 50, want: 3, ends: 200}, {begins: 150, want: 4, ends: 400},
		}, nil, 2},
		{"it leaves before the reservation is sent, and the others do not fail", []drawn{
			{begins: 0, leaves: 80, err: left, ends: 80}, {begins: 50, want: 2, ends: 280},
		}, nil, 1},
		{"it leaves afterwards, and the others do not fail", []drawn{
			{begins: 0, leaves: 160, err: left, ends: 160}, {begins: 50, want: 4, ends: 360}, {begins: 150, want: 5, ends: 360},
		}, nil, 2},
		{"it leaves, and no other call waits", []drawn{
			{begins: 0, leaves: 160, err: left, ends: 160}, {begins: 500, want: 3, ends: 700},
		}, nil, 2},
		{"another call leaves, and the reservation goes on", []drawn{
			{begins: 0, want: 2, ends: 200}, {begins: 50, leaves: 160, err: left, ends: 160},
		}, nil, 1},
		{"another call leaves, and one that came after the reservation was sent does not get its number", []drawn{
			{begins: 0, want: 2, ends: 200}, {begins: 50, leaves: 160, err: left, ends: 160}, {begins: 150, want: 4, ends: 400},
		}, nil, 2},
		{"it has left before it begins", []drawn{
			{begins: 1, leaves: 1, err: left, ends: 1}, {begins: 50, want: 2, ends: 201},
		}, nil, 1},
		{"it fails, and is made again for all", []drawn{
			{begins: 0, want: 4, ends: 450}, {begins: 50, want: 5, ends: 450},
		}, away, 2},
		{"it fails for good, for all", []drawn{
			{begins: 0, err: gone, ends: 200}, {begins: 50, err: gone, ends: 200},
		}, gone, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tickets, d := openDistant(t)
				d.fails = test.fails
				draw(t, tickets, test.calls)
				if d.sent != test.sent {
					t.Errorf("%d reservations were sent, must be %d", d.sent, test.sent)
				}
			})
		})
	}
}

func TestMaxWaitEndsACallThatReservesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets, d := openDistant(t)
		d.after = time.Hour
		draw(t, tickets, []drawn{
			{begins: 0, err: counter.ErrUnavailable, ends: 3000}, {begins: 1000, err: counter.ErrUnavailable, ends: 4000},
		})
		if d.ended != 1 {
			t.Errorf("%d reservations were ended, must be that of the call alone", d.ended)
		}
		if err := tickets.Close(t.Context()); err != nil || d.ended != 2 {
			t.Errorf("%d were ended by the close (%v)", d.ended-1, err)
		}
	})
}

// A store that connects again may take longer than a call waits. If each call ended its own attempt,
// no call would ever get a number.
func TestReservationAfterOneThatWasLeftOutlivesItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets, d := openDistant(t)
		d.before = 5 * time.Second
		draw(t, tickets, []drawn{
			{begins: 0, err: counter.ErrUnavailable, ends: 3000}, {begins: 3500, err: counter.ErrUnavailable, ends: 6500},
			{begins: 7000, want: 2, ends: 8600},
		})
	})
}

func TestCloseWaitsForACallThatReservesByItself(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
		call  drawn
		ends  time.Duration
	}{
		{"that gets its number", 500 * time.Millisecond, drawn{want: 2, ends: 600}, 600 * time.Millisecond},
		{"for a second", time.Hour, drawn{err: counter.ErrClosed, ends: 1050}, 1050 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tickets, d := openDistant(t)
				d.after = test.after
				begun := time.Now()
				var call sync.WaitGroup
				call.Go(func() { draw(t, tickets, []drawn{test.call}) })
				at(begun, 50)
				if err := tickets.Close(t.Context()); err != nil || time.Since(begun) != test.ends {
					t.Errorf("closed after %s: %v", time.Since(begun), err)
				}
				call.Wait()
			})
		})
	}
}

// deaf is a source that takes an hour, even if its context ends.
type deaf struct{ sent int }

func (d *deaf) Reserve(_ context.Context, need func() int64) (counter.Range, error) {
	if d.sent++; d.sent > 1 {
		at(time.Now(), int(time.Hour.Milliseconds()))
	}
	return counter.Range{First: int64(d.sent), Increment: 1, Count: need()}, nil
}

func TestCallsWaitNoLongerForASourceThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets := counter.NewTickets(&deaf{}, counter.Config{Name: "orders", MaxWait: 3 * time.Second})
		next(t, tickets)
		draw(t, tickets, []drawn{
			{begins: 0, err: counter.ErrUnavailable, ends: 3000}, {begins: 10, leaves: 50, err: context.DeadlineExceeded, ends: 50},
		})
		if err := tickets.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// broken is a source that fails, and may mend.
type broken struct{ tries, mends atomic.Int64 }

func (b *broken) Reserve(_ context.Context, need func() int64) (counter.Range, error) {
	if b.tries.Add(1) != b.mends.Load() {
		return counter.Range{}, errors.New("the disk is full")
	}
	return counter.Range{First: 1, Increment: 1, Count: need()}, nil
}

// Each try may have reserved numbers, though its reply reports that it failed.
func TestSourceThatFailsIsAskedLessAndLess(t *testing.T) {
	for wait, most := range map[time.Duration]int64{
		10 * time.Second: 5 + 60/2, // after 3 s every 2 s
		time.Second:      3 + 2*60, // so that each call sees a try
	} {
		synctest.Test(t, func(t *testing.T) {
			source := new(broken)
			tickets := counter.NewTickets(source, counter.Config{Name: "orders", MaxWait: wait})
			next := func() error { _, err := tickets.Next(t.Context()); return err }
			for begun := time.Now(); time.Since(begun) < time.Minute; {
				before := source.tries.Load()
				if err := next(); !errors.Is(err, counter.ErrUnavailable) || source.tries.Load() == before {
					t.Fatalf("after %d tries: %v", source.tries.Load()-before, err)
				}
			}
			if source.tries.Load() > most {
				t.Errorf("max-wait %s: %d tries in a minute, must be at most %d", wait, source.tries.Load(), most)
			}
			source.mends.Store(source.tries.Load() + 1)
			if err := next(); err != nil {
				t.Errorf("when it works again: %v", err)
			}
			begun := source.tries.Load()
			_ = next() // after a success the pauses are short again
			if tried := source.tries.Load() - begun; wait > time.Second && tried < 7 {
				t.Errorf("%d tries in %s after a success", tried, wait)
			}
			if err := tickets.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
