//go:build servers

package sqltest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

// total is how many reservations are made of one row or key, half of them by the original's
// statements. Zero means as many as each test says, so that it takes seconds.
var total = flag.Int("schemas.reservations", 0, "reservations of each row or key; the long run has 100000")

// writers is how many there are of each side.
const writers = 8

// A draw makes one reservation.
type draw func(context.Context) (counter.Range, error)

// contend lets writers of both sides reserve at the same time, and returns an error if two ranges
// have a number in common. Each writer is made by a call of its own, as in a process of its own.
func contend(t *testing.T, reservations int, theirs, ours func(n int) draw) {
	t.Helper()
	reservations = cmp.Or(*total, reservations)
	var mu sync.Mutex
	var all [2][]counter.Range
	var errs []error
	var wait sync.WaitGroup
	for side, opened := range []func(int) draw{theirs, ours} {
		for n := range writers {
			reserve := opened(n)
			wait.Go(func() {
				var got []counter.Range
				var err error
				for range reservations / 2 / writers {
					var r counter.Range
					if r, err = reserve(t.Context()); err != nil {
						break
					}
					got = append(got, r)
				}
				mu.Lock()
				defer mu.Unlock()
				all[side], errs = append(all[side], got...), append(errs, err)
			})
		}
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	numbers, err := apart(slices.Concat(all[0], all[1]))
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d reservations by the original's statements, %d by ours: %d numbers, none twice", len(all[0]), len(all[1]), numbers)
}

// apart returns how many numbers the ranges have, and an error if one of them is there twice.
func apart(ranges []counter.Range) (numbers int64, err error) {
	slices.SortFunc(ranges, func(a, b counter.Range) int { return cmp.Compare(a.First, b.First) })
	for i, r := range ranges {
		if r.Count < 1 {
			return 0, fmt.Errorf("a range without numbers: %+v", r)
		}
		if numbers += r.Count; i > 0 && r.First <= ranges[i-1].Last() {
			return 0, fmt.Errorf("%+v and %+v overlap", ranges[i-1], r)
		}
	}
	return numbers, nil
}

// few is a need of n numbers.
func few(n int64) func() int64 { return func() int64 { return n } }

// cutter cuts a connection when the next COMMIT has taken effect, before its reply is read.
type cutter struct{ armed atomic.Bool }

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, network, address)
	return &watched{connection, c}, err
}

type watched struct {
	net.Conn
	cutter *cutter
}

var commit = regexp.MustCompile(`(?i)\bcommit\b`)

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if commit.Match(b) && w.cutter.armed.CompareAndSwap(true, false) {
		_, _ = w.Read(make([]byte, 1)) // the reply begins
		_ = w.Close()
	}
	return n, err
}

// home is a database of a server.
type home struct{ address, database string }

// homeOf is the database that every server has.
func homeOf(s *testkit.Server) home { return home{s.Addr(), testkit.SQLDatabase} }

// sharedHome makes a database on a server that others use, too. Its commits are not synced: rules about
// concurrency are not about crashes.
func sharedHome(t *testing.T, kind string) home {
	t.Helper()
	s, server := sqlServers[kind].own(t, hasty)
	return home{server.Addr(), s.database}
}

// mariaDB opens a database. Parameters, such as autocommit, are set on each
// connection.
func mariaDB(t *testing.T, h home, c *cutter, parameters map[string]string) *sql.DB {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = testkit.SQLUser, testkit.SQLPassword, h.database
	config.Net, config.Addr, config.Params = "tcp", h.address, parameters
	config.Logger = &mysql.NopLogger{}
	config.InterpolateParams = true // one message a statement
	if c != nil {
		config.DialFunc = c.dial
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	return pool(t, sql.OpenDB(connector))
}

// postgres opens a database.
func postgres(t *testing.T, h home, c *cutter) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(testkit.SQLURL("postgres", h.address, h.database) + "?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		config.DialFunc = c.dial
	}
	return pool(t, stdlib.OpenDB(*config))
}

func pool(t *testing.T, db *sql.DB) *sql.DB {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(2 * writers)
	db.SetMaxIdleConns(2 * writers)
	return db
}

// must runs a statement.
func must(t *testing.T, db *sql.DB, statement string, arguments ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, arguments...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// number reads a number.
func number(t *testing.T, db *sql.DB, query string, arguments ...any) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, arguments...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// inTransaction runs statements in one transaction.
func inTransaction(ctx context.Context, db *sql.DB, options *sql.TxOptions, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// drawTickets draws tickets in three processes with four callers each, and notes when each was
// asked for and when it came.
func drawTickets(t *testing.T, open func() counter.Source) (all []countertest.Drawn) {
	t.Helper()
	clock := snowfence.SystemClock()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 3 {
		tickets := counter.NewTickets(open(), counter.Config{Name: "orders"})
		t.Cleanup(func() { _ = tickets.Close(context.Background()) })
		for range 4 {
			wait.Go(func() {
				for range 100 {
					begun := clock.Monotonic()
					id, err := tickets.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					all = append(all, countertest.Drawn{Number: int64(id), Begun: begun, End: clock.Monotonic()})
					mu.Unlock()
				}
			})
		}
	}
	wait.Wait()
	return all
}
