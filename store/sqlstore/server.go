package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/sqlsession"
)

// ServerError is returned for a server or a table that is not one to stand on.
type ServerError struct {
	// Reason has the found value and the required one.
	Reason string
}

func (e *ServerError) Error() string { return "sqlstore: " + e.Reason }

func unfit(format string, a ...any) error { return &ServerError{fmt.Sprintf(format, a...)} }

// settings are the settings of a session and its server, as text.
type settings = sqlsession.Settings

const (
	// Variables that the server does not know are left out of the answer.
	mysqlSettings = `SHOW VARIABLES WHERE Variable_name IN
('autocommit', 'in_transaction', 'binlog_format', 'read_only', 'super_read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only',
'transaction_isolation', 'tx_isolation', 'innodb_doublewrite', 'innodb_force_recovery',
'innodb_flush_log_at_trx_commit', 'innodb_flush_log_at_timeout', 'innodb_flush_method',
'log_bin', 'sql_log_bin', 'sync_binlog', 'wsrep_on', 'wsrep_provider',
'rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_master_timeout', 'rpl_semi_sync_master_wait_no_slave',
'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_wait_point', 'rpl_semi_sync_source_timeout', 'rpl_semi_sync_source_wait_no_replica')`
)

// A rule is the required value of one setting, under any promise.
type rule struct {
	name string
	fit  []string // the values that will do, in any case
	why  string

	excused bool // by a loss that is given
	silent  bool // a server that does not report it is fit
}

// postgresRules must hold for PostgreSQL.
func postgresRules() []rule {
	return []rule{
		{name: "in_recovery", fit: []string{"off"}, why: "the server is a standby, and its primary decides"},
		{name: "transaction_read_only", fit: []string{"off"}, why: "a standby, or a primary that was replaced"},
		{name: "row_security_active", fit: []string{"f"}, why: "rows may be hidden", silent: true}, // reported of a table alone
		{name: "fsync", fit: []string{"on"}, excused: true},
		{name: "full_page_writes", fit: []string{"on"}, excused: true},
		{name: "data_sync_retry", fit: []string{"off"}, why: "a sync that succeeds after one that failed proves nothing", silent: true},
		{name: "zero_damaged_pages", fit: []string{"off"}, why: "registers would vanish"},
		{name: "ignore_checksum_failure", fit: []string{"off"}, why: "damaged registers would be read"},
	}
}

// mysqlRules must hold for MySQL and MariaDB.
func mysqlRules() []rule {
	const (
		replica     = "a replica, or a primary that was replaced"
		uncommitted = "reads would show swaps that are never committed"
	)
	yes, no := []string{"ON", "1"}, []string{"OFF", "0"}
	committed := []string{"REPEATABLE-READ", "READ-COMMITTED", "SERIALIZABLE"}
	return []rule{
		{name: "read_only", fit: no, why: replica, silent: true},
		{name: "super_read_only", fit: no, why: replica, silent: true},
		{name: "innodb_read_only", fit: no, why: replica, silent: true},
		{name: "transaction_read_only", fit: no, why: replica, silent: true},
		{name: "tx_read_only", fit: no, why: replica, silent: true},
		// Newer servers have one of these names, older ones the other, some both.
		{name: "transaction_isolation", fit: committed, why: uncommitted, silent: true},
		{name: "tx_isolation", fit: committed, why: uncommitted, silent: true},
		{name: "autocommit", fit: yes, why: "nothing would ever be committed otherwise"},
		{name: "in_transaction", fit: no, why: "nothing would be committed before that transaction", silent: true},
		{name: "innodb_force_recovery", fit: []string{"0"}, why: "the server is under repair", silent: true},
		{name: "innodb_doublewrite", fit: []string{"ON", "1", "DETECT_AND_RECOVER", "fast"}, excused: true},
	}
}

// never is how long a semi-synchronous primary must wait for a replica at the
// least so that it counts as never giving up, in milliseconds: a day.
const never = 24 * 60 * 60 * 1000

// inspect asks the server at the other end of a connection for its settings,
// and judges them.
func inspect(ctx context.Context, connection driver.Conn, d Dialect, p promise) error {
	query := mysqlSettings
	if d == PostgreSQL {
		query = "SELECT '', " + sessionOf(d, postgresNames(), "").expression
	}
	found, err := pairs(ctx, connection, query)
	if err != nil {
		return fmt.Errorf("sqlstore: read settings: %w", err)
	}
	if d == PostgreSQL {
		found = sqlsession.Parse(found[""], sessionOf(d, postgresNames(), "").names)
	}
	return d.judge(found, p)
}

func (d Dialect) judge(s settings, p promise) error {
	if d == MySQL {
		return judgeMySQL(s, p)
	}
	return judgePostgres(s, p)
}

// judge returns a *ServerError if the rule is broken.
func (r rule) judge(s settings, p promise) error {
	value := s[r.name]
	switch {
	case value == "" && r.silent, r.excused && p.declared:
		return nil
	case value == "":
		return unfit("the server does not report its setting %s", r.name)
	case slices.ContainsFunc(r.fit, func(fit string) bool { return strings.EqualFold(fit, value) }):
		return nil
	}
	reason := ": " + r.why
	if r.excused {
		reason = ", unless " + declared
	}
	return unfit("%s is %s: must be %s%s", r.name, value, strings.Join(r.fit, " or "), reason)
}

const declared = "a loss is given and a machine that crashed never comes back with its own disk"

// judgePostgres returns a *ServerError unless the settings belong to a primary that keeps the promise.
func judgePostgres(s settings, p promise) error {
	for _, r := range postgresRules() {
		if err := r.judge(s, p); err != nil {
			return err
		}
	}
	commit, standbys := s["synchronous_commit"], s["synchronous_standby_names"]
	switch {
	case commit == "" || s["wal_writer_delay"] == "":
		return unfit("the server does not report its settings synchronous_commit and wal_writer_delay")
	case commit == "off" && p.durable:
		return unfit("synchronous_commit is off: must not be for a durable store")
	case (commit == "local" || commit == "remote_write") && p.durable && standbys != "":
		return unfit("synchronous_commit is %s and synchronous_standby_names is %q: commits must wait until the standbys of a durable store have synced them", commit, standbys)
	case commit == "off":
		// The manual: at most three times wal_writer_delay.
		delay, err := time.ParseDuration(s["wal_writer_delay"])
		if err != nil || p.loss < 3*delay {
			return unfit("synchronous_commit is off and wal_writer_delay %s: the loss must be at least three times that, and is %v", s["wal_writer_delay"], p.loss)
		}
	}
	return nil
}

// judgeMySQL returns a *ServerError unless the settings belong to a primary that keeps the promise.
func judgeMySQL(s settings, p promise) error {
	for _, r := range mysqlRules() {
		if err := r.judge(s, p); err != nil {
			return err
		}
	}
	flush, binlog, sync, method := s["innodb_flush_log_at_trx_commit"], s["log_bin"], s["sync_binlog"], s["innodb_flush_method"]
	switch {
	case flush == "" || s["innodb_flush_log_at_timeout"] == "" || binlog == "":
		return unfit("the server does not report its settings innodb_flush_log_at_trx_commit, innodb_flush_log_at_timeout and log_bin")
	case s["transaction_isolation"]+s["tx_isolation"] == "":
		return unfit("the server reports neither its setting transaction_isolation nor tx_isolation")
	case (strings.EqualFold(method, "nosync") || strings.EqualFold(method, "littlesync")) && !p.declared:
		return unfit("innodb_flush_method is %s: must be another, unless %s", method, declared)
	case !off(binlog) && off(s["sql_log_bin"]):
		return unfit("sql_log_bin is %s: must be ON where log_bin is, or no replica ever learns of a swap", s["sql_log_bin"])
	case !off(binlog) && strings.EqualFold(s["binlog_format"], "STATEMENT"):
		return unfit("binlog_format is STATEMENT: must be ROW or MIXED, or a replica judges its own session by the statement of a swap")
	case off(s["wsrep_on"]) && s["wsrep_provider"] != "" && !strings.EqualFold(s["wsrep_provider"], "none"):
		return unfit("wsrep_on is %s and wsrep_provider %s: must be ON, or the rest of the cluster never learns of a swap", s["wsrep_on"], s["wsrep_provider"])
	case !off(binlog) && sync != "1" && !p.durable && !p.declared:
		// After a crash InnoDB rolls back transactions that the binary log lacks.
		return unfit("sync_binlog is %s: must be 1, unless a given loss covers writes that the system still holds in memory", sync)
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
	case off(s["log_bin"]):
		// Without it InnoDB shows a commit to others before it is on the disk: a read could return a
		// write that a crash still takes away. With it, the log is synced first.
		return unfit("log_bin is %s: must be ON for a durable store, because InnoDB alone shows commits before they are on the disk", s["log_bin"])
	case s["sync_binlog"] != "1":
		return unfit("sync_binlog is %s: must be 1 for a durable store", s["sync_binlog"])
	}
	if err := judgeSemiSync(s, "rpl_semi_sync_master_", "wait_no_slave"); err != nil {
		return err
	}
	return judgeSemiSync(s, "rpl_semi_sync_source_", "wait_no_replica")
}

// judgeSemiSync wants a primary that waits for replicas to show nothing before
// one has it, and not to give up. Its settings have an older and a newer name.
func judgeSemiSync(s settings, prefix, alone string) error {
	if enabled := s[prefix+"enabled"]; enabled == "" || off(enabled) {
		return nil
	}
	if point := s[prefix+"wait_point"]; strings.EqualFold(point, "AFTER_COMMIT") {
		return unfit("%swait_point is %s: must be AFTER_SYNC for a durable store, because a commit is shown before a replica has it", prefix, point)
	}
	// The greatest value may be that of an unsigned number.
	timeout := s[prefix+"timeout"]
	if ms, err := strconv.ParseUint(timeout, 10, 64); err != nil || ms < never {
		return unfit("%stimeout is %s ms: must be at least %d, a day, for a durable store, because commits are acknowledged after it though no replica has them", prefix, timeout, never)
	}
	if off(s[prefix+alone]) {
		return unfit("%s%s is %s: must be ON for a durable store, because commits are acknowledged while no replica is there", prefix, alone, s[prefix+alone])
	}
	return nil
}

// off reports whether a switch is off.
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
