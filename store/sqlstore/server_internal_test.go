package sqlstore

import (
	"database/sql/driver"
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

// judgement is what is to be said of a server with some settings changed.
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
		"wal_writer_delay": "200", "transaction_read_only": "off", "in_recovery": "off",
	}
	check(t, good, judgePostgres, []judgement{
		{"as it comes, durable", nil, durable, ""},
		{"as it comes", nil, usual, ""},
		{"a standby", settings{"in_recovery": "on"}, halfMinute, "standby"},
		{"read-only", settings{"transaction_read_only": "on"}, halfMinute, "transaction_read_only"},
		{"no fsync, durable", settings{"fsync": "off"}, durable, "fsync"},
		{"no fsync", settings{"fsync": "off"}, usual, "fsync"},
		{"no fsync, declared", settings{"fsync": "off"}, second, ""},
		{"no sync, durable", settings{"synchronous_commit": "off"}, durable, "synchronous_commit"},
		{"no sync", settings{"synchronous_commit": "off"}, usual, ""},
		{"no sync, long delay", settings{"synchronous_commit": "off", "wal_writer_delay": "334"}, second, "wal_writer_delay"},
		{"no sync, delay at the limit", settings{"synchronous_commit": "off", "wal_writer_delay": "333"}, second, ""},
		{"local, durable", settings{"synchronous_commit": "local"}, durable, ""},
		{"local beside standbys, durable", settings{"synchronous_commit": "local", "synchronous_standby_names": "*"}, durable, "synchronous_standby_names"},
		{"local beside standbys", settings{"synchronous_commit": "local", "synchronous_standby_names": "*"}, usual, ""},
		{"remote_apply, durable", settings{"synchronous_commit": "remote_apply", "synchronous_standby_names": "*"}, durable, ""},
		{"says nothing", settings{"fsync": ""}, usual, "does not tell"},
	})
}

func TestMySQLIsJudgedByItsSettings(t *testing.T) {
	good := settings{
		"autocommit": "ON", "read_only": "OFF", "innodb_read_only": "OFF", "tx_read_only": "OFF",
		"innodb_flush_log_at_trx_commit": "1", "innodb_flush_log_at_timeout": "1", "innodb_flush_method": "O_DIRECT",
		"log_bin": "ON", "sql_log_bin": "ON", "sync_binlog": "1",
		"rpl_semi_sync_master_enabled": "OFF", "rpl_semi_sync_master_wait_point": "AFTER_COMMIT",
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
		{"no binary log", settings{"log_bin": "OFF"}, usual, ""},
		{"no binary log for this user, durable", settings{"sql_log_bin": "OFF"}, durable, "sql_log_bin OFF"},
		{"lazy binary log, durable", settings{"sync_binlog": "0"}, durable, "sync_binlog is 0"},
		{"lazy binary log", settings{"sync_binlog": "1000"}, usual, "sync_binlog is 1000"},
		{"lazy binary log, declared", settings{"sync_binlog": "0"}, halfMinute, ""},
		{"nosync, durable", settings{"innodb_flush_method": "nosync"}, durable, "nosync"},
		{"nosync, declared", settings{"innodb_flush_method": "nosync"}, halfMinute, ""},
		{"semi-synchronous after commit, durable", settings{"rpl_semi_sync_master_enabled": "ON"}, durable, "AFTER_SYNC"},
		{"semi-synchronous after commit", settings{"rpl_semi_sync_master_enabled": "ON"}, usual, ""},
		{"semi-synchronous after sync, durable", settings{"rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_master_wait_point": "AFTER_SYNC"}, durable, ""},
		{"says nothing", settings{"log_bin": ""}, usual, "does not tell"},
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
		t.Error("no dialect is taken for one")
	}
	for d, want := range map[Dialect]string{PostgreSQL: `"s"."t"`, MySQL: "`s`.`t`"} {
		if ddl, err := DDL(d, "s.t"); err != nil || !strings.Contains(ddl, "IF NOT EXISTS "+want+" (") {
			t.Errorf("%v: %v, %s", d, err, ddl)
		}
	}
}

func TestConfigThatIsWrongIsRefusedByTheNameOfTheField(t *testing.T) {
	for want, c := range map[string]Config{
		"connectors, db":     {Dialect: PostgreSQL},
		"dialect 0":          {},
		"table":              {Dialect: PostgreSQL, Table: "A"},
		"duplicate: must be": {Dialect: MySQL, Connectors: []driver.Connector{&turns{}}},
		"loss -1s":           {Dialect: PostgreSQL, Connectors: []driver.Connector{&turns{}}, Loss: -time.Second},
		"loss 1s: must not":  {Dialect: PostgreSQL, Connectors: []driver.Connector{&turns{}}, Loss: time.Second, Durable: true},
	} {
		if s, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
}
