//go:build servers

package sqltest

import (
	"database/sql"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/tinyid"
)

// TestNumbersAreNotReservedInASessionWhoseCommitsCanBeLost shares one session with a client that changes it.
// The reservation then fails by the name of the setting, and the row stays. Or it takes effect in the table that was meant.
func TestNumbersAreNotReservedInASessionWhoseCommitsCanBeLost(t *testing.T) {
	onLeaf(t, func(t *testing.T, s leafSide) {
		changes := map[string]string{"SET synchronous_commit = off": "synchronous_commit is off", "SET search_path = other": "",
			"CREATE TEMPORARY TABLE leaf_alloc (LIKE public.leaf_alloc INCLUDING ALL)": "", "SET default_transaction_isolation = serializable": ""}
		must(t, s.db, "CREATE SCHEMA other")
		if s.dialect == leafalloc.MySQL {
			changes = map[string]string{"SET sql_log_bin = 0": "sql_log_bin is", "SET autocommit = 0": "", "START TRANSACTION": "", "USE other": ""}
		}
		must(t, s.db, "CREATE TABLE other.leaf_alloc AS SELECT * FROM leaf_alloc")
		must(t, s.db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('shared', 1, 10)")
		for change, want := range changes {
			t.Run(change, func(t *testing.T) {
				source, err := leafalloc.Open(t.Context(), leafalloc.Config{DB: s.db, Dialect: s.dialect, Tag: "shared"})
				if err != nil {
					t.Fatal(err)
				}
				read := func() (next int64) {
					if err := s.cutDB.QueryRowContext(t.Context(), "SELECT max_id FROM "+s.home+".leaf_alloc WHERE biz_tag = 'shared'").Scan(&next); err != nil {
						t.Fatal(err)
					}
					return next
				}
				before := read()
				spoil(t, s.db, change)
				_, err = source.Reserve(t.Context(), func() int64 { return 1 })
				refused(t, err, want)
				if moved := read() != before; moved != (want == "") {
					t.Errorf("the row went from %d to %d", before, read())
				}
				_, err = source.Reserve(t.Context(), func() int64 { return 1 })
				if want != "" {
					refused(t, err, "") // that session was thrown away
				}
				s.db.SetMaxIdleConns(0)
				s.db.SetMaxIdleConns(2)
			})
		}
	})
}

// spoil changes the session that a pool gives next.
func spoil(t *testing.T, db *sql.DB, change string) {
	t.Helper()
	db.SetMaxIdleConns(0)
	db.SetMaxIdleConns(1)
	connection, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.ExecContext(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) || snowfence.ClassOf(err) != snowfence.ClassUnavailable):
		t.Errorf("%v, want %q", err, want)
	}
}

// TestTinyIDIsNotReservedWithoutTheBinaryLog is the same rule for tiny_id_info.
func TestTinyIDIsNotReservedWithoutTheBinaryLog(t *testing.T) {
	db := mariaDB(t, sharedHome(t, "MariaDB"), nil, nil)
	must(t, db, tinyid.DDL())
	must(t, db, "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder, create_time, update_time, version) VALUES ('shared', 0, 0, 10, 1, 0, now(), now(), 1)")
	source, err := tinyid.Open(t.Context(), tinyid.Config{DB: db, BizType: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, db, "SET sql_log_bin = 0")
	_, err = source.Reserve(t.Context(), func() int64 { return 1 })
	refused(t, err, "sql_log_bin is")
	got, err := source.Reserve(t.Context(), func() int64 { return 1 })
	if err != nil || got.First != 1 {
		t.Errorf("%+v: %v", got, err)
	}
}
