package sqlstore

import (
	"database/sql"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

var (
	durable    = promise{durable: true}
	usual      = promise{loss: DefaultLoss}
	second     = promise{declared: true, loss: time.Second}
	halfMinute = promise{declared: true, loss: 30 * time.Second}
)

// judgement is the expected verdict on a server with some settings changed.
type judgement struct {
	name    string
	changed settings
	promise promise
	want    string // "" if it is fit
}

func check(t *testing.T, good settings, judge func(settings, promise) error, judgements []judgement) {
	t.Helper()
	for _, j := range judgements {
		found := maps.Clone(good)
		maps.Copy(found, j.changed)
		err := judge(found, j.promise)
		var refused *ServerError
		switch {
		case j.want == "" && err != nil:
			t.Errorf("%s: %v", j.name, err)
		case j.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), j.want)):
			t.Errorf("%s: %v, want %q", j.name, err, j.want)
		}
	}
}

func TestPostgresIsJudgedByItsSettings(t *testing.T) {
	good := settings{
		"fsync": "on", "synchronous_commit": "on", "synchronous_standby_names": "",
		"wal_writer_delay": "200ms", "transaction_read_only": "off", "in_recovery": "off",
		"full_page_writes": "on", "data_sync_retry": "off", "zero_damaged_pages": "off", "ignore_checksum_failure": "off",
	}
	check(t, good, judgePostgres, []judgement{
		{"as it comes, durable", nil, durable, ""},
		{"as it comes", nil, usual, ""},
		{"a standby", settings{"in_recovery": "on"}, halfMinute, "standby"},
		{"read-only", settings{"transaction_read_only": "on"}, halfMinute, "transaction_read_only"},
		{"no fsync", settings{"fsync": "off"}, usual, "fsync"},
		{"no fsync, declared", settings{"fsync": "off"}, second, ""},
		{"torn pages, durable", settings{"full_page_writes": "off"}, durable, "full_page_writes is off: must be on, unless a loss is given and"},
		{"torn pages, declared", settings{"full_page_writes": "off"}, second, ""},
		{"syncs again", settings{"data_sync_retry": "on"}, halfMinute, "data_sync_retry"},
		{"older than data_sync_retry", settings{"data_sync_retry": ""}, durable, ""},
		{"empties damaged pages", settings{"zero_damaged_pages": "on"}, halfMinute, "zero_damaged_pages"},
		{"reads damaged pages", settings{"ignore_checksum_failure": "on"}, halfMinute, "ignore_checksum_failure"},
		{"no sync, durable", settings{"synchronous_commit": "off"}, durable, "synchronous_commit"},
		{"no sync", settings{"synchronous_commit": "off"}, usual, ""},
		{"no sync, long delay", settings{"synchronous_commit": "off", "wal_writer_delay": "334ms"}, second, "wal_writer_delay"},
		{"no sync, delay at the limit", settings{"synchronous_commit": "off", "wal_writer_delay": "333ms"}, second, ""},
		{"local, durable", settings{"synchronous_commit": "local"}, durable, ""},
		{"local beside standbys, durable", settings{"synchronous_commit": "local", "synchronous_standby_names": "*"}, durable, "synchronous_standby_names"},
		{"local beside standbys", settings{"synchronous_commit": "local", "synchronous_standby_names": "*"}, usual, ""},
		{"written beside standbys, durable", settings{"synchronous_commit": "remote_write", "synchronous_standby_names": "*"}, durable, "remote_write"},
		{"remote_apply, durable", settings{"synchronous_commit": "remote_apply", "synchronous_standby_names": "*"}, durable, ""},
		{"reports nothing", settings{"fsync": ""}, usual, "does not report its setting fsync"},
		{"reports nothing of commits", settings{"synchronous_commit": ""}, usual, "does not report its settings synchronous_commit"},
	})
}

func TestMySQLIsJudgedByItsSettings(t *testing.T) {
	good := settings{
		"autocommit": "ON", "read_only": "OFF", "innodb_read_only": "OFF", "tx_read_only": "OFF",
		"innodb_flush_log_at_trx_commit": "1", "innodb_flush_log_at_timeout": "1", "innodb_flush_method": "O_DIRECT",
		"log_bin": "ON", "sql_log_bin": "ON", "sync_binlog": "1",
		"tx_isolation": "REPEATABLE-READ", "innodb_doublewrite": "ON", "innodb_force_recovery": "0",
		"wsrep_on": "OFF", "wsrep_provider": "none",
		"rpl_semi_sync_master_enabled": "OFF", "rpl_semi_sync_master_wait_point": "AFTER_COMMIT",
		"rpl_semi_sync_master_timeout": "10000", "rpl_semi_sync_master_wait_no_slave": "ON",
	}
	// semi is a primary that waits for replicas as it must, with changes.
	semi := func(changed settings) settings {
		s := settings{
			"rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
			"rpl_semi_sync_master_timeout": "18446744073709551615", "rpl_semi_sync_master_wait_no_slave": "ON",
		}
		maps.Copy(s, changed)
		return s
	}
	check(t, good, judgeMySQL, []judgement{
		{"as it should be, durable", nil, durable, ""},
		{"as it should be", nil, usual, ""},
		{"read-only", settings{"read_only": "ON"}, halfMinute, "read_only is ON"},
		{"super-read-only", settings{"super_read_only": "1"}, halfMinute, "super_read_only is 1"},
		{"innodb read-only", settings{"innodb_read_only": "ON"}, halfMinute, "innodb_read_only"},
		{"session read-only", settings{"transaction_read_only": "ON"}, halfMinute, "transaction_read_only"},
		{"no autocommit", settings{"autocommit": "OFF"}, halfMinute, "autocommit"},
		{"lazy flush, durable", settings{"innodb_flush_log_at_trx_commit": "2"}, durable, "trx_commit is 2"},
		{"lazy flush", settings{"innodb_flush_log_at_trx_commit": "2"}, usual, ""},
		{"lazy flush, short loss", settings{"innodb_flush_log_at_trx_commit": "0"}, second, "at least twice"},
		{"lazy flush, long timeout", settings{"innodb_flush_log_at_trx_commit": "0", "innodb_flush_log_at_timeout": "15"}, halfMinute, ""},
		{"MariaDB's 3, durable", settings{"innodb_flush_log_at_trx_commit": "3"}, durable, ""},
		{"no binary log, durable", settings{"log_bin": "OFF"}, durable, "log_bin is OFF"},
		{"no binary log for this user", settings{"sql_log_bin": "OFF"}, halfMinute, "sql_log_bin is OFF"},
		{"no binary log at all", settings{"log_bin": "OFF", "sql_log_bin": "OFF", "binlog_format": "STATEMENT"}, usual, ""},
		{"statements in the binary log", settings{"binlog_format": "STATEMENT"}, usual, "binlog_format is STATEMENT"},
		{"rows in the binary log, durable", settings{"binlog_format": "ROW"}, durable, ""},
		{"within another's transaction", settings{"in_transaction": "1"}, halfMinute, "in_transaction is 1"},
		{"lazy binary log, durable", settings{"sync_binlog": "0"}, durable, "sync_binlog is 0"},
		{"lazy binary log", settings{"sync_binlog": "1000"}, usual, "sync_binlog is 1000"},
		{"lazy binary log, declared", settings{"sync_binlog": "0"}, halfMinute, ""},
		{"nosync, declared", settings{"innodb_flush_method": "nosync"}, halfMinute, ""},
		{"littlesync", settings{"innodb_flush_method": "littlesync"}, usual, "littlesync"},
		{"dirty reads, declared", settings{"tx_isolation": "READ-UNCOMMITTED"}, halfMinute, "tx_isolation"},
		{"dirty reads by the newer name", settings{"tx_isolation": "", "transaction_isolation": "READ-UNCOMMITTED"}, halfMinute, "transaction_isolation is"},
		{"level by the newer name, durable", settings{"tx_isolation": "", "transaction_isolation": "SERIALIZABLE"}, durable, ""},
		{"other level, durable", settings{"tx_isolation": "READ-COMMITTED"}, durable, ""},
		{"unknown level", settings{"tx_isolation": "SNAPSHOT"}, halfMinute, "tx_isolation is SNAPSHOT"},
		{"no level", settings{"tx_isolation": ""}, halfMinute, "neither its setting transaction_isolation nor tx_isolation"},
		{"torn pages that are seen", settings{"innodb_doublewrite": "DETECT_ONLY"}, usual, "innodb_doublewrite"},
		{"torn pages, declared", settings{"innodb_doublewrite": "OFF"}, second, ""},
		{"torn pages that are mended, durable", settings{"innodb_doublewrite": "DETECT_AND_RECOVER"}, durable, ""},
		{"MariaDB's fast doublewrite, durable", settings{"innodb_doublewrite": "fast"}, durable, ""},
		{"reports nothing of doublewrite", settings{"innodb_doublewrite": ""}, durable, "does not report its setting innodb_doublewrite"},
		{"under repair", settings{"innodb_force_recovery": "1"}, halfMinute, "innodb_force_recovery"},
		{"cluster's node by itself", settings{"wsrep_provider": "/usr/lib/galera.so"}, halfMinute, "wsrep_on"},
		{"cluster's node", settings{"wsrep_provider": "/usr/lib/galera.so", "wsrep_on": "ON"}, durable, ""},
		{"semi-synchronous, durable", semi(nil), durable, ""},
		{"semi-synchronous after commit, durable", semi(settings{"rpl_semi_sync_master_wait_point": "AFTER_COMMIT"}), durable, "AFTER_SYNC"},
		{"semi-synchronous after commit", semi(settings{"rpl_semi_sync_master_wait_point": "AFTER_COMMIT"}), usual, ""},
		{"semi-synchronous for a while, durable", semi(settings{"rpl_semi_sync_master_timeout": "86399999"}), durable, "rpl_semi_sync_master_timeout"},
		{"semi-synchronous for a day, durable", semi(settings{"rpl_semi_sync_master_timeout": "86400000"}), durable, ""},
		{"semi-synchronous but when alone, durable", semi(settings{"rpl_semi_sync_master_wait_no_slave": "OFF"}), durable, "wait_no_slave"},
		{"semi-synchronous by the newer name, durable", settings{"rpl_semi_sync_source_enabled": "ON", "rpl_semi_sync_source_wait_point": "AFTER_SYNC", "rpl_semi_sync_source_timeout": "10000"}, durable, "rpl_semi_sync_source_timeout"},
		{"reports nothing", settings{"log_bin": ""}, usual, "does not report"},
	})
}

func TestTableIsNamedPlainly(t *testing.T) {
	for table, ok := range map[string]bool{
		"a": true, "_a1": true, "s.t": true, strings.Repeat("a", 63): true,
		"1a": false, "A": false, "a.": false, ".a": false, "a.b.c": false, "a b": false, `a"`: false, "a`": false, "ä": false,
		strings.Repeat("a", 64): false,
	} {
		for _, d := range []Dialect{PostgreSQL, MySQL} {
			if ddl, err := DDL(d, table); (err == nil) != ok {
				t.Errorf("%v table %q: %v, %s", d, table, err, ddl)
			}
		}
	}
	if _, err := DDL(0, "a"); err == nil {
		t.Error("a missing dialect is not taken for one")
	}
	for d, want := range map[Dialect]string{PostgreSQL: `"s"."t"`, MySQL: "`s`.`t`"} {
		if ddl, err := DDL(d, "s.t"); err != nil || !strings.Contains(ddl, "IF NOT EXISTS "+want+" (") {
			t.Errorf("%v: %v, %s", d, err, ddl)
		}
	}
}

func TestConfigThatIsWrongIsRefusedByTheNameOfTheField(t *testing.T) {
	for want, c := range map[string]Config{
		"endpoints, db":                    {Dialect: PostgreSQL},
		"endpoints, db: must be given one": {Dialect: PostgreSQL, Endpoints: []string{"a:1"}, DB: &sql.DB{}},
		"dialect 0":                        {},
		"table":                            {Dialect: PostgreSQL, Table: "A"},
		"duplicate for MySQL":              {Dialect: MySQL, DB: &sql.DB{}},
		"must have a connector":            {Dialect: PostgreSQL, Endpoints: []string{"a:1"}, Database: "d", User: "me"},
		"endpoint number 1":                {Dialect: PostgreSQL, Endpoints: []string{"a"}, Database: "d", User: "me"},
		"database":                         {Dialect: PostgreSQL, Endpoints: []string{"a:1"}, User: "me"},
		"a user":                           {Dialect: PostgreSQL, Endpoints: []string{"a:1"}, Database: "d"},
		"loss -1s":                         {Dialect: PostgreSQL, DB: &sql.DB{}, Loss: -time.Second},
		"loss 1s: must not":                {Dialect: PostgreSQL, DB: &sql.DB{}, Loss: time.Second, Durable: true},
	} {
		if s, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
}
