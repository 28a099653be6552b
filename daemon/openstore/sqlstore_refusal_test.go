package openstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/storetest"
)

// TestSQLServer holds a server to the rules that leave it as it was.
func TestSQLServer(t *testing.T) {
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		server := s.start(t)
		for _, rule := range []struct {
			name  string
			check func(*testing.T, sqlServer, *testkit.Server)
		}{
			{"server that loses swaps is refused", serverThatLosesSwapsIsRefused},
			{"swap that runs out of time is no conflict", swapThatRunsOutOfTimeIsNoConflict},
			{"table of another shape is refused", tableOfAnotherShapeIsRefused},
			{"table that has to exist is not created", tableThatHasToExistIsNotCreated},
			{"table is created once by many at once", tableIsCreatedOnceByManyAtOnce},
			{"table made by hand needs few rights", tableMadeByHandNeedsFewRights},
			{"user without the rights is refused at once", userWithoutTheRightsIsRefusedAtOnce},
			{"tables and databases do not see each other", tablesAndDatabasesDoNotSeeEachOther},
			{"row that is no register is damaged", rowThatIsNoRegisterIsDamaged},
			{"clock is right in every time zone", clockIsRightInEveryTimeZone},
			{"errors hide the password", errorsHideThePassword},
			{"pool of the caller's serves", poolOfTheCallersServes},
			{"pooler may stand between", poolerMayStandBetween},
			{"other isolation level will do", otherIsolationLevelWillDo},
			{"replica is not read", replicaIsNotRead},
			{"next host serves callers who are in a hurry", nextHostServesCallersWhoAreInAHurry},
			{"swap is never repeated", swapIsNeverRepeated},
		} {
			t.Run(rule.name, func(t *testing.T) { rule.check(t, s, server) })
		}
	})
}

// refused opens a store, and wants a *sqlstore.ServerError that says why not,
// or none if want is empty.
func (s sqlServer) refused(t *testing.T, storeURL, want string) {
	t.Helper()
	client, err := Open(t.Context(), storeURL)
	if err == nil {
		_ = client.Close()
	}
	var unfit *sqlstore.ServerError
	switch {
	case want == "" && err != nil:
		t.Errorf("a server that is fit: %v", err)
	case want != "" && (!errors.As(err, &unfit) || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}

func serverThatLosesSwapsIsRefused(t *testing.T, s sqlServer, server *testkit.Server) {
	type setting struct{ set, query, want, reset string }
	settings := map[string][]setting{
		"postgres": {
			{"ALTER DATABASE snowfence SET synchronous_commit = off", "durable=true", "synchronous_commit", ""},
			{"SELECT 1", "loss=10ms", "wal_writer_delay", ""},
			{"SELECT 1", "", "", "ALTER DATABASE snowfence RESET synchronous_commit"},
			{"ALTER DATABASE snowfence SET zero_damaged_pages = on", "loss=1m", "zero_damaged_pages", "ALTER DATABASE snowfence RESET zero_damaged_pages"},
			{"ALTER DATABASE snowfence SET default_transaction_read_only = on", "", "transaction_read_only", "SET transaction_read_only = off; ALTER DATABASE snowfence RESET default_transaction_read_only"},
			{"SELECT 1", "durable=true", "", ""},
		},
		"mysql": {
			{"SET GLOBAL innodb_flush_log_at_trx_commit = 2", "durable=true", "innodb_flush_log_at_trx_commit", ""},
			{"SELECT 1", "loss=1s", "innodb_flush_log_at_timeout", ""},
			{"SELECT 1", "", "", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
			{"SET GLOBAL sync_binlog = 0", "durable=true", "sync_binlog", ""},
			{"SELECT 1", "", "sync_binlog", ""},
			{"SELECT 1", "loss=1m", "", "SET GLOBAL sync_binlog = 1"},
			{"SET GLOBAL autocommit = OFF", "", "autocommit", "SET GLOBAL autocommit = ON"},
			{"SET GLOBAL tx_isolation = 'READ-UNCOMMITTED'", "loss=1m", "tx_isolation", "SET GLOBAL tx_isolation = DEFAULT"},
			{"SET GLOBAL rpl_semi_sync_master_enabled = ON", "durable=true", "wait_point", "SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'"},
			{"SELECT 1", "durable=true", "rpl_semi_sync_master_timeout", "SET GLOBAL rpl_semi_sync_master_enabled = OFF"},
			{"SET GLOBAL read_only = ON", "", "read_only", "SET GLOBAL read_only = OFF"},
			{"SELECT 1", "durable=true", "", ""},
		},
	}
	db := s.administer(t, server)
	for _, c := range settings[s.scheme] {
		do(t, db, c.set)
		s.refused(t, s.url(c.query, server.Addr()), c.want)
		if c.reset != "" {
			do(t, db, c.reset)
		}
	}
}

// TestSQLServerThatCanTearPagesIsRefused is about the settings by which a crash
// of the machine can leave half of a page as it was.
func TestSQLServerThatCanTearPagesIsRefused(t *testing.T) {
	t.Parallel()
	settings := map[string][2]string{
		"postgres": {"full_page_writes=off", "full_page_writes is off"},
		"mysql":    {"--skip-innodb-doublewrite", "innodb_doublewrite is OFF"},
	}
	eachSQL(t, func(t *testing.T, s sqlServer) {
		set, want := settings[s.scheme][0], settings[s.scheme][1]
		server := s.start(t, set)
		s.refused(t, s.url("durable=true", server.Addr()), want)
		s.refused(t, s.url("", server.Addr()), want)
		s.refused(t, s.url("loss=1m", server.Addr()), "")
		s.refused(t, s.url("durable=true&whole-pages=true", server.Addr()), "")
		s.refused(t, s.url("whole-pages=true", server.Addr()), "")
	})
}

func tableOfAnotherShapeIsRefused(t *testing.T, s sqlServer, server *testkit.Server) {
	tables := map[string]map[string]string{
		"postgres": {
			"(key text PRIMARY KEY, token bytea NOT NULL, value bytea NOT NULL)":                         `column "key" is text`,
			"(key bytea PRIMARY KEY, token bytea, value bytea NOT NULL)":                                 `column "token" is bytea null`,
			"(key bytea PRIMARY KEY, token bytea NOT NULL)":                                              `no column "value"`,
			"(key bytea PRIMARY KEY, token bytea NOT NULL, value bytea NOT NULL, more int)":              `a column "more"`,
			"(key bytea NOT NULL, token bytea NOT NULL, value bytea NOT NULL)":                           "no primary key",
			"(key bytea NOT NULL, token bytea NOT NULL, value bytea NOT NULL, PRIMARY KEY (key, token))": "unique index",
			"(key bytea PRIMARY KEY, token bytea NOT NULL UNIQUE, value bytea NOT NULL)":                 "on token",
			"PARTITION": "no ordinary table",
			"UNLOGGED":  "UNLOGGED",
			"SECURITY":  "row security",
		},
		"mysql": {
			"(`key` varchar(200) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4096) NOT NULL)":                 `column "key" is varchar(200)`,
			"(`key` varbinary(199) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4096) NOT NULL)":               `column "key" is varbinary(199)`,
			"(`key` varbinary(200) PRIMARY KEY, token binary(16), value varbinary(4096) NOT NULL)":                        `column "token" is binary(16) null`,
			"(`key` varbinary(200) PRIMARY KEY, token binary(8) NOT NULL, value varbinary(4096) NOT NULL)":                `column "token" is binary(8)`,
			"(`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4000) NOT NULL)":               `column "value" is varbinary(4000)`,
			"(`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL)":                                               `no column "value"`,
			"(`key` varbinary(200) NOT NULL, token binary(16) NOT NULL, value varbinary(4096) NOT NULL)":                  "no primary key",
			"(`key` varbinary(200) NOT NULL, token binary(16) NOT NULL, value blob NOT NULL, PRIMARY KEY (`key`(9)))":     "partly",
			"(`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL UNIQUE, value varbinary(4096) NOT NULL)":        "on token",
			"(`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL, value blob NOT NULL) ENGINE=MyISAM":            "BASE TABLE MyISAM",
			"(`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4096) NOT NULL) ENGINE=MEMORY": "BASE TABLE MEMORY",
			"(`key` varbinary(250) PRIMARY KEY, token binary(16) NOT NULL, value mediumblob NOT NULL)":                    "",
		},
	}
	db := s.administer(t, server)
	n := 0
	for shape, want := range tables[s.scheme] {
		n++
		table := fmt.Sprint("t", n)
		const fit = "(key bytea PRIMARY KEY, token bytea NOT NULL, value bytea NOT NULL)"
		switch shape {
		case "UNLOGGED":
			do(t, db, "CREATE UNLOGGED TABLE "+table+fit)
		case "PARTITION":
			do(t, db, "CREATE TABLE "+table+fit+" PARTITION BY HASH (key)")
		case "SECURITY":
			do(t, db, "CREATE TABLE "+table+fit, "ALTER TABLE "+table+" ENABLE ROW LEVEL SECURITY")
		default:
			do(t, db, "CREATE TABLE "+table+" "+shape)
		}
		s.refused(t, s.url("table="+table, server.Addr()), want)
	}
	do(t, db, "CREATE VIEW v AS SELECT * FROM t1")
	s.refused(t, s.url("table=v", server.Addr()), "table v: is")
}

func tableIsCreatedOnceByManyAtOnce(t *testing.T, s sqlServer, server *testkit.Server) {
	for round := range 5 {
		start, errs := make(chan struct{}), make([]error, 6)
		var opened sync.WaitGroup
		for i := range errs {
			opened.Go(func() {
				<-start
				client, err := Open(t.Context(), s.url(fmt.Sprint("table=many", round), server.Addr()))
				if err == nil {
					err = client.Close()
				}
				errs[i] = err
			})
		}
		close(start)
		opened.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

func tableThatHasToExistIsNotCreated(t *testing.T, s sqlServer, server *testkit.Server) {
	db, at := s.administer(t, server), s.url("table=sought", server.Addr())
	tables := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'sought'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	_, err := OpenExisting(t.Context(), at)
	if !Missing(err) || !strings.Contains(err.Error(), "table sought") || strings.Contains(err.Error(), testkit.SQLPassword) {
		t.Errorf("without a table: %v", err)
	}
	if n := tables(); n != 0 {
		t.Errorf("%d tables were made", n)
	}
	if _, err := s.client(t, at).Swap(t.Context(), "register", "", []byte("value")); err != nil {
		t.Fatal(err)
	}
	client, err := OpenExisting(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if e, err := client.Get(t.Context(), "register"); err != nil || string(e.Value) != "value" || tables() != 1 {
		t.Errorf("with a table: %q, %v", e.Value, err)
	}
}

func tableMadeByHandNeedsFewRights(t *testing.T, s sqlServer, server *testkit.Server) {
	dialect := sqlstore.PostgreSQL
	if s.scheme == "mysql" {
		dialect = sqlstore.MySQL
	}
	ddl, err := sqlstore.DDL(dialect, "by_hand")
	if err != nil {
		t.Fatal(err)
	}
	do(t, s.administer(t, server), ddl)
	user := s.clerk(t, server)
	client := s.client(t, s.urlOf(user, "table=by_hand&durable=true", server.Addr()))
	version, err := client.Swap(t.Context(), "register", "", []byte("before"))
	if err == nil {
		version, err = client.Swap(t.Context(), "register", version, []byte("after"))
	}
	if err != nil {
		t.Errorf("swap: %v", err)
	}
	if e, err := client.Get(t.Context(), "register"); err != nil || e.Version != version {
		t.Errorf("get: %+v (%v), want version %q", e, err, version)
	}
	for e, err := range client.List(t.Context(), "") {
		if err != nil || e.Version != version {
			t.Errorf("list: %+v (%v), want version %q", e, err, version)
		}
	}
	if _, err := client.(store.Clock).Now(t.Context()); err != nil {
		t.Errorf("now: %v", err)
	}
	if _, err := Open(t.Context(), s.urlOf(user, "table=other", server.Addr())); err == nil || !strings.Contains(err.Error(), "create table other, which may also be done by hand") {
		t.Errorf("a table that may not be created: %v", err)
	}
}

func userWithoutTheRightsIsRefusedAtOnce(t *testing.T, s sqlServer, server *testkit.Server) {
	s.client(t, s.url("table=guarded", server.Addr())) // makes it
	user, grantee := "CREATE USER reader PASSWORD '"+testkit.SQLPassword+"'", "reader"
	if s.scheme == "mysql" {
		user = "CREATE USER reader IDENTIFIED BY '" + testkit.SQLPassword + "'"
	}
	db := s.administer(t, server)
	do(t, db, user, "GRANT SELECT ON guarded TO "+grantee)
	at := s.urlOf(grantee, "table=guarded", server.Addr())
	s.refused(t, at, "table guarded: the user has no right to INSERT, UPDATE: grant SELECT, INSERT, UPDATE on it")
	reads, err := OpenExisting(t.Context(), at)
	if err != nil {
		t.Fatalf("to read alone: %v", err)
	}
	defer func() { _ = reads.Close() }()
	if _, err := reads.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	do(t, db, "GRANT INSERT, UPDATE ON guarded TO "+grantee)
	s.refused(t, at, "")
}

func tablesAndDatabasesDoNotSeeEachOther(t *testing.T, s sqlServer, server *testkit.Server) {
	do(t, s.administer(t, server), "CREATE DATABASE other")
	here := s.url("", server.Addr())
	urls := []string{here, s.url("table=other", server.Addr()), strings.Replace(here, "/"+testkit.SQLDatabase+"?", "/other?", 1)}
	for i, u := range urls {
		if _, err := s.client(t, u).Swap(t.Context(), "register", "", fmt.Append(nil, i)); err != nil {
			t.Errorf("%s: %v", engine.Redact(u), err)
		}
	}
	for i, u := range urls {
		if e, err := s.client(t, u).Get(t.Context(), "register"); err != nil || string(e.Value) != fmt.Sprint(i) {
			t.Errorf("%s: %q (%v), want %d", engine.Redact(u), e.Value, err, i)
		}
	}
}

func rowThatIsNoRegisterIsDamaged(t *testing.T, s sqlServer, server *testkit.Server) {
	db := s.administer(t, server)
	client := s.client(t, s.url("table=made", server.Addr()))
	if s.scheme == "mysql" {
		do(t, db, "ALTER TABLE made MODIFY value longblob NOT NULL", "INSERT INTO made VALUES ('long', REPEAT('t', 16), REPEAT('v', 4097))")
	} else {
		do(t, db, "ALTER TABLE made DROP CONSTRAINT made_value_check",
			"INSERT INTO made VALUES ('long', convert_to(repeat('t', 16), 'UTF8'), convert_to(repeat('v', 4097), 'UTF8'))")
	}
	if _, err := client.Get(t.Context(), "long"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %v, want %v", err, store.ErrDamaged)
	}
	for _, err := range client.List(t.Context(), "") {
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("list: %v, want %v", err, store.ErrDamaged)
		}
	}
}

func clockIsRightInEveryTimeZone(t *testing.T, s sqlServer, server *testkit.Server) {
	zones := map[string]string{
		"postgres": "ALTER DATABASE snowfence SET timezone = 'Asia/Kathmandu'",
		"mysql":    "SET GLOBAL time_zone = '-11:30'",
	}
	do(t, s.administer(t, server), zones[s.scheme])
	now, err := s.client(t, s.url("", server.Addr())).(store.Clock).Now(t.Context())
	if off := time.Since(now); err != nil || off.Abs() > 5*time.Second {
		t.Errorf("the clock is off by %v: %v (%v)", off, now, err)
	}
}

// poolOfTheCallersServes uses drivers as they come.
func poolOfTheCallersServes(t *testing.T, s sqlServer, server *testkit.Server) {
	open, db := s.pooled(t, server, sqlstore.Config{Durable: true})
	storetest.Run(t, storetest.Harness{Open: open})
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("the caller's pool after the stores were closed: %v", err)
	}
}

// pooled returns what opens stores of one pool, and the pool: pgx prepares and
// caches statements, go-sql-driver prepares each, and counts found rows.
func (s sqlServer) pooled(t *testing.T, server *testkit.Server, config sqlstore.Config) (func(context.Context) (store.Store, error), *sql.DB) {
	t.Helper()
	config.Dialect = sqlstore.PostgreSQL
	driver, source := "pgx", s.url("sslmode=disable", server.Addr())
	if s.scheme == "mysql" {
		config.Dialect, config.Driver.Duplicate = sqlstore.MySQL, duplicateKey
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?clientFoundRows=true&parseTime=true&loc=Asia%%2FKathmandu&charset=latin1",
			testkit.SQLUser, testkit.SQLPassword, server.Addr(), testkit.SQLDatabase)
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxIdleConns(8)
	config.DB = db
	return func(ctx context.Context) (store.Store, error) {
		client, err := sqlstore.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		return client, nil
	}, db
}
