//go:build servers

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/storetest"
)

// patience is how long a call waits that must not get through.
const patience = 200 * time.Millisecond

// bounded runs f until patience is over.
func bounded(t *testing.T, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return f(ctx)
}

// TestReplicaIsNotRead puts a replica in the primary's place, which the store can't notice by connecting:
// a proxy that splits reads from writes, or a primary that is replaced under a connection that stays.
func TestReplicaIsNotRead(t *testing.T) {
	onCareful(t, func(t *testing.T, s sqlServer) {
		var client store.Store
		var become, back func()
		if s.scheme == "mysql" {
			client = servertest.Opened(t, openstore.Open, s.url(""))
			become = func() { do(t, s.admin(t), "SET GLOBAL read_only = ON") }
			back = func() { do(t, s.admin(t), "SET GLOBAL read_only = OFF") }
		} else {
			s = postgreSQL.on(s.start(t)) // the standby has room for as many connections
			standby := testkit.PostgresStandbyOf(t, s.server)
			refused(t, s.on(standby).url("loss=1m"), "standby")
			proxy := testkit.NewProxy(t, s.server.Addr())
			client = servertest.Opened(t, sqlstore.Open, sqlstore.Config{Dialect: s.dialect, DB: s.connect(t, login{address: proxy.Addr()})})
			become = func() { proxy.SetTarget(standby.Addr()); proxy.ResetAll() }
			back = func() { proxy.SetTarget(s.server.Addr()); proxy.ResetAll() }
		}
		servertest.Swap(t, client, "register", "", "value")
		defer back()
		for _, key := range []string{"register", "absent"} {
			become()
			testkit.Eventually(t, func(ctx context.Context) error {
				e, err := client.Get(ctx, key)
				if err == nil || errors.Is(err, store.ErrNotFound) {
					t.Fatalf("a replica is believed, %s: %q (%v)", key, e.Value, err)
				}
				// The connection is broken at first.
				var unfit *sqlstore.ServerError
				if !errors.As(err, &unfit) || !strings.Contains(err.Error(), "a replica answered") {
					return err
				}
				return nil
			})
			back()
			testkit.Eventually(t, func(ctx context.Context) error { _, err := client.Get(ctx, "register"); return err })
		}
	})
}

// TestCommitThatWaitsIsNotShown gives up a swap that waits for a standby which does not exist. If it was cancelled then,
// everybody would see it, though a failover would still take it away. A statement's time limit must not end it either.
func TestCommitThatWaitsIsNotShown(t *testing.T) {
	waits := map[string]struct{ begin, end, limit, unlimited string }{
		"postgres": {
			"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "ALTER SYSTEM SET synchronous_standby_names = ''",
			"ALTER DATABASE HOME SET statement_timeout = '500ms'", "ALTER DATABASE HOME RESET statement_timeout",
		},
		"mysql": {
			"SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'; SET GLOBAL rpl_semi_sync_master_timeout = 86400000; SET GLOBAL rpl_semi_sync_master_enabled = ON",
			"SET GLOBAL rpl_semi_sync_master_enabled = OFF; SET GLOBAL rpl_semi_sync_master_wait_point = DEFAULT; SET GLOBAL rpl_semi_sync_master_timeout = DEFAULT",
			"SET GLOBAL max_statement_time = 0.5", "SET GLOBAL max_statement_time = 0",
		},
	}
	onCareful(t, func(t *testing.T, s sqlServer) {
		db, w, addresses := s.admin(t), waits[s.scheme], map[string]string{"waiting": s.server.Addr()}
		reload := "SELECT 1"
		if s.scheme == "postgres" {
			reload, addresses["waiting_by_a_pooler"] = "SELECT pg_reload_conf()", testkit.PgBouncer(t, s.server, "transaction").Addr()
		}
		set := func(statement string) { do(t, db, strings.ReplaceAll(statement, "HOME", s.database), reload) }
		set(w.limit)
		defer set(w.unlimited)
		for table, address := range addresses {
			client := servertest.Opened(t, openstore.Open, s.urlOf(testkit.SQLUser, "durable=true&table="+table, address))
			before := servertest.Swap(t, client, "register", "", "before")
			wait := func() {
				defer set(w.end) // also when the test fails: every later commit would wait
				set(w.begin)
				tries := 0
				testkit.Eventually(t, func(context.Context) error { // it is in force once a commit waits
					tries++
					err := bounded(t, func(ctx context.Context) error {
						_, err := client.Swap(ctx, fmt.Sprint("try-", tries), "", nil)
						return err
					})
					if !errors.Is(err, context.DeadlineExceeded) {
						return fmt.Errorf("a swap does not wait for a standby: %w", err)
					}
					return nil
				})
				if err := bounded(t, func(ctx context.Context) error {
					_, err := client.Swap(ctx, "register", before, []byte("after"))
					return err
				}); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("a swap that waits for a standby: %v", err)
				}
				end := time.NewTimer(time.Second) // longer than a statement may take
				for looking := true; looking; {
					if e, err := client.Get(t.Context(), "register"); err != nil || e.Version != before {
						t.Fatalf("a swap that still waits is shown: %q (%v)", e.Value, err)
					}
					select {
					case <-end.C:
						looking = false
					case <-time.After(20 * time.Millisecond):
					}
				}
			}
			for shown := false; !shown; { // on a busy machine a swap may end on its way to the server
				wait()
				before, shown = outcome(t, client, before)
			}
		}
	})
}

// outcome reports whether the swap of "after" has taken effect, and returns the present version. It swaps once more, so that a
// swap that never came to the server has no effect later.
func outcome(t *testing.T, client store.Store, before store.Version) (present store.Version, shown bool) {
	t.Helper()
	testkit.Eventually(t, func(ctx context.Context) error {
		if _, err := client.Swap(ctx, "register", before, []byte("before")); err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
		e, err := client.Get(ctx, "register")
		present, shown = e.Version, string(e.Value) == "after"
		return err
	})
	return present, shown
}

func TestPoolerMayStandBetween(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := postgreSQL.within(t, postgreSQL.careful())
			pooler := testkit.PgBouncer(t, s.server, mode)
			storetest.Run(t, storetest.Harness{Open: opens(s.urlOf(testkit.SQLUser, "durable=true", pooler.Addr()))})
		})
	}
}

// TestNextHostTakesOver makes the first of two servers refuse writes, as a primary does that was replaced.
func TestNextHostTakesOver(t *testing.T) {
	eachSQL(t, func(t *testing.T, s sqlServer) {
		first := s.within(t, s.hasty())
		second := s.on(s.careful())
		do(t, second.admin(t), "CREATE DATABASE "+first.database)
		second.database = first.database
		onSecond := servertest.Opened(t, openstore.Open, second.url("loss=1m")) // makes the table, as replication would
		user := first.clerk(t, "CREATE")
		second.clerk(t, "CREATE")
		gone := fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
		both := first.urlOf(user, "loss=1m", gone, first.server.Addr(), second.server.Addr())
		client := servertest.Opened(t, openstore.Open, both)
		version := servertest.Swap(t, client, "register", "", "on the first")
		reader := servertest.Opened(t, openstore.Open, both)
		if e, err := reader.Get(t.Context(), "register"); err != nil || e.Version != version {
			t.Fatalf("the first server has %q (%v)", e.Value, err)
		}
		if s.scheme == "mysql" {
			do(t, first.admin(t), "SET GLOBAL read_only = ON")
			defer do(t, first.admin(t), "SET GLOBAL read_only = OFF")
			// One who only reads learns by an error, and asks the next one.
			_, err := reader.Get(t.Context(), "register")
			if _, again := reader.Get(t.Context(), "register"); err == nil || !errors.Is(again, store.ErrNotFound) {
				t.Errorf("read from the first server: %v, then %v, want %v", err, again, store.ErrNotFound)
			}
		} else {
			do(t, first.admin(t), "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
			defer do(t, first.admin(t), "SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
		}
		// The client holds a connection to the first server still, and learns by being refused.
		testkit.Eventually(t, func(ctx context.Context) error {
			next, err := client.Swap(ctx, "register", version, []byte("on the first, too late"))
			if errors.Is(err, store.ErrConflict) {
				return nil // the second server has no such register
			}
			if err == nil {
				version = next
				err = errors.New("the first server still takes writes")
			}
			return err
		})
		servertest.Swap(t, client, "register", "", "on the second")
		if e, err := onSecond.Get(t.Context(), "register"); err != nil || string(e.Value) != "on the second" {
			t.Errorf("the second server has %q (%v)", e.Value, err)
		}
	})
}

// TestSwapThatRunsOutOfTimeIsNoConflict gives up a swap that waits for the lock of its
// row. Whether it takes effect is open, and remains so until the lock is free.
func TestSwapThatRunsOutOfTimeIsNoConflict(t *testing.T) {
	t.Parallel()
	onCareful(t, func(t *testing.T, s sqlServer) {
		client := servertest.Opened(t, openstore.Open, s.url("table=locked"))
		before := servertest.Swap(t, client, "register", "", "before")
		lock, err := s.admin(t).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lock.Rollback() }()
		if _, err := lock.ExecContext(t.Context(), "SELECT * FROM locked FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		if err := bounded(t, func(ctx context.Context) error {
			_, err := client.Swap(ctx, "register", before, []byte("after"))
			return err
		}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap that waits for a lock: %v, want %v", err, context.DeadlineExceeded)
		}
		if e, err := client.Get(t.Context(), "register"); err != nil || e.Version != before {
			t.Errorf("a swap that still waits is shown: %q (%v)", e.Value, err)
		}
	})
}

// TestOtherIsolationLevelWillDo uses the level that is the other server's default.
func TestOtherIsolationLevelWillDo(t *testing.T) {
	eachSQL(t, func(t *testing.T, s sqlServer) {
		s = s.within(t, s.hasty())
		set, reset := "ALTER DATABASE "+s.database+" SET default_transaction_isolation = 'repeatable read'", "SELECT 1"
		if s.scheme == "mysql" {
			set, reset = "SET GLOBAL tx_isolation = 'READ-COMMITTED'", "SET GLOBAL tx_isolation = DEFAULT"
		}
		do(t, s.admin(t), set)
		defer do(t, s.admin(t), reset)
		storetest.Run(t, storetest.Harness{
			Open:  opens(s.url("loss=1m")),
			Flaky: s.scheme == "postgres", // a swap that comes second may fail instead of conflict
		})
	})
}

func TestClockIsRightInEveryTimeZone(t *testing.T) {
	onCareful(t, func(t *testing.T, s sqlServer) {
		set, reset := "ALTER DATABASE "+s.database+" SET timezone = 'Asia/Kathmandu'", "SELECT 1"
		if s.scheme == "mysql" {
			set, reset = "SET GLOBAL time_zone = '-11:30'", "SET GLOBAL time_zone = DEFAULT"
		}
		do(t, s.admin(t), set)
		defer do(t, s.admin(t), reset)
		now, err := servertest.Opened(t, openstore.Open, s.url("")).(store.Clock).Now(t.Context())
		if off := time.Since(now); err != nil || off.Abs() > 5*time.Second {
			t.Errorf("the clock is off by %v: %v (%v)", off, now, err)
		}
	})
}

// TestPoolOfTheCallersServes uses drivers as they come: pgx prepares and caches statements, go-sql-driver prepares each,
// and counts found rows.
func TestPoolOfTheCallersServes(t *testing.T) {
	t.Parallel()
	onCareful(t, func(t *testing.T, s sqlServer) {
		query := ""
		if s.scheme == "mysql" {
			query = "interpolateParams=false&multiStatements=false&clientFoundRows=true&parseTime=true&loc=Asia%2FKathmandu&charset=latin1"
		}
		db := s.connect(t, login{query: query})
		open := servertest.Opener(func(ctx context.Context, _ string) (*sqlstore.Store, error) {
			return sqlstore.Open(ctx, sqlstore.Config{DB: db, Dialect: s.dialect, Durable: true, Driver: sqlstore.Driver{Duplicate: duplicateKey}})
		})
		storetest.Run(t, storetest.Harness{Open: func(ctx context.Context) (store.Store, error) { return open(ctx, "") }})
		if err := db.PingContext(t.Context()); err != nil {
			t.Errorf("the caller's pool after the stores were closed: %v", err)
		}
	})
}

// TestCallThatGotNoConnectionSaysThatThePoolIsEmpty lends the only connection of a pool to somebody else.
func TestCallThatGotNoConnectionSaysThatThePoolIsEmpty(t *testing.T) {
	t.Parallel()
	onCareful(t, func(t *testing.T, s sqlServer) {
		db := s.admin(t)
		db.SetMaxOpenConns(1)
		config := sqlstore.Config{Dialect: s.dialect, DB: db, Driver: sqlstore.Driver{Duplicate: duplicateKey}}
		client := servertest.Opened(t, sqlstore.Open, config)
		lent, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer lent.Close() //nolint:errcheck // the test is over
		for name, call := range map[string]func(context.Context) error{
			"get":  func(ctx context.Context) error { _, err := client.Get(ctx, "key"); return err },
			"swap": func(ctx context.Context) error { _, err := client.Swap(ctx, "key", "", nil); return err },
			"now":  func(ctx context.Context) error { _, err := client.Now(ctx); return err },
			"list": func(ctx context.Context) error { return servertest.Listed(ctx, client, "", nil) },
			"open": func(ctx context.Context) error { _, err := sqlstore.Open(ctx, config); return err },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			before, result := db.Stats().WaitCount, make(chan error, 1)
			go func() { result <- call(ctx) }()
			for db.Stats().WaitCount == before { // until it waits
				runtime.Gosched()
			}
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "all 1 connections of the pool are in use: give it a pool of its own, or a larger one") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
