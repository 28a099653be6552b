package sqlstore

import (
	"fmt"
	"strings"

	"snowfence.example/snowfence/internal/sqlsession"
)

// statements are the queries of a table. Each is one statement that is its own
// transaction and leaves nothing behind in the session, so that a transaction
// pooler may stand between. The statement sees the settings that other clients of the pooler leave
// behind: a swap takes effect only in a session with the judged settings, and a read
// returns them.
//
// The server locks the row and compares with its newest version. At PostgreSQL's READ
// COMMITTED, and at MySQL's levels from READ COMMITTED on, a swap that comes second misses its row.
// From PostgreSQL's REPEATABLE READ on it may fail with a serialization failure instead: the caller
// reads again, which is right and slower. At MySQL's READ UNCOMMITTED a swap that hangs at its commit
// is shown, to its own sender too, who takes it for acknowledged; so that level is refused.
type statements struct {
	session string // → settings and, of PostgreSQL, the kind of the table; a proof of it costs more than a swap may
	get     string // key → token, value and settings, if there is a register
	look    string // key → as get, with NULLs for a missing key; slower
	create  string // key, token, value, settings
	replace string // new token, value, key, token that guards, settings
	list    string // from, to → key, token, value
	now     string // → microseconds since 1970 in UTC, whatever the time zone
}

// expression is a statement's reading of its session.
type expression struct {
	names      []string
	expression string
}

// postgresNames returns the settings of PostgreSQL that matter, and that each release has. The last one may hold any character.
func postgresNames() []string {
	return []string{
		"role", "fsync", "full_page_writes", "zero_damaged_pages", "ignore_checksum_failure",
		"synchronous_commit", "wal_writer_delay", "transaction_read_only", "synchronous_standby_names",
	}
}

// sessionOf returns the expression for a session, and for a table if a quoted one is given. An operator
// may alter that. Then it has another file, or its row security is active: both cost less to read than
// its kind. The server parses and plans the expression for every statement. So its length counts.
func sessionOf(d Dialect, names []string, table string) expression {
	if d == MySQL {
		return expression{names, sqlsession.Expression(true, names)}
	}
	first := []string{"in_recovery", "data_sync_retry"}
	extra := []string{"CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'on' ELSE 'off' END", "COALESCE(pg_catalog.current_setting('data_sync_retry', true), '')"}
	if table != "" {
		first = append(first, "file", "row_security_active")
		extra = append(extra, "COALESCE(pg_catalog.pg_relation_filenode("+regclass(table)+"), 0)", "pg_catalog.row_security_active("+regclass(table)+")")
	}
	return expression{append(first, names...), sqlsession.Expression(false, names, extra...)}
}

// regclass returns the constant that stands for a table, which is quoted.
func regclass(table string) string {
	return "'" + strings.ReplaceAll(table, "'", "''") + "'::pg_catalog.regclass"
}

// statements returns the queries of a table, which is quoted.
func (e expression) statements(d Dialect, t string) statements {
	columns := "SELECT r.token, r.value, " + e.expression + " FROM "
	get, look := columns+t+" AS r WHERE r.", columns+"(SELECT 1) AS one LEFT JOIN "+t+" AS r ON r."
	page := fmt.Sprintf("LIMIT %d", pageSize)
	if d == MySQL {
		// Plain INSERT fails with 1062 where the key exists. INSERT IGNORE would turn other
		// failures into warnings, ON DUPLICATE KEY UPDATE counts differently under the
		// client's flag for found rows, and WHERE NOT EXISTS does not see the row that another
		// transaction has not committed yet.
		//
		// Bytes travel as hexadecimal digits, which mean the same in every character set
		// that a connection can be in.
		return statements{
			session: "SELECT " + e.expression + ", ''",
			get:     get + "`key` = UNHEX(?)",
			look:    look + "`key` = UNHEX(?)",
			create:  "INSERT INTO " + t + " (`key`, `token`, `value`) SELECT UNHEX(?), UNHEX(?), UNHEX(?) FROM DUAL WHERE HEX(" + e.expression + ") = ?",
			replace: "UPDATE " + t + " SET `token` = UNHEX(?), `value` = UNHEX(?) WHERE `key` = UNHEX(?) AND `token` = UNHEX(?) AND HEX(" + e.expression + ") = ?",
			list:    "SELECT `key`, `token`, `value` FROM " + t + " WHERE `key` >= UNHEX(?) AND `key` < UNHEX(?) ORDER BY `key` " + page,
			now:     "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
		}
	}
	fit := e.expression + " OPERATOR(pg_catalog.=) "
	return statements{
		session: "SELECT " + e.expression + ", " + postgresKind + " FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) " + regclass(t),
		get:     get + "key OPERATOR(pg_catalog.=) $1::pg_catalog.bytea",
		look:    look + "key OPERATOR(pg_catalog.=) $1::pg_catalog.bytea",
		create: "INSERT INTO " + t + " (key, token, value) SELECT $1::pg_catalog.bytea, $2::pg_catalog.bytea, $3::pg_catalog.bytea WHERE " + fit + "$4::pg_catalog.text" +
			" ON CONFLICT (key) DO NOTHING",
		replace: "UPDATE " + t + " AS r SET token = $1::pg_catalog.bytea, value = $2::pg_catalog.bytea WHERE r.key OPERATOR(pg_catalog.=) $3::pg_catalog.bytea AND " +
			"r.token OPERATOR(pg_catalog.=) $4::pg_catalog.bytea AND " + fit + "$5::pg_catalog.text",
		list: "SELECT key, token, value FROM " + t + " WHERE key OPERATOR(pg_catalog.>=) $1::pg_catalog.bytea AND key OPERATOR(pg_catalog.<) $2::pg_catalog.bytea ORDER BY key " + page,
		now:  "SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8",
	}
}
