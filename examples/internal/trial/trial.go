// Package trial fills a table of a real PostgreSQL and of a real MariaDB from many goroutines,
// as each example does it, and holds the table to the ids that were minted. It also runs each program.
package trial

import (
	"context"
	"database/sql"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // testkit connects by it
	_ "github.com/jackc/pgx/v5/stdlib" // testkit connects by it

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/keys"
	"snowfence.example/snowfence/store/memstore"
)

// Shop is a new database, and rules for its columns orders.id and lines.id.
type Shop struct {
	Scheme  string // "postgres" or "mysql"
	Address string // the database's URL
	DB      *sql.DB
	Rules   *keys.Rules

	minted *recorder
}

// Insert inserts n rows into the table orders, a single one by the shortest way, and returns the
// ids by which the program then knows them.
type Insert func(ctx context.Context, n int) ([]snowfence.ID, error)

const (
	goroutines = 8
	batch      = 124 // rows inserted together; each goroutine puts a single one between two batches
	rounds     = 100
	rows       = goroutines * rounds * (1 + batch) // 100,000
)

// Run has open make the tables of a new shop, on each kind of server, and return how to insert
// rows. It inserts 100,000 of them by 8 goroutines, and checks the result.
func Run(t *testing.T, open func(*testing.T, *Shop) Insert) {
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			s := newShop(t, scheme)
			insert := open(t, s)
			begun := time.Now()
			var group sync.WaitGroup
			returned := make([][]snowfence.ID, goroutines)
			for g := range goroutines {
				group.Go(func() {
					for i := range 2 * rounds {
						ids, err := insert(t.Context(), []int{1, batch}[i%2])
						if err != nil {
							t.Errorf("insert: %v", err)
							return
						}
						returned[g] = append(returned[g], ids...)
					}
				})
			}
			group.Wait()
			took := time.Since(begun)
			s.check(t, slices.Concat(returned...))
			t.Logf("%d rows by %d goroutines in %v", rows, goroutines, took.Round(time.Millisecond))
		})
	}
}

// newShop starts a server, and a holder whose registers are in memory.
func newShop(t *testing.T, scheme string) *Shop {
	t.Helper()
	address, db := testkit.SQL(t, scheme)
	db.SetMaxIdleConns(goroutines)
	holder, err := fence.Open(t.Context(), fence.Config{Store: memstore.New().Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := holder.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	minted := &recorder{source: holder, ids: map[snowfence.ID]bool{}}
	rules, err := keys.New(map[string]keys.Source{"orders.id": minted, "lines.id": holder})
	if err != nil {
		t.Fatal(err)
	}
	return &Shop{Scheme: scheme, Address: address, DB: db, Rules: rules, minted: minted}
}

// check reads the table. It has as many rows as were inserted. Each id is a minted one, is found
// once, and is one that the program knows.
func (s *Shop) check(t *testing.T, returned []snowfence.ID) {
	t.Helper()
	known := make(map[snowfence.ID]bool, len(returned))
	for _, id := range returned {
		known[id] = true
	}
	found, err := s.DB.QueryContext(t.Context(), "SELECT id FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	n := 0
	for ; found.Next(); n++ {
		var id snowfence.ID
		if err := found.Scan(&id); err != nil {
			t.Fatal(err)
		}
		if id == 0 {
			t.Error("a row has the id 0")
		}
		if !s.minted.ids[id] {
			t.Errorf("id %d was not minted, or is in the table twice", id)
		}
		if !known[id] {
			t.Errorf("id %d is in the table, and the program knows another one", id)
		}
		delete(s.minted.ids, id)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	if n != rows || len(s.minted.ids) > 0 {
		t.Errorf("%d rows, want %d; %d ids were minted and are in no row", n, rows, len(s.minted.ids))
	}
}

// recorder is a source that remembers what it gave.
type recorder struct {
	source keys.Source
	mu     sync.Mutex
	ids    map[snowfence.ID]bool
}

func (r *recorder) Next(ctx context.Context) (snowfence.ID, error) {
	var one [1]snowfence.ID
	err := r.Fill(ctx, one[:])
	return one[0], err
}

func (r *recorder) Fill(ctx context.Context, ids []snowfence.ID) error {
	if err := r.source.Fill(ctx, ids); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.ids[id] = true
	}
	return nil
}

// RunTwice runs a program that writes three orders, twice against one database. Six rows must have
// a key then.
func RunTwice(t *testing.T, run func(out io.Writer, address string) error) {
	t.Helper()
	address, db := testkit.SQL(t, "postgres")
	for range 2 {
		var out strings.Builder
		if err := run(&out, address+"?sslmode=disable"); err != nil {
			t.Fatal(err)
		}
		t.Log(out.String())
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders WHERE id > 0").Scan(&n); err != nil || n != 6 {
		t.Errorf("%d rows with a key, error %v; want 6", n, err)
	}
}
