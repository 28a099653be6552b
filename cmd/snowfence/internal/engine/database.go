package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"snowfence.example/snowfence/store/sqlstore"
)

// Database is a database that holds somebody's data and no store of ours: it is
// read, and nothing is made in it. It is safe for concurrent use.
type Database struct {
	*sql.DB
	quote string // around identifiers
}

// OpenDatabase connects to the database that a URL of PostgreSQL or MySQL names,
// as [Open] would do: to the first of its hosts that answers. The keys of a
// store, table, durable, loss and whole-pages, have no place in it. A *[URLError]
// is returned for a URL that is not right, else the driver's error; neither shows
// a password.
func OpenDatabase(ctx context.Context, databaseURL string) (*Database, error) {
	refuse := func(reason string) error { return &URLError{Redact(databaseURL), reason} }
	address, err := sqlstore.ParseURL(databaseURL)
	switch {
	case err != nil:
		return nil, refuse(strings.TrimPrefix(err.Error(), "sqlstore: URL: "))
	case address.Table != "" || address.Durable || address.Loss != 0 || address.WholePages:
		return nil, refuse("table, durable, loss and whole-pages: are keys of a store, and must not be given for a database that is read")
	}
	if _, err := address.ReadPassword(); err != nil {
		return nil, err
	}
	quote, connector := `"`, postgresConnector
	if address.Dialect == sqlstore.MySQL {
		quote, connector = "`", mysqlConnector
	}
	var failures []error
	for _, endpoint := range address.Hosts {
		db, err := connect(ctx, address, endpoint, connector)
		if err == nil {
			return &Database{db, quote}, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// connect makes a pool of connections to one server, and one connection.
func connect(ctx context.Context, address sqlstore.Address, endpoint string, connector func(sqlstore.Address, string) (driver.Connector, error)) (*sql.DB, error) {
	c, err := connector(address, endpoint)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Quote makes a name of SQL out of any text.
func (d *Database) Quote(name string) string {
	return d.quote + strings.ReplaceAll(name, d.quote, d.quote+d.quote) + d.quote
}
