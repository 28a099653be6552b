package engine

import (
	"context"
	"database/sql"
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

// OpenDatabase connects to the first host that answers of a URL of PostgreSQL or MySQL.
// The keys of a store, table, durable, loss and whole-pages, have no place in it. A
// *[URLError] is returned for a wrong URL, else the driver's error; neither shows a
// password.
func OpenDatabase(ctx context.Context, databaseURL string) (*Database, error) {
	config, err := sqlstore.ParseURL(databaseURL)
	switch {
	case err != nil:
	case config.Table != "" || config.Durable || config.Loss != 0 || config.WholePages:
		err = errors.New("table, durable, loss and whole-pages: are keys of a store, and must not be given for a database that is read")
	default:
		err = config.CheckFiles()
	}
	if err != nil {
		return nil, refuse(databaseURL, err)
	}
	quote := `"`
	if config.Dialect == sqlstore.MySQL {
		quote = "`"
	}
	config.Driver = driverOf(config.Dialect)
	connectors, err := config.Connectors()
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, connector := range connectors {
		db := sql.OpenDB(connector)
		err := db.PingContext(ctx)
		if err == nil {
			return &Database{db, quote}, nil
		}
		failures = append(failures, err, db.Close())
	}
	return nil, errors.Join(failures...)
}

// Quote makes a name of SQL out of any text.
func (d *Database) Quote(name string) string {
	return d.quote + strings.ReplaceAll(name, d.quote, d.quote+d.quote) + d.quote
}
