//go:build servers

package sqltest

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/tinyid"
)

// TestSegmentsOfTinyidShareItsRow draws from segments of three processes while the original
// reserves from the same row.
func TestSegmentsOfTinyidShareItsRow(t *testing.T) {
	db, _, _ := tiny(t)
	tinyRow(t, db, "orders", 0, 20, 2, 1)
	var mu sync.Mutex
	var all []int64
	var wait sync.WaitGroup
	for range 3 {
		source := openTiny(t, db, "orders")
		segments, err := counter.NewSegments(t.Context(), source, counter.SegmentsConfig{Config: counter.Config{Name: "orders"}, Step: source.Step()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = segments.Close(context.Background()) })
		wait.Go(func() {
			for range 200 {
				ids := make([]snowfence.ID, 9)
				if err := segments.Fill(t.Context(), ids); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, id := range ids {
					all = append(all, int64(id))
				}
				mu.Unlock()
			}
		})
	}
	wait.Go(func() {
		for range 50 {
			r, err := tinyOriginal(t.Context(), db, "orders")
			if errors.Is(err, errTinyConflict) {
				continue
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			for i := range r.Count {
				all = append(all, r.First+i*r.Increment)
			}
			mu.Unlock()
		}
	})
	wait.Wait()
	if err := countertest.Distinct(all); err != nil {
		t.Error(err)
	}
	for _, n := range all {
		if n%2 != 1 {
			t.Fatalf("%d does not leave the remainder 1", n)
		}
	}
}

// TestTicketsOfServersComeInBatches fills batches, whose numbers are of all servers.
func TestTicketsOfServersComeInBatches(t *testing.T) {
	source, err := flickr.Open(t.Context(), flickr.Config{Servers: sharedTicketServers(t, 2)})
	if err != nil {
		t.Fatal(err)
	}
	tickets := counter.NewTickets(source, counter.Config{Name: "photos"})
	t.Cleanup(func() { _ = tickets.Close(context.Background()) })
	var all []int64
	of := [2]int{}
	for range 5 {
		ids := make([]snowfence.ID, 8)
		if err := tickets.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			all = append(all, int64(id))
			of[id%2]++
		}
	}
	if err := countertest.Distinct(all); err != nil {
		t.Error(err)
	}
	if of != [2]int{20, 20} {
		t.Errorf("%v numbers of the two servers: they take no turns", of)
	}
}

// TestStatusShowsWhyASourceGivesNoNumberMore ends the numbers of each system, or its dates. Readiness
// rests on the last error of the status.
func TestStatusShowsWhyASourceGivesNoNumberMore(t *testing.T) {
	const end = math.MaxInt64 - 15 // there is room for one step of 10
	db, _, _ := tiny(t)
	tinyRow(t, db, "orders", end, 10, 1, 0)
	must(t, db, leafalloc.DDL(leafalloc.MySQL))
	must(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', ?, 10)", int64(end))
	full, old := onRedis(t), onRedis(t)
	unused := counter.QueryGuard{Greatest: func(context.Context) (int64, error) { return -1, nil }}
	full.set(t, 999_990)
	old.set(t, 999_990)
	for system, c := range map[string]struct {
		source counter.Source
		turn   func() // after the last number
		want   any
	}{
		"leafalloc":               {leafSide{dialect: leafalloc.MySQL, db: db}.open(t, db, "orders"), func() {}, new(*counter.FullError)},
		"tinyid":                  {openTiny(t, db, "orders"), func() {}, new(*counter.FullError)},
		"rediscount":              {full.open(t, nil), func() {}, new(*counter.FullError)},
		"rediscount, an old date": {old.open(t, nil), func() { old.clock.now = old.clock.now.AddDate(-1, 0, 0) }, new(*counter.DateError)},
	} {
		segments, err := counter.NewSegments(t.Context(), c.source, counter.SegmentsConfig{Config: counter.Config{Name: "orders"}, Step: 9})
		if err != nil {
			t.Fatalf("%s: %v", system, err)
		}
		tickets := counter.NewTickets(counter.Guarded(c.source, unused, "orders"), counter.Config{Name: "orders"})
		c.turn()
		for kind, of := range map[string]interface {
			Fill(context.Context, []snowfence.ID) error
			Close(context.Context) error
			Status() counter.Status
		}{"segments": segments, "tickets": tickets} {
			if err := of.Fill(t.Context(), make([]snowfence.ID, 11)); !errors.As(err, c.want) || !errors.As(of.Status().LastError, c.want) {
				t.Errorf("%s, %s: the call says %v, the status %v; want %T", system, kind, err, of.Status().LastError, c.want)
			}
			if err := of.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRowThatIsGoneEndsCallsAtOnce says why, instead of waiting for a store that is not away.
func TestRowThatIsGoneEndsCallsAtOnce(t *testing.T) {
	db, _, _ := tiny(t)
	tinyRow(t, db, "orders", 0, 1, 1, 0)
	tickets := counter.NewTickets(openTiny(t, db, "orders"), counter.Config{Name: "orders"})
	t.Cleanup(func() { _ = tickets.Close(context.Background()) })
	if _, err := tickets.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, db, "DELETE FROM tiny_id_info")
	if _, err := tickets.Next(t.Context()); !errors.Is(err, tinyid.ErrUnknownBizType) || errors.Is(err, counter.ErrUnavailable) {
		t.Errorf("without its row: %v", err)
	}
}
