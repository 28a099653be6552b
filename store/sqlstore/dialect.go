package sqlstore

import (
	"cmp"
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// A Dialect is the SQL that a server speaks.
type Dialect int

// The dialects. The zero value is none of them.
const (
	PostgreSQL Dialect = iota + 1
	MySQL              // and MariaDB
)

// String returns the dialect's name, which is the engine's name too:
// "postgresql" or "mysql".
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "postgresql"
	case MySQL:
		return "mysql"
	}
	return fmt.Sprintf("dialect %d", int(d))
}

// DefaultTable is the table of a store whose config names none.
const DefaultTable = "snowfence_registers"

// pageSize is how many registers List reads at a time: a megabyte at most.
const pageSize = 250

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

// DDL returns the statement that creates the table, for those who create it by
// hand. An empty table means DefaultTable. It returns an error that names the
// table if that is not a valid one.
func DDL(d Dialect, table string) (string, error) {
	table = cmp.Or(table, DefaultTable)
	if err := validateTable(d, table); err != nil {
		return "", err
	}
	text := postgresDDL
	if d == MySQL {
		text = mysqlDDL
	}
	return strings.ReplaceAll(text, "{table}", d.quote(table)), nil
}

// statements are the queries of a table. Each is one statement that is its own
// transaction and leaves nothing behind in the session, so that a transaction
// pooler may stand between.
//
// The server locks the row and compares with its newest version. At PostgreSQL's READ
// COMMITTED, and at MySQL's levels from READ COMMITTED on, a swap that comes second
// finds no row. From PostgreSQL's REPEATABLE READ on it may fail with a serialization
// failure instead: the caller reads again, which is right and slower. At MySQL's READ
// UNCOMMITTED a swap that hangs at its commit is shown, to its own sender too, who takes
// it for acknowledged; so that level is refused.
type statements struct {
	get     string // key → token, value, both NULL if there is no register, and whether the server is a replica now
	create  string // key, token, value; affects one row or, in MySQL, fails
	replace string // new token, value, key, token that guards; affects one row or none
	list    string // from, to → key, token, value
	now     string // → microseconds since 1970 in UTC, whatever the time zone
}

func (d Dialect) statements(table string) statements {
	t := d.quote(table)
	if d == MySQL {
		// Plain INSERT says 1062 where the key exists. INSERT IGNORE would turn other
		// failures into warnings, ON DUPLICATE KEY UPDATE counts differently under the
		// client's flag for found rows, and WHERE NOT EXISTS does not see what another
		// transaction has not committed yet.
		//
		// Bytes travel as hexadecimal digits, which mean the same in every character set
		// that a connection can be in.
		return statements{
			get:     "SELECT r.`token`, r.`value`, @@read_only FROM (SELECT 1) AS one LEFT JOIN " + t + " AS r ON r.`key` = UNHEX(?)",
			create:  "INSERT INTO " + t + " (`key`, `token`, `value`) VALUES (UNHEX(?), UNHEX(?), UNHEX(?))",
			replace: "UPDATE " + t + " SET `token` = UNHEX(?), `value` = UNHEX(?) WHERE `key` = UNHEX(?) AND `token` = UNHEX(?)",
			list: "SELECT `key`, `token`, `value` FROM " + t + " WHERE `key` >= UNHEX(?) AND `key` < UNHEX(?)" +
				fmt.Sprintf(" ORDER BY `key` LIMIT %d", pageSize),
			now: "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
		}
	}
	return statements{
		get:     "SELECT r.token, r.value, CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END FROM (SELECT 1) AS one LEFT JOIN " + t + " AS r ON r.key = $1",
		create:  "INSERT INTO " + t + " (key, token, value) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING",
		replace: "UPDATE " + t + " SET token = $1, value = $2 WHERE key = $3 AND token = $4",
		list: "SELECT key, token, value FROM " + t + " WHERE key >= $1 AND key < $2" +
			fmt.Sprintf(" ORDER BY key LIMIT %d", pageSize),
		now: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
	}
}

// bytes returns the argument that stands for bytes in a statement.
func (d Dialect) bytes(b []byte) any {
	if d == MySQL {
		return hex.EncodeToString(b)
	}
	if b == nil {
		b = []byte{} // nil would be NULL
	}
	return b
}

// quote returns a valid table's name as statements have it.
func (d Dialect) quote(table string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(table, ".", mark+"."+mark) + mark
}

// tableName matches the names that need no escaping in any dialect and mean the same in
// all. Each part has at most 63 bytes, PostgreSQL's limit; MySQL's is 64.
var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62})?$`)

func validateTable(d Dialect, table string) error {
	if d != PostgreSQL && d != MySQL {
		return fmt.Errorf("sqlstore: %v: must be PostgreSQL or MySQL", d)
	}
	if !tableName.MatchString(table) {
		return fmt.Errorf("sqlstore: table %.80q: must be name or schema.name, each of 1 to 63 bytes of [a-z0-9_] that begin with none of [0-9]", table)
	}
	return nil
}
