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

// The dialects. The zero value is invalid.
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

// DefaultTable is the table of a store whose config leaves it empty.
const DefaultTable = "snowfence_registers"

// pageSize is how many registers List reads at a time: a megabyte at most.
const pageSize = 250

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

// DDL returns the statement that creates the table, for operators who create it by hand. An empty table
// means DefaultTable. It returns an error that names the table if that is not a valid one.
func DDL(d Dialect, table string) (string, error) {
	table = cmp.Or(table, DefaultTable)
	if err := validateTable(d, table); err != nil {
		return "", err
	}
	return d.ddl(place(table)), nil
}

func (d Dialect) ddl(table tablePlace) string {
	text := postgresDDL
	if d == MySQL {
		text = mysqlDDL
	}
	return strings.ReplaceAll(text, "{table}", d.quote(table))
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

// text returns the argument that is compared with the settings of a session.
func (d Dialect) text(settings string) any {
	if d == MySQL {
		return strings.ToUpper(hex.EncodeToString([]byte(settings)))
	}
	return settings
}

// tablePlace is a table and its schema, which MySQL calls database. Without a schema the
// session decides.
type tablePlace struct {
	schema, name string
	named        string // as the config has it, for errors
}

// place reads a valid table's name.
func place(table string) tablePlace {
	if schema, name, ok := strings.Cut(table, "."); ok {
		return tablePlace{schema, name, table}
	}
	return tablePlace{name: table, named: table}
}

// String returns the table's name as a config has it.
func (p tablePlace) String() string { return p.named }

// quote returns a table's name as statements have it.
func (d Dialect) quote(p tablePlace) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	name := mark + p.name + mark
	if p.schema != "" {
		name = mark + strings.ReplaceAll(p.schema, mark, mark+mark) + mark + "." + name
	}
	return name
}

// tableName matches the names that mean the same in every dialect, unescaped. Each part has at most 63
// bytes, PostgreSQL's limit; MySQL's is 64.
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
