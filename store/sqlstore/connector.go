package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
)

const (
	dialLimit = 3 * time.Second // of one attempt, until the server has reported its settings

	// connections is how many the store has at most, idleConnections how many
	// of them wait for work.
	connections, idleConnections = 8, 4

	// connectionLife is how long a connection is used, and so how long a change of the
	// server's settings can go unnoticed.
	connectionLife = time.Minute
)

// Pool returns a small pool on the endpoints, as a store has it: for tables of other systems in
// the same database. It tries the servers in turn, and judges every new connection by the config's
// promises. It connects when it is first used. It returns the errors of [Config.Connectors].
func (c Config) Pool() (*sql.DB, error) {
	connectors, err := c.Connectors()
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&turns{connectors: connectors, dialect: c.Dialect, promise: c.promise()})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(idleConnections)
	db.SetConnMaxLifetime(connectionLife)
	return db, nil
}

// turns is a driver.Connector that tries several servers in turn, and takes
// the first that answers and is fit.
type turns struct {
	storeclient.Turns
	connectors []driver.Connector
	dialect    Dialect
	promise    promise
}

// Connect implements driver.Connector. Nothing but the settings is asked for
// on a connection that it gives up.
func (t *turns) Connect(ctx context.Context) (driver.Conn, error) {
	try := func(c driver.Connector) (driver.Conn, error) { return t.connect(ctx, c) }
	return storeclient.InTurn(&t.Turns, t.connectors, try, func(err error) storeclient.Outcome {
		switch {
		case err == nil:
			return storeclient.Answered
		case ctx.Err() != nil: // the next one would fail as well
			return storeclient.Unknown
		}
		return storeclient.Unsent
	})
}

func (t *turns) connect(ctx context.Context, c driver.Connector) (driver.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	connection, err := c.Connect(limited)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := inspect(limited, connection, t.dialect, t.promise); err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return connection, nil
}

// Driver implements driver.Connector.
func (t *turns) Driver() driver.Driver { return t.connectors[0].Driver() }
