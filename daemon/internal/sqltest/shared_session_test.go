//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
)

// A change is what another client of a shared session does to it.
type change struct {
	name string
	set  []string
	want string // in the error of a swap and of a read; "" if both do their work all the same
	undo []string
}

var changes = map[string][]change{
	"postgres": {
		{"commits that are not synced", []string{"SET synchronous_commit = off"}, "synchronous_commit is off", []string{"RESET synchronous_commit"}},
		{"commits that only this server syncs", []string{"SET synchronous_commit = local"}, "", []string{"RESET synchronous_commit"}},
		{"another schema", []string{"SET search_path = other, pg_catalog"}, "", []string{"RESET search_path"}},
		{"a temporary table", []string{"CREATE TEMPORARY TABLE snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)"}, "", []string{"DROP TABLE pg_temp.snowfence_registers"}},
		{"a strict isolation level", []string{"SET default_transaction_isolation = serializable"}, "", []string{"RESET default_transaction_isolation"}},
		{"nothing but reads", []string{"SET default_transaction_read_only = on"}, "read", []string{"RESET default_transaction_read_only"}},
		{"another role", []string{"SET ROLE other"}, "role is other", []string{"RESET ROLE"}},
		{"a role without rights", []string{"SET ROLE bare"}, "SET ROLE", []string{"RESET ROLE"}},
		{"damage that reads as nothing", []string{"SET zero_damaged_pages = on"}, "zero_damaged_pages is on", []string{"RESET zero_damaged_pages"}},
	},
	"mysql": {
		{"commits that never come", []string{"SET autocommit = 0"}, "autocommit is OFF", []string{"SET autocommit = 1"}},
		{"a transaction that was left open", []string{"START TRANSACTION"}, "in_transaction is 1", []string{"ROLLBACK"}},
		{"no binary log", []string{"SET sql_log_bin = 0"}, "sql_log_bin", []string{"SET sql_log_bin = 1"}},
		{"reads of what is not committed", []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"}, "READ-UNCOMMITTED", []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}},
		{"another level", []string{"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"}, "", []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}},
		{"nothing but reads", []string{"SET SESSION TRANSACTION READ ONLY"}, "read", []string{"SET SESSION TRANSACTION READ WRITE"}},
		{"another database", []string{"USE other"}, "", []string{"USE HOME"}},
		{"another sql_mode", []string{"SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'"}, "", []string{"SET sql_mode = DEFAULT"}},
		{"another time zone", []string{"SET time_zone = '+13:00'"}, "", []string{"SET time_zone = DEFAULT"}},
		{"statements in the binary log", []string{"SET binlog_format = STATEMENT"}, "binlog_format is STATEMENT", []string{"SET binlog_format = DEFAULT"}},
	},
}

// shared is a pool whose few sessions another client uses too.
type shared struct {
	store    *sqlstore.Store
	url      string  // of the pooler, of PostgreSQL
	sessions *sql.DB // through it, or the store's own pool
	n        int     // sessions
}

// share makes a store and its neighbour: behind PgBouncer in transaction mode, or in one pool of a program.
func (s sqlServer) share(t *testing.T, server *testkit.Server) shared {
	t.Helper()
	if s.scheme == "mysql" {
		_, db := s.pooled(t, server, sqlstore.Config{})
		db.SetMaxOpenConns(3)
		db.SetMaxIdleConns(3)
		client, err := sqlstore.Open(t.Context(), sqlstore.Config{DB: db, Dialect: sqlstore.MySQL, Durable: true, Driver: sqlstore.Driver{Duplicate: duplicateKey}})
		if err != nil {
			t.Fatal(err)
		}
		return shared{store: client, sessions: db, n: 3}
	}
	pooler := testkit.PgBouncer(t, server, "transaction")
	storeURL := s.url("durable=true", pooler.Addr())
	client := s.client(t, storeURL).(*sqlstore.Store)
	db, err := sql.Open("pgx", s.url("sslmode=disable&default_query_exec_mode=exec", pooler.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return shared{client, storeURL, db, 3}
}

// each runs statements in every session.
func (s shared) each(t *testing.T, statements ...string) {
	t.Helper()
	var ends []func() error
	for range s.n {
		connection, err := s.sessions.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.url != "" { // the pooler lends a session for a transaction
			statements = append([]string{"BEGIN"}, statements...)
		}
		for _, statement := range statements {
			if _, err := connection.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if s.url != "" {
			statements = statements[1:]
			ends = append(ends, func() error { _, err := connection.ExecContext(t.Context(), "COMMIT"); return err })
		}
		ends = append(ends, connection.Close)
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSessionThatAnotherClientChangedAcknowledgesNothing shares the sessions of a store with a client
// that changes them. A swap then takes effect as promised, or fails by the name of the setting. It is never a conflict.
func TestSessionThatAnotherClientChangedAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		s, server := s.own(t, careful)
		db := s.administer(t, server)
		shared := s.share(t, server)
		if s.scheme == "mysql" {
			do(t, db, "CREATE DATABASE other", "CREATE TABLE other.snowfence_registers LIKE snowfence_registers")
		} else {
			do(t, db, "CREATE SCHEMA other", "CREATE TABLE other.snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)",
				"CREATE ROLE other", "GRANT ALL ON public.snowfence_registers TO other", "CREATE ROLE bare")
		}
		for i, c := range changes[s.scheme] {
			t.Run(c.name, func(t *testing.T) {
				changed := fmt.Sprint("changed-", i)
				before, err := shared.store.Swap(t.Context(), changed, "", []byte("before"))
				if err != nil {
					t.Fatal(err)
				}
				shared.each(t, c.set...)
				defer shared.each(t, strings.Replace(c.undo[0], "HOME", s.database, 1))
				shared.doubt(t, changed, before, c.want)
				shared.doubt(t, fmt.Sprint("made-", i), "", c.want)
				// Another session shows what was committed.
				want := map[bool]string{true: "after", false: "before"}[c.want == ""]
				if got := s.lookUp(t, server, changed); got != want {
					t.Errorf("the register holds %q, want %q", got, want)
				}
			})
			if c.want != "" && s.scheme == "mysql" { // sessions that were found unfit are thrown away
				err := error(nil)
				for range shared.n {
					_, err = shared.store.Get(t.Context(), "any")
				}
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s: a session that was found unfit is still in the pool: %v", c.name, err)
				}
			}
		}
	})
}

// doubt swaps and reads a register in a session that was changed. An error must name the setting, and say
// that nothing took effect.
func (s shared) doubt(t *testing.T, key string, prev store.Version, want string) {
	t.Helper()
	_, err := s.store.Swap(t.Context(), key, prev, []byte("after"))
	switch {
	case want == "" && err != nil:
		t.Errorf("swap: %v", err)
	case want != "" && (err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want))):
		t.Errorf("swap: %v, want %q", err, want)
	}
}

// lookUp reads a register by a session of its own.
func (s sqlServer) lookUp(t *testing.T, server *testkit.Server, key string) (value string) {
	t.Helper()
	query := "SELECT value FROM public.snowfence_registers WHERE key = $1"
	if s.scheme == "mysql" {
		query = "SELECT value FROM " + s.database + ".snowfence_registers WHERE `key` = ?"
	}
	if err := s.administer(t, server).QueryRowContext(t.Context(), query, []byte(key)).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestTableIsNotLookedForInASessionThatWasChanged opens stores behind a pooler whose sessions show another table.
func TestTableIsNotLookedForInASessionThatWasChanged(t *testing.T) {
	t.Parallel()
	s, server := sqlServers["PostgreSQL"].own(t, careful)
	shared := s.share(t, server)
	do(t, s.administer(t, server), "CREATE SCHEMA other", "CREATE TABLE other.snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)")
	for set, undo := range map[string]string{
		"SET search_path = other": "RESET search_path",
		"CREATE TEMPORARY TABLE snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)": "DROP TABLE pg_temp.snowfence_registers",
	} {
		shared.each(t, set)
		s.refused(t, shared.url, "table=")
		s.refused(t, shared.url+"&table=public.snowfence_registers", "")
		shared.each(t, undo)
	}
}

// TestTableThatIsAlteredLaterIsRefused alters the table under a store that is open. Its user does not own the table: from
// an owner row security hides nothing.
func TestTableThatIsAlteredLaterIsRefused(t *testing.T) {
	t.Parallel()
	s, server := sqlServers["PostgreSQL"].own(t, careful)
	db := s.administer(t, server)
	s.client(t, s.url("durable=true", server.Addr())) // creates the table
	client := s.client(t, s.urlOf(s.clerk(t, server), "durable=true", server.Addr()))
	if _, err := client.Swap(t.Context(), "other", "", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ alter, want, undo string }{
		{"SET UNLOGGED", "is UNLOGGED", "SET LOGGED"},
		{"ENABLE ROW LEVEL SECURITY", "row_security_active is t", "DISABLE ROW LEVEL SECURITY"},
	} {
		do(t, db, "ALTER TABLE snowfence_registers "+c.alter)
		shared{store: client.(*sqlstore.Store)}.doubt(t, "register", "", c.want)
		for _, key := range []string{"register", "other"} {
			if _, err := client.Get(t.Context(), key); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("get %s: %v, want %q", key, err, c.want)
			}
		}
		do(t, db, "ALTER TABLE snowfence_registers "+c.undo)
	}
	if _, err := client.Swap(t.Context(), "register", "", nil); err != nil {
		t.Errorf("the table is as it was, and nothing took effect before: %v", err)
	}
}

// TestPoolerThatGivesUpSyncsRepeatsNoID lets another client of PgBouncer end the syncs of all sessions, and
// kills the server after the next extension. The next holder must not repeat an id of the first.
func TestPoolerThatGivesUpSyncsRepeatsNoID(t *testing.T) {
	t.Parallel()
	s, server := sqlServers["PostgreSQL"], testkit.Postgres(t, "wal_writer_delay=10s")
	shared := s.share(t, server)
	firstClock := &shifted{Clock: snowfence.SystemClock()}
	first := holdShared(t, shared.store, "first", firstClock)
	ids := take(t, first, 100)
	shared.each(t, "SET synchronous_commit = off")
	committed := first.Status().Until
	testkit.Eventually(t, func(context.Context) error {
		if now := first.Status(); now.Until == committed && (now.LastError == nil || !strings.Contains(now.LastError.Error(), "synchronous_commit is off")) {
			return fmt.Errorf("no extension was tried: %w", now.LastError)
		}
		return nil
	})
	acknowledged := first.Status().Until
	server.Kill()
	server.Start()
	client := s.client(t, s.url("durable=true", server.Addr()))
	equal := issuedTwice(t, first, firstClock, ids, committed, func(clock snowfence.Clock) *fence.Holder { return holdShared(t, client, "second", clock) })
	if equal > 0 || acknowledged != committed {
		t.Errorf("%d ids are equal; the bound %d was acknowledged without a sync, after %d", equal, acknowledged, committed)
	}
}

// holdShared holds the worker id in a store.
func holdShared(t *testing.T, s store.Store, host string, clock snowfence.Clock) *fence.Holder {
	t.Helper()
	worker := int64(isolationWorker)
	holder, err := fence.Open(t.Context(), fence.Config{
		Store: s, Layout: isolationLayout(), Worker: &worker, Window: isolationWindow, RequestTimeout: isolationTimeout,
		Process: fence.Process{Host: host, PID: 1}, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), isolationTimeout)
		defer cancel()
		_ = holder.Close(ctx)
	})
	return holder
}
