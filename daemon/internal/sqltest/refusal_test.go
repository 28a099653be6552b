//go:build servers

package sqltest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/storetest"
)

// TestSQLServer holds a server to the rules that are of SQL alone.
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
			{"table is created once by many at once", tableIsCreatedOnceByManyAtOnce},
			{"user without the rights is refused at once", userWithoutTheRightsIsRefusedAtOnce},
			{"clock is right in every time zone", clockIsRightInEveryTimeZone},
			{"pool of the caller's serves", poolOfTheCallersServes},
			{"pooler may stand between", poolerMayStandBetween},
			{"other isolation level will do", otherIsolationLevelWillDo},
			{"replica is not read", replicaIsNotRead},
			{"commit that waits is not shown", commitThatWaitsIsNotShown},
			{"next host takes over", nextHostTakesOver},
		} {
			t.Run(rule.name, func(t *testing.T) { rule.check(t, s, server) })
		}
	})
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
// of the machine can leave half of a page as it was, or takes anything back.
func TestSQLServerThatCanTearPagesIsRefused(t *testing.T) {
	t.Parallel()
	settings := map[string][]string{
		"postgres": {"full_page_writes=off"},
		"mysql":    {"--skip-innodb-doublewrite", "--skip-log-bin"},
	}
	eachSQL(t, func(t *testing.T, s sqlServer) {
		server, want, whole := s.start(t, settings[s.scheme]...), "full_page_writes is off", ""
		if s.scheme == "mysql" {
			want, whole = "innodb_doublewrite is OFF", "log_bin is OFF"
		} else {
			s, unsynced := s.own(t, hasty)
			s.refused(t, s.url("", unsynced.Addr()), "fsync is off")
			s.refused(t, s.url("loss=1m", unsynced.Addr()), "")
		}
		s.refused(t, s.url("", server.Addr()), want)
		s.refused(t, s.url("loss=1m", server.Addr()), "")
		s.refused(t, s.url("durable=true&whole-pages=true", server.Addr()), whole)
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
				client, err := openstore.Open(t.Context(), s.url(fmt.Sprint("table=many", round), server.Addr()))
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
	reads, err := openstore.OpenExisting(t.Context(), at)
	if err != nil {
		t.Fatalf("to read alone: %v", err)
	}
	defer func() { _ = reads.Close() }()
	if _, err := reads.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	do(t, db, "GRANT INSERT, UPDATE ON guarded TO "+grantee)
	s.refused(t, at, "")
	if _, err := openstore.Open(t.Context(), s.urlOf(grantee, "table=other", server.Addr())); err == nil || !strings.Contains(err.Error(), "create table other, which may also be done by hand") {
		t.Errorf("a table that may not be created: %v", err)
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
