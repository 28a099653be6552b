// Package sqlsession is about sessions of a database that other clients use too: behind a pooler, or in the pool
// of a program. A SET of one of them stays in the session. So a statement that writes reads the
// settings of the session that it runs in, and a judgement from the time of connecting proves nothing.
package sqlsession

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence"
)

// Settings are a session's settings, as text. One that it does not have is empty.
type Settings map[string]string

// separator stands between settings. Only the last one may hold it.
const separator = "|"

// Expression returns the SQL expression of a session's settings, which [Parse] reads. Of PostgreSQL it names
// everything with its schema, since the search path can be another client's. Extra are expressions of further settings, in
// the order of their names. Each name must be a setting that the server has.
func Expression(mysql bool, names []string, extra ...string) string {
	terms := append([]string{}, extra...)
	for _, name := range names {
		switch {
		case mysql && (name == "innodb_flush_method" || name == "wsrep_provider"):
			// Texts may be NULL, which CONCAT_WS would leave out. To ask that of each costs too much.
			terms = append(terms, "IFNULL(@@"+name+",'')")
		case mysql:
			terms = append(terms, "@@"+name)
		default:
			terms = append(terms, "pg_catalog.current_setting('"+name+"')")
		}
	}
	concat := "pg_catalog.concat_ws"
	if mysql {
		concat = "CONCAT_WS"
	}
	return concat + "('" + separator + "', " + strings.Join(terms, ", ") + ")"
}

// Parse reads the value of an expression whose settings have these names, extra's first. If it has
// fewer values, no setting is known.
func Parse(text string, names []string) Settings {
	s := make(Settings, len(names))
	values := strings.SplitN(text, separator, len(names))
	if len(values) < len(names) {
		return s
	}
	for i, value := range values {
		s[names[i]] = value
	}
	return s
}

// NoConnectionError is returned for a call that ended while it waited for a connection of a pool.
type NoConnectionError struct {
	Most int // connections of the pool, all in use; 0 if that is not known
	Err  error
}

func (e *NoConnectionError) Error() string {
	if e.Most == 0 {
		return "no connection came about in time: the server is away, or all connections of a pool behind this one are in use"
	}
	return fmt.Sprintf("all %d connections of the pool are in use: give it a pool of its own, or a larger one", e.Most)
}

// Unwrap returns how the call ended.
func (e *NoConnectionError) Unwrap() error { return e.Err }

// Connection takes a connection of a pool, or returns a *[NoConnectionError] when the context ends first.
func Connection(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	connection, err := db.Conn(ctx)
	if err != nil && err == ctx.Err() { //nolint:errorlint // a driver that was connecting returns more
		found := &NoConnectionError{Err: err}
		if s := db.Stats(); s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
			found.Most = s.MaxOpenConnections
		}
		err = found
	}
	return connection, err
}

// On lends a connection of a pool for one call. After an error it is closed: a session that another client has
// changed must not come back. A connection on which the driver sent nothing is replaced, as database/sql does it.
func On(ctx context.Context, db *sql.DB, call func(*sql.Conn) error) error {
	const most = 8 // connections that the server closed while they were idle
	for n := 1; ; n++ {
		connection, err := Connection(ctx, db)
		if err != nil {
			return err
		}
		err = call(connection)
		if err != nil {
			_ = connection.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = connection.Close() // it is in the pool again, or it is closed already
		if !errors.Is(err, driver.ErrBadConn) || n == most {
			return err
		}
	}
}

// Transaction makes a call in a transaction on a connection that [On] lends, and commits it. An error leaves the outcome
// open: the caller uses nothing that the call has reserved.
func Transaction(ctx context.Context, db *sql.DB, options *sql.TxOptions, call func(*sql.Tx) error) error {
	return On(ctx, db, func(connection *sql.Conn) error {
		tx, err := connection.BeginTx(ctx, options)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if err := call(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Home returns the schema that holds a table which is named without one, or would hold it; of MySQL the database. In
// PostgreSQL a session shows another table if another client has SET its search path, or has made a temporary table.
// Then it returns an error.
func Home(ctx context.Context, db *sql.DB, mysql bool, table string) (string, error) {
	var schema sql.NullString
	if mysql {
		err := db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&schema)
		if err == nil && !schema.Valid {
			err = errors.New("the connection has no database")
		}
		return schema.String, err
	}
	var changed, temporary bool
	err := db.QueryRowContext(ctx, home, table).Scan(&schema, &temporary, &changed)
	switch {
	case err != nil:
	case changed:
		err = fmt.Errorf("%w: search_path was SET in the session, perhaps by another client of a pooler: name the table with its schema", ErrHidden)
	case temporary:
		err = fmt.Errorf("%w: a temporary table of the session hides it, perhaps of another client of a pooler: name the table with its schema", ErrHidden)
	case !schema.Valid:
		err = fmt.Errorf("%w: search_path names no schema that exists: name the table with its schema", ErrHidden)
	}
	return schema.String, err
}

// ErrHidden is wrapped by an error of Home for a table that a session can't identify.
var ErrHidden = errors.New("it is not certain which table is meant")

const home = `SELECT COALESCE(found.nspname::pg_catalog.text, pg_catalog.current_schema()::pg_catalog.text),
COALESCE(found.relpersistence OPERATOR(pg_catalog.=) 't', false),
(SELECT s.setting OPERATOR(pg_catalog.<>) s.reset_val FROM pg_catalog.pg_settings AS s WHERE s.name OPERATOR(pg_catalog.=) 'search_path')
FROM (SELECT pg_catalog.to_regclass(pg_catalog.quote_ident($1)) AS oid) AS named LEFT JOIN
(SELECT c.oid, c.relpersistence, n.nspname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace) AS found
ON found.oid OPERATOR(pg_catalog.=) named.oid`

// ErrUnfit is wrapped by the error for a transaction whose commit can be lost.
var ErrUnfit = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: a commit in this session of the database can be lost")

// Lasting returns the expression of the settings by which the commit of a transaction lasts. It is read within that
// transaction, by a statement that is sent anyway, and [Lasts] judges it before the commit.
func Lasting(mysql bool) string {
	return Expression(mysql, lasting(mysql))
}

// Lasts returns an error that names the setting if a commit in a session may be lost.
func Lasts(mysql bool, text string) error {
	const who = "another client of a pooler may have set it in the session"
	switch {
	case mysql:
		s := Parse(text, lasting(true))
		off := func(value string) bool { return value == "0" || value == "OFF" }
		if !off(s["log_bin"]) && off(s["sql_log_bin"]) {
			return fmt.Errorf("%w: sql_log_bin is %s: must be ON where log_bin is; %s", ErrUnfit, s["sql_log_bin"], who)
		}
	case text == "off":
		return fmt.Errorf("%w: synchronous_commit is off: must not be; %s", ErrUnfit, who)
	}
	return nil
}

// lasting returns the names of the settings by which a commit lasts.
func lasting(mysql bool) []string {
	if mysql {
		return []string{"log_bin", "sql_log_bin"}
	}
	return []string{"synchronous_commit"}
}

// Numbered returns a statement with the placeholders of a dialect: PostgreSQL numbers them.
func Numbered(mysql bool, statement string) string {
	for n := 1; !mysql && strings.Contains(statement, "?"); n++ {
		statement = strings.Replace(statement, "?", fmt.Sprint("$", n), 1)
	}
	return statement
}

// Qualify returns a table's name with its schema, as statements have it.
func Qualify(mysql bool, schema, table string) string {
	mark := `"`
	if mysql {
		mark = "`"
	}
	return mark + strings.ReplaceAll(schema, mark, mark+mark) + mark + "." + table
}
