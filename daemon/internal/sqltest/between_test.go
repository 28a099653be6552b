//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/storetest"
)

// replicaIsNotRead puts a replica in the primary's place, of which the store does
// not learn by connecting: by a go-between that splits reads from writes, as it
// were, or by replacing the primary under a connection that stays.
func replicaIsNotRead(t *testing.T, s sqlServer, server *testkit.Server) {
	var client store.Store
	var replace, restore func()
	if s.scheme == "mysql" {
		db := s.administer(t, server)
		client = s.client(t, s.url("table=replaced", server.Addr()))
		replace = func() { do(t, db, "SET GLOBAL read_only = ON") }
		restore = func() { do(t, db, "SET GLOBAL read_only = OFF") }
	} else {
		standby := testkit.PostgresStandbyOf(t, server)
		s.refused(t, s.url("loss=1m", standby.Addr()), "standby")
		proxy := testkit.NewProxy(t, server.Addr())
		route := func(to *testkit.Server) { proxy.SetTarget(to.Addr()); proxy.ResetAll() }
		db, err := sql.Open("pgx", s.url("sslmode=disable", proxy.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if client, err = sqlstore.Open(t.Context(), sqlstore.Config{DB: db, Dialect: sqlstore.PostgreSQL, Table: "replaced"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		replace, restore = func() { route(standby) }, func() { route(server) }
	}
	if _, err := client.Swap(t.Context(), "register", "", []byte("value")); err != nil {
		t.Fatal(err)
	}
	defer restore()
	for _, key := range []string{"register", "absent"} {
		replace()
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
		restore()
		testkit.Eventually(t, func(ctx context.Context) error {
			_, err := client.Get(ctx, "register")
			return err
		})
	}
}

// standbyWait makes commits wait for a standby that does not exist, and ends it. A
// statement's time limit must not end it, so there is one.
type standbyWait struct{ begin, end, limit, unlimited []string }

var standbyWaits = map[string]standbyWait{
	"postgres": {
		begin:     []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"},
		end:       []string{"ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"},
		limit:     []string{"ALTER DATABASE snowfence SET statement_timeout = '500ms'"},
		unlimited: []string{"ALTER DATABASE snowfence RESET statement_timeout"},
	},
	"mysql": {
		begin:     []string{"SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'", "SET GLOBAL rpl_semi_sync_master_timeout = 86400000", "SET GLOBAL rpl_semi_sync_master_enabled = ON"},
		end:       []string{"SET GLOBAL rpl_semi_sync_master_enabled = OFF"},
		limit:     []string{"SET GLOBAL max_statement_time = 0.5"},
		unlimited: []string{"SET GLOBAL max_statement_time = 0"},
	},
}

// commitThatWaitsIsNotShown gives up a swap that waits for a
// standby which does not exist. If it was cancelled then, everybody would see
// it, though a failover would still take it away.
func commitThatWaitsIsNotShown(t *testing.T, s sqlServer, server *testkit.Server) {
	addresses := map[string]string{"waiting": server.Addr()}
	if s.scheme == "postgres" {
		addresses["waiting_by_a_pooler"] = testkit.PgBouncer(t, server, "transaction").Addr()
	}
	for table, address := range addresses {
		t.Run(table, func(t *testing.T) { s.commitThatWaits(t, server, address, table) })
	}
}

// commitThatWaits is commitThatWaitsIsNotShown for an address of the server.
func (s sqlServer) commitThatWaits(t *testing.T, server *testkit.Server, address, table string) {
	db, w := s.administer(t, server), standbyWaits[s.scheme]
	do(t, db, w.limit...)
	defer do(t, db, w.unlimited...)
	client := s.client(t, s.url("durable=true&table="+table, address))
	before, err := client.Swap(t.Context(), "register", "", []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	// Also when the test fails: whatever is committed after it would wait.
	defer do(t, db, w.end...)
	do(t, db, w.begin...)
	// It is in force once a commit waits.
	tries := 0
	testkit.Eventually(t, func(ctx context.Context) error {
		tries++
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := client.Swap(short, fmt.Sprint("try-", tries), "", nil); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a swap does not wait for a standby: %w", err)
		}
		return nil
	})
	if err := bounded(t, 300*time.Millisecond, func(ctx context.Context) error {
		_, err := client.Swap(ctx, "register", before, []byte("after"))
		return err
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a swap that waits for a standby: %v", err)
	}
	end := time.NewTimer(time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for looking := true; looking; {
		e, err := client.Get(t.Context(), "register")
		if err != nil || e.Version != before {
			t.Fatalf("a swap that still waits is shown: %q (%v)", e.Value, err)
		}
		select {
		case <-tick.C:
		case <-end.C:
			looking = false
		}
	}
	do(t, db, w.end...)
	testkit.Eventually(t, func(ctx context.Context) error {
		e, err := client.Get(ctx, "register")
		if err == nil && string(e.Value) != "after" {
			err = errors.New("the swap is not shown")
		}
		return err
	})
}

func poolerMayStandBetween(t *testing.T, s sqlServer, server *testkit.Server) {
	if s.scheme == "mysql" {
		return // PgBouncer is PostgreSQL's
	}
	for _, mode := range []string{"session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			pooler := testkit.PgBouncer(t, server, mode)
			storetest.Run(t, storetest.Harness{Open: opens(s.url("table=pooled_"+mode+"&durable=true", pooler.Addr()))})
		})
	}
}
