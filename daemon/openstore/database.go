package openstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"snowfence.example/snowfence/internal/sqlsession"
	"snowfence.example/snowfence/store/sqlstore"
)

// Database is a database that holds tables of the user. It is safe for concurrent use.
type Database struct {
	*sql.DB
	MySQL bool   // or MariaDB; else PostgreSQL
	quote string // around identifiers
}

// Connect returns a pool on the primary of the database that a URL names, for tables that generators
// count in. It judges every connection of the driver by the URL's promises, as a store does. It
// connects when it is first used. A *[URLError] is returned for a wrong URL, or a file that can't be
// used.
func Connect(databaseURL string) (*Database, error) {
	config, err := sqlstore.ParseURL(databaseURL)
	if err == nil {
		err = config.CheckFiles()
	}
	if err != nil {
		return nil, refuse(databaseURL, err)
	}
	config.Driver = driverOf(config.Dialect, false, false)
	db, err := config.Pool()
	if err != nil {
		return nil, err
	}
	return newDatabase(db, config.Dialect), nil
}

func newDatabase(db *sql.DB, d sqlstore.Dialect) *Database {
	if d == sqlstore.MySQL {
		return &Database{db, true, "`"}
	}
	return &Database{db, false, `"`}
}

// OpenDatabase connects to the first host of a URL of PostgreSQL or MySQL that answers, for callers
// that only read. It may be a replica. It refuses the keys of a store: table, durable and
// loss. A *[URLError] is returned for a wrong URL, else the driver's error; neither shows a
// password.
func OpenDatabase(ctx context.Context, databaseURL string) (*Database, error) {
	config, err := sqlstore.ParseURL(databaseURL)
	switch {
	case err != nil:
	case config.Table != "" || config.Durable || config.Loss != 0:
		err = errors.New("table, durable and loss: are keys of a store, and must not be given for a database that is read")
	default:
		err = config.CheckFiles()
	}
	if err != nil {
		return nil, refuse(databaseURL, err)
	}
	config.Driver = driverOf(config.Dialect, false, true)
	connectors, err := config.Connectors()
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, connector := range connectors {
		db := sql.OpenDB(connector)
		err := db.PingContext(ctx)
		if err == nil {
			return newDatabase(db, config.Dialect), nil
		}
		failures = append(failures, err, db.Close())
	}
	return nil, errors.Join(failures...)
}

// Place returns the name of a table as statements have it, with the schema that holds it now. A session can look in another
// one later, if another client of a pooler changes it.
func (d *Database) Place(ctx context.Context, table string) (string, error) {
	schema, err := sqlsession.Home(ctx, d.DB, d.MySQL, table)
	return d.Quote(schema) + "." + d.Quote(table), err
}

// Quote makes a name of SQL out of any text.
func (d *Database) Quote(name string) string {
	return d.quote + strings.ReplaceAll(name, d.quote, d.quote+d.quote) + d.quote
}
