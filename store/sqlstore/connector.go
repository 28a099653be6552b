package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// dialLimit bounds one attempt to connect to one server, from the first
	// packet to the answer about its settings.
	dialLimit = 3 * time.Second

	// connections is how many the store has at most, idleConnections how many
	// of them wait for work.
	connections, idleConnections = 8, 4

	// connectionLife is how long a connection is used before another one takes
	// its place, and so how long a change of the server's settings can go
	// unnoticed.
	connectionLife = time.Minute
)

// pool opens the store's own pool.
func (c Config) pool() *sql.DB {
	db := sql.OpenDB(&turns{connectors: c.Connectors, dialect: c.Dialect, promise: c.promise()})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(idleConnections)
	db.SetConnMaxLifetime(connectionLife)
	return db
}

// turns is a driver.Connector that tries several servers in turn, and takes
// the first that answers and is fit. It begins with the one that served last.
type turns struct {
	connectors []driver.Connector
	dialect    Dialect
	promise    promise
	turn       atomic.Uint64 // divided by their number, the rest is whose turn it is
}

// Connect implements driver.Connector. Nothing but the settings is asked for
// on a connection that it gives up.
func (t *turns) Connect(ctx context.Context) (driver.Conn, error) {
	var errs []error
	for range t.connectors {
		turn := t.turn.Load()
		connection, err := t.connect(ctx, t.connectors[turn%uint64(len(t.connectors))])
		if err == nil {
			return connection, nil
		}
		errs = append(errs, err)
		// Also when it was the caller who waited no longer: if no caller waits for
		// as long as a silent server takes to be given up, its turn must end too.
		t.turn.CompareAndSwap(turn, turn+1)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
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
