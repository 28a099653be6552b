//go:build servers

package sqltest

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
)

// shared is a pool whose few sessions another client uses too.
type shared struct {
	store    store.Store
	url      string  // of the pooler, of PostgreSQL
	sessions *sql.DB // three: through it, or the store's own pool
}

// share makes a store and its neighbour: behind PgBouncer in transaction mode, or in one pool of a program.
func (s sqlServer) share(t *testing.T) shared {
	t.Helper()
	if s.scheme == "mysql" {
		db := s.admin(t)
		db.SetMaxOpenConns(3)
		config := sqlstore.Config{DB: db, Dialect: sqlstore.MySQL, Durable: true, Driver: sqlstore.Driver{Duplicate: duplicateKey}}
		return shared{store: servertest.Opened(t, sqlstore.Open, config), sessions: db}
	}
	at := testkit.PgBouncer(t, s.server, "transaction").Addr()
	storeURL := s.urlOf(testkit.SQLUser, "durable=true", at)
	return shared{servertest.Opened(t, openstore.Open, storeURL), storeURL, s.connect(t, login{address: at, query: "default_query_exec_mode=exec"})}
}

// each runs statements in every session.
func (s shared) each(t *testing.T, statements ...string) {
	t.Helper()
	var ends []func() error
	for range 3 {
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
	type change struct {
		name string
		set  string
		want string // in the error of a swap and of a read; "" if both do their work all the same
		undo string
	}
	changes := map[string][]change{
		"postgres": {
			{"commits that are not synced", "SET synchronous_commit = off", "synchronous_commit is off", "RESET synchronous_commit"},
			{"commits that only this server syncs", "SET synchronous_commit = local", "", "RESET synchronous_commit"},
			{"another schema", "SET search_path = OTHER, pg_catalog", "", "RESET search_path"},
			{"a temporary table", "CREATE TEMPORARY TABLE snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)", "", "DROP TABLE pg_temp.snowfence_registers"},
			{"a strict isolation level", "SET default_transaction_isolation = serializable", "", "RESET default_transaction_isolation"},
			{"nothing but reads", "SET default_transaction_read_only = on", "read", "RESET default_transaction_read_only"},
			{"another role", "SET ROLE OTHER", "role is other", "RESET ROLE"},
			{"a role without rights", "SET ROLE bare", "SET ROLE", "RESET ROLE"},
			{"damage that reads as nothing", "SET zero_damaged_pages = on", "zero_damaged_pages is on", "RESET zero_damaged_pages"},
		},
		"mysql": {
			{"commits that never come", "SET autocommit = 0", "autocommit is OFF", "SET autocommit = 1"},
			{"a transaction that was left open", "START TRANSACTION", "in_transaction is 1", "ROLLBACK"},
			{"no binary log", "SET sql_log_bin = 0", "sql_log_bin", "SET sql_log_bin = 1"},
			{"reads of what is not committed", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "READ-UNCOMMITTED", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
			{"another level", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
			{"nothing but reads", "SET SESSION TRANSACTION READ ONLY", "read", "SET SESSION TRANSACTION READ WRITE"},
			{"another database", "USE OTHER", "", "USE HOME"},
			{"another sql_mode", "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'", "", "SET sql_mode = DEFAULT"},
			{"another time zone", "SET time_zone = '+13:00'", "", "SET time_zone = DEFAULT"},
			{"statements in the binary log", "SET binlog_format = STATEMENT", "binlog_format is STATEMENT", "SET binlog_format = DEFAULT"},
		},
	}
	onCareful(t, func(t *testing.T, s sqlServer) {
		db, shared := s.admin(t), s.share(t)
		other := "other_" + s.database
		do(t, db, "CREATE SCHEMA "+other, "CREATE TABLE "+other+".snowfence_registers AS SELECT * FROM snowfence_registers")
		if s.scheme == "postgres" {
			do(t, db, "CREATE ROLE "+other, "GRANT ALL ON public.snowfence_registers TO "+other, "CREATE ROLE bare")
		}
		for i, c := range changes[s.scheme] {
			t.Run(c.name, func(t *testing.T) {
				changed := fmt.Sprint("changed-", i)
				before, err := shared.store.Swap(t.Context(), changed, "", []byte("before"))
				if err != nil {
					t.Fatal(err)
				}
				shared.each(t, strings.ReplaceAll(c.set, "OTHER", other))
				defer shared.each(t, strings.Replace(c.undo, "HOME", s.database, 1))
				shared.doubt(t, changed, before, c.want)
				shared.doubt(t, fmt.Sprint("made-", i), "", c.want)
				// Another session shows the committed value.
				want := map[bool]string{true: "after", false: "before"}[c.want == ""]
				if got := s.register(t, changed); got != want {
					t.Errorf("the register holds %q, want %q", got, want)
				}
			})
			if c.want != "" && s.scheme == "mysql" { // sessions that were found unfit are thrown away
				err := error(nil)
				for range 3 {
					_, err = shared.store.Get(t.Context(), "any")
				}
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s: a session that was found unfit is still in the pool: %v", c.name, err)
				}
			}
		}
	})
}

// doubt swaps and reads a register in a session that was changed. An error must name the setting, and report
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

// register reads a register by a session of its own.
func (s sqlServer) register(t *testing.T, key string) string {
	t.Helper()
	query := "SELECT value FROM public.snowfence_registers WHERE key = $1"
	if s.scheme == "mysql" {
		query = "SELECT value FROM snowfence_registers WHERE `key` = ?"
	}
	return read[string](t, s.admin(t), query, []byte(key))
}

// TestTableIsNotLookedForInASessionThatWasChanged opens stores behind a pooler whose sessions show another table.
func TestTableIsNotLookedForInASessionThatWasChanged(t *testing.T) {
	t.Parallel()
	s := postgreSQL.within(t, postgreSQL.careful())
	shared := s.share(t)
	do(t, s.admin(t), "CREATE SCHEMA other", "CREATE TABLE other.snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)")
	for set, undo := range map[string]string{
		"SET search_path = other": "RESET search_path",
		"CREATE TEMPORARY TABLE snowfence_registers (LIKE public.snowfence_registers INCLUDING ALL)": "DROP TABLE pg_temp.snowfence_registers",
	} {
		shared.each(t, set)
		refused(t, shared.url, "table=")
		refused(t, shared.url+"&table=public.snowfence_registers", "")
		shared.each(t, undo)
	}
}

// TestTableThatIsAlteredLaterIsRefused alters the table under a store that is open. Its user does not own the table: from
// an owner row security hides nothing.
func TestTableThatIsAlteredLaterIsRefused(t *testing.T) {
	t.Parallel()
	s := postgreSQL.within(t, postgreSQL.careful())
	db := s.admin(t)
	refused(t, s.url("durable=true"), "") // creates the table
	client := servertest.Opened(t, openstore.Open, s.urlOf(s.clerk(t), "durable=true", s.server.Addr()))
	if _, err := client.Swap(t.Context(), "other", "", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ alter, want, undo string }{
		{"SET UNLOGGED", "is UNLOGGED", "SET LOGGED"},
		{"ENABLE ROW LEVEL SECURITY", "row_security_active is t", "DISABLE ROW LEVEL SECURITY"},
	} {
		do(t, db, "ALTER TABLE snowfence_registers "+c.alter)
		shared{store: client}.doubt(t, "register", "", c.want)
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
