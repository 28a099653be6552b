package openstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// How fast counters are, in interleaved rounds, with every round printed:
//
//	make counters

const (
	counterRounds = 5
	counterSlot   = 400 * time.Millisecond
)

// contender does its work until stop is set, and returns how often it did it.
type contender struct {
	name string
	work func(stop *atomic.Bool) (n int64, err error)
}

// race runs the contenders in turn and prints each round, and the medians as ratios to the
// first one.
func race(b *testing.B, title string, contenders []contender) {
	b.Helper()
	rates := make([][]float64, len(contenders))
	for range counterRounds {
		for i, c := range contenders {
			var stop atomic.Bool
			timer := time.AfterFunc(counterSlot, func() { stop.Store(true) })
			begun := time.Now()
			n, err := c.work(&stop)
			took := time.Since(begun)
			timer.Stop()
			if err != nil {
				b.Fatalf("%s: %s: %v", title, c.name, err)
			}
			rates[i] = append(rates[i], float64(n)/took.Seconds())
		}
	}
	first := median(rates[0])
	for i, c := range contenders {
		b.Logf("%-10s %-34s %8.2f of the first, %11.0f a second; rounds %.0f", title, c.name, median(rates[i])/first, median(rates[i]), rates[i])
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// BenchmarkCountersInMemory is a number of a segment beside a bare atomic addition.
func BenchmarkCountersInMemory(b *testing.B) {
	s, err := counter.OpenSegments(b.Context(), counter.SegmentsConfig{
		Config: counter.Config{Store: memstore.New().Client(), Name: "users"}, Step: 1_000_000, MostStep: 100_000_000, Target: time.Second,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background()) //nolint:errcheck // it ends with the benchmark
	var bare atomic.Int64
	race(b, "memory", []contender{
		{"bare atomic addition", func(stop *atomic.Bool) (n int64, err error) {
			for ; !stop.Load(); n += 1000 {
				for range 1000 {
					bare.Add(1)
				}
			}
			return n, nil
		}},
		{"number of a segment", func(stop *atomic.Bool) (n int64, err error) {
			for ; !stop.Load(); n += 1000 {
				for range 1000 {
					if _, err := s.Next(b.Context()); err != nil {
						return n, err
					}
				}
			}
			return n, nil
		}},
	})
}

// BenchmarkCountersOfASlowStore draws a million numbers a second from a store that is 50 ms
// away, and prints the longest stall of each second.
func BenchmarkCountersOfASlowStore(b *testing.B) {
	away := faultstore.New(memstore.New().Client(), faultstore.Always(faultstore.Fault{Delay: 25 * time.Millisecond, ReplyDelay: 25 * time.Millisecond}), nil)
	s, err := counter.OpenSegments(b.Context(), counter.SegmentsConfig{Config: counter.Config{Store: away, Name: "users"}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background()) //nolint:errcheck // it ends with the benchmark
	ids := make([]snowfence.ID, 10_000) // of 10 ms
	begun, late := time.Now(), time.Duration(0)
	for i := range 1500 {
		if i%100 == 0 && i > 0 {
			b.Logf("second %2d: the longest call of 10,000 numbers took %s", i/100, late.Round(10*time.Microsecond))
			late = 0
		}
		due := begun.Add(time.Duration(i) * 10 * time.Millisecond)
		if wait := time.Until(due); wait > 0 {
			timer := time.NewTimer(wait)
			<-timer.C
		} else {
			begun = begun.Add(-wait) // a stall is not caught up
		}
		call := time.Now()
		if err := s.Fill(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
		late = max(late, time.Since(call))
	}
}

// BenchmarkCountersBesideDatabases is tickets beside the bare compare-and-swap of the same
// engine, PostgreSQL's nextval and Flickr's REPLACE.
func BenchmarkCountersBesideDatabases(b *testing.B) {
	for name, peer := range map[string]struct {
		driver, create, statement, title string
	}{
		"postgres": {"pgx", "CREATE SEQUENCE IF NOT EXISTS peer", "SELECT nextval('peer')", "nextval"},
		"mysql": {
			"mysql", "CREATE TABLE IF NOT EXISTS Tickets64 (id bigint unsigned NOT NULL auto_increment, stub char(1) NOT NULL, PRIMARY KEY (id), UNIQUE KEY stub (stub)) ENGINE=InnoDB",
			"REPLACE INTO Tickets64 (stub) VALUES ('a')", "REPLACE, Flickr's ticket",
		},
	} {
		b.Run(name, func(b *testing.B) {
			e := testkit.StartEngine(b, name)
			s, err := openstore.Open(b.Context(), e.URL("", 0))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // it ends with the benchmark
			source := fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", url.UserPassword(testkit.SQLUser, testkit.SQLPassword), e.Server.Addr(), testkit.SQLDatabase)
			if name == "mysql" {
				source = fmt.Sprintf("%s:%s@tcp(%s)/%s", testkit.SQLUser, testkit.SQLPassword, e.Server.Addr(), testkit.SQLDatabase)
			}
			db, err := sql.Open(peer.driver, source)
			if err == nil {
				_, err = db.ExecContext(b.Context(), peer.create)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close() //nolint:errcheck // it ends with the benchmark
			tickets, err := counter.OpenTickets(b.Context(), counter.Config{Store: s, Name: "tickets"})
			if err != nil {
				b.Fatal(err)
			}
			race(b, name, []contender{
				{"bare compare-and-swap", bareSwaps(b, s)},
				{"ticket, one caller", callers(1, func() error { _, err := tickets.Next(b.Context()); return err })},
				{"ticket, 64 callers", callers(64, func() error { _, err := tickets.Next(b.Context()); return err })},
				{peer.title + ", one connection", callers(1, func() error { _, err := db.ExecContext(b.Context(), peer.statement); return err })},
			})
		})
	}
}

// callers make calls at the same time.
func callers(n int, call func() error) func(*atomic.Bool) (int64, error) {
	return func(stop *atomic.Bool) (int64, error) {
		var total atomic.Int64
		var fault atomic.Pointer[error]
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				for !stop.Load() {
					if err := call(); err != nil {
						fault.Store(&err)
						return
					}
					total.Add(1)
				}
			})
		}
		all.Wait()
		if err := fault.Load(); err != nil {
			return 0, *err
		}
		return total.Load(), nil
	}
}

// bareSwaps swaps one register, with a value as long as a counter's.
func bareSwaps(b *testing.B, s store.Store) func(*atomic.Bool) (int64, error) {
	b.Helper()
	var version store.Version
	value := make([]byte, 500)
	return func(stop *atomic.Bool) (n int64, err error) {
		for ; !stop.Load(); n++ {
			_, _ = rand.Read(value) // it never fails
			if version, err = s.Swap(b.Context(), "bench/bare", version, value); err != nil {
				return n, err
			}
		}
		return n, nil
	}
}
