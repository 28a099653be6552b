package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
)

func TestFetchedAheadIDsAreGivenOutOnceAndInOrder(t *testing.T) {
	const goroutines, each = 8, 3000
	for _, cfg := range []Config{
		{Prefetch: 100},
		{Prefetch: 100, Batch: 30},
		{Prefetch: 1, Batch: 1},
		{Prefetch: 100, MaxAge: time.Millisecond}, // most blocks are withdrawn while they are used
	} {
		cfg.Servers = []string{listen(t, counting(new(atomic.Int64)))}
		c := newClient(t, cfg)
		var calls sync.WaitGroup
		all := make([][]snowfence.ID, goroutines)
		for i := range all {
			calls.Go(func() {
				for range each {
					id, err := c.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					all[i] = append(all[i], id)
				}
			})
		}
		calls.Wait()
		for _, own := range all {
			if !slices.IsSorted(own) {
				t.Errorf("%+v: the ids of one goroutine go back", cfg)
			}
		}
		if n := different(all...); n != goroutines*each {
			t.Errorf("%+v: %d different ids of %d", cfg, n, goroutines*each)
		}
	}
}

// different counts the ids that are not equal.
func different(all ...[]snowfence.ID) int {
	ids := slices.Concat(all...)
	slices.Sort(ids)
	return len(slices.Compact(ids))
}

func TestFillSharesNoIDWithThoseFetchedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		c, _ := connected(t, Config{Prefetch: 10}, g.answer)
		ids := make([]snowfence.ID, 35)
		go func() {
			if err := c.Fill(t.Context(), ids[:1]); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait() // one request is under way, and more can wait
		go func() {
			for i := range 30 {
				var err error
				if ids[5+i], err = c.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait()
		go func() {
			if err := c.Fill(t.Context(), ids[1:5]); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		close(g.gate)
		synctest.Wait()
		if different(ids) != len(ids) {
			t.Error(ids)
		}
	})
}

func TestMoreIsFetchedWhenHalfOfTheStockIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			config   Config
			requests map[int]int64 // after so many ids
		}{
			{Config{Prefetch: 10}, map[int]int64{1: 2, 10: 2, 11: 3}},
			{Config{Prefetch: 30, Batch: 10}, map[int]int64{1: 3, 10: 3, 11: 5, 31: 7}},
		} {
			client, servers := connected(t, c.config, counting(new(atomic.Int64)))
			for n := 1; n <= 31; n++ {
				gives(t, client, snowfence.ID(n))
				synctest.Wait()
				if want, ok := c.requests[n]; ok && servers["a"].requests.Load() != want {
					t.Errorf("%+v: %d requests after %d ids, want %d", c.config, servers["a"].requests.Load(), n, want)
				}
			}
		}
	})
}

func TestFetchedAheadIDsAreThrownAwayAtTheirAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{Prefetch: 40, Batch: 10, MaxAge: time.Minute}, counting(new(atomic.Int64)))
		for _, step := range []struct {
			after time.Duration
			want  snowfence.ID
		}{
			{0, 1},
			{time.Minute - 1, 2},
			{2, 41}, // neither of the block in use, nor of the blocks behind it
			{time.Hour, 81},
		} {
			<-time.After(step.after)
			synctest.Wait()
			gives(t, c, step.want)
			synctest.Wait()
		}
	})
}

func TestSlowServerStillFillsBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := counting(new(atomic.Int64))
		c, _ := connected(t, Config{Prefetch: 10, MaxAge: time.Millisecond}, func(words []string) string {
			<-time.After(500 * time.Millisecond)
			return count(words)
		})
		began := time.Now()
		gives(t, c, 1, 2, 3, 4, 5)
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("five ids took %s", took)
		}
	})
}

func TestFetchingAheadGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		count := counting(new(atomic.Int64))
		c, _ := connected(t, Config{Prefetch: 30, Batch: 10}, func(words []string) string {
			if fails {
				return "-TRYAGAIN\r\n"
			}
			return count(words)
		})
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
		synctest.Wait()
		fails = false
		<-time.After(mostPause)
		for n := range snowfence.ID(40) {
			gives(t, c, n+1)
		}
	})
}

func TestCallThatWaitsForABlockCanLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{Prefetch: 10}, func([]string) string { return silent })
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestClosedClientGivesNoIDsFetchedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{Prefetch: 30, Batch: 10}, counting(new(atomic.Int64)))
		gives(t, c, 1)
		synctest.Wait()
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
