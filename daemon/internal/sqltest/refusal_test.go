//go:build servers

package sqltest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
)

func TestServerThatLosesSwapsIsRefused(t *testing.T) {
	type setting struct{ set, query, want, reset string }
	settings := map[string][]setting{
		"postgres": {
			{"ALTER DATABASE HOME SET synchronous_commit = off", "durable=true", "synchronous_commit", ""},
			{"SELECT 1", "loss=10ms", "wal_writer_delay", ""},
			{"SELECT 1", "", "", "ALTER DATABASE HOME RESET synchronous_commit"},
			{"ALTER DATABASE HOME SET zero_damaged_pages = on", "loss=1m", "zero_damaged_pages", "ALTER DATABASE HOME RESET zero_damaged_pages"},
			{"ALTER DATABASE HOME SET default_transaction_read_only = on", "", "transaction_read_only", "SET transaction_read_only = off; ALTER DATABASE HOME RESET default_transaction_read_only"},
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
			{"SELECT 1", "durable=true", "rpl_semi_sync_master_timeout", "SET GLOBAL rpl_semi_sync_master_enabled = OFF; SET GLOBAL rpl_semi_sync_master_wait_point = DEFAULT"},
			{"SET GLOBAL read_only = ON", "", "read_only", "SET GLOBAL read_only = OFF"},
			{"SELECT 1", "durable=true", "", ""},
		},
	}
	onCareful(t, func(t *testing.T, s sqlServer) {
		db := s.admin(t)
		for _, c := range settings[s.scheme] {
			do(t, db, strings.ReplaceAll(c.set, "HOME", s.database))
			refused(t, s.url(c.query), c.want)
			if c.reset != "" {
				do(t, db, strings.ReplaceAll(c.reset, "HOME", s.database))
			}
		}
	})
}

// TestSQLServerThatCanTearPagesIsRefused is about the settings by which a crash
// of the machine can leave half of a page as it was, or takes anything back.
func TestSQLServerThatCanTearPagesIsRefused(t *testing.T) {
	t.Parallel()
	settings := map[string][]string{"postgres": {"full_page_writes=off"}, "mysql": {"--skip-innodb-doublewrite", "--skip-log-bin"}}
	eachSQL(t, func(t *testing.T, s sqlServer) {
		want := "innodb_doublewrite is OFF"
		if s.scheme == "postgres" {
			want = "full_page_writes is off"
			unsynced := s.within(t, s.hasty())
			refused(t, unsynced.url(""), "fsync is off")
			refused(t, unsynced.url("loss=1m"), "")
		}
		s = s.on(s.start(t, settings[s.scheme]...))
		refused(t, s.url(""), want)
		refused(t, s.url("loss=1m"), "")
	})
}

func TestTableOfAnotherShapeIsRefused(t *testing.T) {
	t.Parallel()
	const fit = "(key bytea PRIMARY KEY, token bytea NOT NULL, value bytea NOT NULL)"
	tables := map[string]map[string]string{ // the fault, by the statement that makes table T
		"postgres": {
			"CREATE TABLE T (key text PRIMARY KEY, token bytea NOT NULL, value bytea NOT NULL)":                         `column "key" is text`,
			"CREATE TABLE T (key bytea PRIMARY KEY, token bytea, value bytea NOT NULL)":                                 `column "token" is bytea null`,
			"CREATE TABLE T (key bytea PRIMARY KEY, token bytea NOT NULL)":                                              `no column "value"`,
			"CREATE TABLE T (key bytea PRIMARY KEY, token bytea NOT NULL, value bytea NOT NULL, more int)":              `a column "more"`,
			"CREATE TABLE T (key bytea NOT NULL, token bytea NOT NULL, value bytea NOT NULL)":                           "no primary key",
			"CREATE TABLE T (key bytea NOT NULL, token bytea NOT NULL, value bytea NOT NULL, PRIMARY KEY (key, token))": "unique index",
			"CREATE TABLE T (key bytea PRIMARY KEY, token bytea NOT NULL UNIQUE, value bytea NOT NULL)":                 "on token",
			"CREATE UNLOGGED TABLE T " + fit:                                      "UNLOGGED",
			"CREATE TABLE T " + fit + " PARTITION BY HASH (key)":                  "no ordinary table",
			"CREATE TABLE T " + fit + "; ALTER TABLE T ENABLE ROW LEVEL SECURITY": "row security",
			"CREATE VIEW T AS SELECT 1":                                           "is no ordinary table",
		},
		"mysql": {
			"CREATE TABLE T (`key` varchar(200) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4096) NOT NULL)":                 `column "key" is varchar(200)`,
			"CREATE TABLE T (`key` varbinary(199) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4096) NOT NULL)":               `column "key" is varbinary(199)`,
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(16), value varbinary(4096) NOT NULL)":                        `column "token" is binary(16) null`,
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(8) NOT NULL, value varbinary(4096) NOT NULL)":                `column "token" is binary(8)`,
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4000) NOT NULL)":               `column "value" is varbinary(4000)`,
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL)":                                               `no column "value"`,
			"CREATE TABLE T (`key` varbinary(200) NOT NULL, token binary(16) NOT NULL, value varbinary(4096) NOT NULL)":                  "no primary key",
			"CREATE TABLE T (`key` varbinary(200) NOT NULL, token binary(16) NOT NULL, value blob NOT NULL, PRIMARY KEY (`key`(9)))":     "partly",
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL UNIQUE, value varbinary(4096) NOT NULL)":        "on token",
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL, value blob NOT NULL) ENGINE=MyISAM":            "BASE TABLE MyISAM",
			"CREATE TABLE T (`key` varbinary(200) PRIMARY KEY, token binary(16) NOT NULL, value varbinary(4096) NOT NULL) ENGINE=MEMORY": "BASE TABLE MEMORY",
			"CREATE TABLE T (`key` varbinary(250) PRIMARY KEY, token binary(16) NOT NULL, value mediumblob NOT NULL)":                    "",
			"CREATE VIEW T AS SELECT 1": "is a VIEW",
		},
	}
	onCareful(t, func(t *testing.T, s sqlServer) {
		db, n := s.admin(t), 0
		for statement, want := range tables[s.scheme] {
			n++
			table := fmt.Sprint("t", n)
			do(t, db, strings.ReplaceAll(statement, " T ", " "+table+" "))
			refused(t, s.url("table="+table), want)
		}
	})
}

func TestTableIsCreatedOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	onCareful(t, func(t *testing.T, s sqlServer) {
		for round := range 5 {
			start, errs := make(chan struct{}), make([]error, 6)
			var opened sync.WaitGroup
			for i := range errs {
				opened.Go(func() {
					<-start
					client, err := openstore.Open(t.Context(), s.url(fmt.Sprint("table=many", round)))
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
	})
}

func TestUserWithoutTheRightsIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	onCareful(t, func(t *testing.T, s sqlServer) {
		refused(t, s.url("table=guarded"), "") // makes it
		user := "reader_" + s.database
		create := "CREATE USER " + user + " PASSWORD '" + testkit.SQLPassword + "'"
		if s.scheme == "mysql" {
			create = "CREATE USER " + user + " IDENTIFIED BY '" + testkit.SQLPassword + "'"
		}
		db := s.admin(t)
		do(t, db, create, "GRANT SELECT ON guarded TO "+user)
		at := s.urlOf(user, "table=guarded", s.server.Addr())
		refused(t, at, "table guarded: the user has no right to INSERT, UPDATE: grant SELECT, INSERT, UPDATE on it")
		reads, err := openstore.OpenExisting(t.Context(), at)
		if err != nil {
			t.Fatalf("to read alone: %v", err)
		}
		defer func() { _ = reads.Close() }()
		if _, err := reads.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		do(t, db, "GRANT INSERT, UPDATE ON guarded TO "+user)
		refused(t, at, "")
		if _, err := openstore.Open(t.Context(), s.urlOf(user, "table=other", s.server.Addr())); err == nil || !strings.Contains(err.Error(), "create table other, which may also be done by hand") {
			t.Errorf("a table that may not be created: %v", err)
		}
	})
}

// TestDefaultLossOfSQLCoversALagOfTenSeconds and leaves room for it in the
// default window, but not in a pinned worker's, which is refused by name.
func TestDefaultLossOfSQLCoversALagOfTenSeconds(t *testing.T) {
	const lag, measured, fast = 10 * time.Second, 2 * time.Second, 2000 // a fast clock's margin is a part in that many
	if least := (lag + measured) + (lag+measured)/fast; sqlstore.DefaultLoss < least {
		t.Errorf("the default loss is %v, must be at least %v", sqlstore.DefaultLoss, least)
	}
	config := lease.Config{Layout: snowfence.DefaultLayout(), Loss: sqlstore.DefaultLoss}
	if _, err := lease.New(config); err != nil {
		t.Errorf("with the default window: %v", err)
	}
	config.Worker = new(int64)
	var refused *stored.ConfigError
	if _, err := lease.New(config); !errors.As(err, &refused) || refused.Field != "window" {
		t.Errorf("pinned, with its default window: %v, want a window that is refused", err)
	}
	config.Window = 3*sqlstore.DefaultLoss + time.Second
	if _, err := lease.New(config); err != nil {
		t.Errorf("pinned, with a window of %v: %v", config.Window, err)
	}
}
