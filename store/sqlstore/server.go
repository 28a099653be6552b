package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ServerError is returned for a server or a table that is not one to stand on.
type ServerError struct {
	// Reason says what was found and what it must be.
	Reason string
}

func (e *ServerError) Error() string { return "sqlstore: " + e.Reason }

func unfit(format string, a ...any) error { return &ServerError{fmt.Sprintf(format, a...)} }

// settings are what a server says about itself, as text.
type settings map[string]string

const (
	// The view shows what holds in this session, be it set for the server, the
	// database or the user.
	postgresSettings = `SELECT name, setting FROM pg_settings WHERE name IN
('fsync', 'synchronous_commit', 'synchronous_standby_names', 'wal_writer_delay', 'transaction_read_only')
UNION ALL SELECT 'in_recovery', CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END`

	// Variables that the server does not know are left out of the answer.
	mysqlSettings = `SHOW VARIABLES WHERE Variable_name IN
('autocommit', 'read_only', 'super_read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only',
'innodb_flush_log_at_trx_commit', 'innodb_flush_log_at_timeout', 'innodb_flush_method',
'log_bin', 'sql_log_bin', 'sync_binlog',
'rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_wait_point',
'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_wait_point')`
)

// inspect asks the server at the other end of a connection for its settings,
// and judges them.
func inspect(ctx context.Context, connection driver.Conn, d Dialect, p promise) error {
	query, judge := postgresSettings, judgePostgres
	if d == MySQL {
		query, judge = mysqlSettings, judgeMySQL
	}
	found, err := pairs(ctx, connection, query)
	if err != nil {
		return fmt.Errorf("sqlstore: read settings: %w", err)
	}
	return judge(found, p)
}

// judgePostgres returns a *ServerError if the settings are not those of a
// primary that keeps what is promised.
func judgePostgres(s settings, p promise) error {
	for _, name := range []string{"fsync", "synchronous_commit", "wal_writer_delay", "transaction_read_only"} {
		if s[name] == "" {
			return unfit("the server does not tell its setting %s", name)
		}
	}
	commit, standbys := s["synchronous_commit"], s["synchronous_standby_names"]
	switch {
	case s["in_recovery"] != "off":
		return unfit("the server is a standby: its primary decides")
	case s["transaction_read_only"] != "off":
		return unfit("transaction_read_only is %s: must be off", s["transaction_read_only"])
	case s["fsync"] != "on" && !p.declared:
		return unfit("fsync is %s: must be on, unless a loss is given and a machine that crashed never comes back with its own disk", s["fsync"])
	case commit == "off" && p.durable:
		return unfit("synchronous_commit is off: must not be for a durable store")
	case commit == "local" && p.durable && standbys != "":
		return unfit("synchronous_commit is local and synchronous_standby_names is %q: commits must wait for the standbys of a durable store", standbys)
	case commit == "off":
		// The manual: at most three times wal_writer_delay, which is in
		// milliseconds here.
		delay, err := strconv.Atoi(s["wal_writer_delay"])
		most := 3 * time.Duration(delay) * time.Millisecond
		if err != nil || p.loss < most {
			return unfit("synchronous_commit is off and wal_writer_delay %s ms: the loss must be at least three times that, and is %v", s["wal_writer_delay"], p.loss)
		}
	}
	return nil
}

// judgeMySQL returns a *ServerError if the settings are not those of a primary
// that keeps what is promised.
func judgeMySQL(s settings, p promise) error {
	for _, name := range []string{"read_only", "super_read_only", "innodb_read_only", "transaction_read_only", "tx_read_only"} {
		if value := s[name]; value != "" && !off(value) {
			return unfit("%s is %s: a replica, or a primary that was replaced; must be OFF", name, value)
		}
	}
	flush, binlog, sync := s["innodb_flush_log_at_trx_commit"], s["log_bin"], s["sync_binlog"]
	switch {
	case flush == "" || s["innodb_flush_log_at_timeout"] == "" || binlog == "":
		return unfit("the server does not tell its settings innodb_flush_log_at_trx_commit, innodb_flush_log_at_timeout and log_bin")
	case off(s["autocommit"]):
		return unfit("autocommit is %s: must be ON, or nothing would ever be committed", s["autocommit"])
	case strings.EqualFold(s["innodb_flush_method"], "nosync") && !p.declared:
		return unfit("innodb_flush_method is nosync: must be another, unless a loss is given and a machine that crashed never comes back with its own disk")
	case !off(binlog) && sync != "1" && !p.durable && !p.declared:
		// After a crash InnoDB rolls back what the binary log has not.
		return unfit("sync_binlog is %s: must be 1, unless a loss is given that covers what the system has not written yet", sync)
	}
	if p.durable {
		return judgeDurableMySQL(s)
	}
	// 3 is MariaDB's, and syncs more often than 1.
	if flush != "1" && flush != "3" {
		seconds, err := strconv.Atoi(s["innodb_flush_log_at_timeout"])
		if most := 2 * time.Duration(seconds) * time.Second; err != nil || p.loss < most {
			return unfit("innodb_flush_log_at_trx_commit is %s and innodb_flush_log_at_timeout %s s: the loss must be at least twice that, and is %v",
				flush, s["innodb_flush_log_at_timeout"], p.loss)
		}
	}
	return nil
}

func judgeDurableMySQL(s settings) error {
	flush := s["innodb_flush_log_at_trx_commit"]
	switch {
	case flush != "1" && flush != "3":
		return unfit("innodb_flush_log_at_trx_commit is %s: must be 1 for a durable store", flush)
	case off(s["log_bin"]) || off(s["sql_log_bin"]):
		// Without it InnoDB shows a commit to others before it is on the disk: a
		// read could return what a crash still takes away. With it, the log is
		// synced first.
		return unfit("log_bin is %s and sql_log_bin %s: must be ON for a durable store, because InnoDB alone shows commits before they are on the disk", s["log_bin"], s["sql_log_bin"])
	case s["sync_binlog"] != "1":
		return unfit("sync_binlog is %s: must be 1 for a durable store", s["sync_binlog"])
	}
	for _, name := range []string{"rpl_semi_sync_master", "rpl_semi_sync_source"} {
		enabled, point := s[name+"_enabled"], s[name+"_wait_point"]
		if enabled != "" && !off(enabled) && strings.EqualFold(point, "AFTER_COMMIT") {
			return unfit("%s_wait_point is %s: must be AFTER_SYNC for a durable store, because a commit is shown before a replica has it", name, point)
		}
	}
	return nil
}

// off reports whether a MySQL switch is off.
func off(value string) bool { return strings.EqualFold(value, "OFF") || value == "0" }

// pairs asks a query without arguments whose rows are a name and a value.
func pairs(ctx context.Context, connection driver.Conn, query string) (_ settings, err error) {
	asker, ok := connection.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver must offer QueryContext")
	}
	rows, err := asker.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if n := len(rows.Columns()); n != 2 {
		return nil, fmt.Errorf("%d columns, want 2", n)
	}
	found := make(settings)
	for row := make([]driver.Value, 2); ; {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found[text(row[0])] = text(row[1])
	}
}

// text returns a column's text, which drivers give as one or the other.
func text(value driver.Value) string {
	if b, ok := value.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(value)
}
