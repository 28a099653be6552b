package counter_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// drawer is the common part of counters.
type drawer interface {
	Fill(ctx context.Context, ids []snowfence.ID) error
	Close(ctx context.Context) error
	Status() counter.Status
}

// texts is a daily sequence as a drawer.
type texts struct{ *counter.Daily }

func (d texts) Fill(ctx context.Context, ids []snowfence.ID) error {
	_, err := d.Daily.Fill(ctx, len(ids))
	return err
}

// kinds open a counter of each kind.
var kinds = map[string]func(context.Context, counter.Config) (drawer, error){
	"segments": func(ctx context.Context, c counter.Config) (drawer, error) {
		return counter.OpenSegments(ctx, counter.SegmentsConfig{Config: c, Step: 10, MostStep: 10})
	},
	"tickets": func(ctx context.Context, c counter.Config) (drawer, error) { return counter.OpenTickets(ctx, c) },
	"daily": func(ctx context.Context, c counter.Config) (drawer, error) {
		d, err := counter.OpenDaily(ctx, counter.DailyConfig{Config: c})
		return texts{d}, err
	},
}

func TestCallForMoreThanIsLeftTakesNothing(t *testing.T) {
	for _, test := range []struct {
		name                       string
		open                       func(context.Context, counter.Config) (drawer, error)
		limit                      int64
		given, tooMany, left, next int // next is the store's value afterwards
	}{
		{"tickets", func(ctx context.Context, c counter.Config) (drawer, error) { return counter.OpenTickets(ctx, c) }, 5, 4, 4, 1, 6},
		{"a daily sequence", func(ctx context.Context, c counter.Config) (drawer, error) {
			c.Limit = 0
			d, err := counter.OpenDaily(ctx, counter.DailyConfig{Config: c, Digits: 1})
			return texts{d}, err
		}, 9, 8, 4, 1, 10},
		{"a daily sequence in steps", func(ctx context.Context, c counter.Config) (drawer, error) {
			c.Limit = 0
			d, err := counter.OpenDaily(ctx, counter.DailyConfig{Config: c, Digits: 2, Step: 7})
			return texts{d}, err
		}, 99, 90, 10, 9, 100},
		{"segments of which all are in hand", func(ctx context.Context, c counter.Config) (drawer, error) {
			return counter.OpenSegments(ctx, counter.SegmentsConfig{Config: c, Step: 500})
		}, 500, 21, 600, 479, 501},
		{"segments of which some are in hand", func(ctx context.Context, c counter.Config) (drawer, error) {
			return counter.OpenSegments(ctx, counter.SegmentsConfig{Config: c, Step: 10, MostStep: 10})
		}, 500, 5, 496, 5, 21},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New().Client()
				c, err := test.open(t.Context(), counter.Config{Store: s, Name: "orders", Limit: test.limit})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close(context.Background()) //nolint:errcheck // nothing is left behind
				fill(t, c, test.given)
				var full *counter.FullError
				for range 3 {
					if err := c.Fill(t.Context(), make([]snowfence.ID, test.tooMany)); !errors.As(err, &full) || full.Limit != test.limit {
						t.Errorf("%d numbers: %v", test.tooMany, err)
					}
					synctest.Wait()
					if s := c.Status(); s.LastError != nil || s.Left < int64(test.left) {
						t.Errorf("its status is %+v", s)
					}
				}
				if err := c.Fill(t.Context(), make([]snowfence.ID, test.left)); err != nil {
					t.Errorf("then %d numbers: %v", test.left, err)
				}
				synctest.Wait()
				if info := show(t, s, "orders"); info.Lanes[0].Next != int64(test.next) {
					t.Errorf("the store has %v, must have %d next", info.Lanes, test.next)
				}
			})
		})
	}
}

func TestNumbersThatAnotherProcessGaveBackCountAsLeft(t *testing.T) {
	memory := memstore.New()
	var all []*counter.Segments
	for range 2 {
		config := counter.Config{Store: memory.Client(), Name: "users", Limit: 20}
		all = append(all, openLimited(t, counter.SegmentsConfig{Config: config, Step: 10}))
	}
	ids := make([]snowfence.ID, 15)
	if err := all[0].Fill(t.Context(), ids); !errors.Is(err, counter.ErrFull) {
		t.Errorf("while the other process has 10: %v", err)
	}
	if err := all[1].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := all[0].Fill(t.Context(), ids); err != nil || ids[0] != 1 || ids[14] != 15 {
		t.Errorf("after it gave them back: %v (%v)", ids, err)
	}
}

func TestCallsThatRideTogetherGetWhatIsLeftInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &distant{before: 100 * time.Millisecond, after: 100 * time.Millisecond}
		tickets := openTickets(t, counter.Config{Store: memstore.New().Client(), Name: "orders", Limit: 5, Guard: d})
		begun := time.Now()
		var calls sync.WaitGroup
		for i, call := range []struct {
			n, first int
			err      error
		}{{3, 1, nil}, {3, 0, counter.ErrFull}, {2, 4, nil}, {1, 0, counter.ErrFull}} {
			calls.Go(func() {
				at(begun, i+1)
				ids := make([]snowfence.ID, call.n)
				err := tickets.Fill(t.Context(), ids)
				if !errors.Is(err, call.err) || int(ids[0]) != call.first || time.Since(begun) != 201*time.Millisecond {
					t.Errorf("call %d got %v after %s: %v", i, ids, time.Since(begun), err)
				}
			})
		}
		calls.Wait()
		if err := tickets.Close(t.Context()); err != nil || d.sent != 1 {
			t.Errorf("%d reservations, must be 1 (%v)", d.sent, err)
		}
	})
}

func TestLargeCallInAnOutageLeavesSmallOnesWhatIsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		link := faultstore.New(memstore.New().Client(), while(&away, faultstore.Fault{Before: true}), nil)
		segments := openLimited(t, counter.SegmentsConfig{Config: counter.Config{Store: link, Name: "users"}, Step: 100, MostStep: 100})
		fill(t, segments, 10) // the next segment is reserved, too
		synctest.Wait()
		away.Store(true)
		var large sync.WaitGroup
		large.Go(func() {
			if err := segments.Fill(t.Context(), make([]snowfence.ID, 10_000)); !errors.Is(err, counter.ErrUnavailable) {
				t.Errorf("the large call: %v", err)
			}
		})
		synctest.Wait()
		begun := time.Now()
		if ids := fill(t, segments, 150); ids[0] != 11 || ids[149] != 160 || time.Since(begun) > 0 {
			t.Errorf("a small call got %d to %d after %s", ids[0], ids[149], time.Since(begun))
		}
		large.Wait()
		if ids := fill(t, segments, 40); ids[39] != 200 {
			t.Errorf("the last of the rest is %d", ids[39])
		}
		away.Store(false)
	})
}
