package openstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store/sqlstore"
)

// openSQL opens the store that a URL of PostgreSQL, MySQL or MariaDB names.
func openSQL(ctx context.Context, config sqlstore.Config, existing bool) (*sqlstore.Store, error) {
	config.Existing, config.Driver = existing, driverOf(config.Dialect, true, false)
	return sqlstore.Open(ctx, config)
}

// driverOf returns the driver of a dialect. Whole means that statements are sent whole, in one
// go, with their arguments in the text: only for arguments of digits, which are the same in every
// character set. It is of MySQL alone: PostgreSQL takes arguments beside the text. Stream means that
// one request may have any number of rows.
func driverOf(d sqlstore.Dialect, whole, stream bool) sqlstore.Driver {
	if d == sqlstore.MySQL {
		connector := func(server sqlstore.Server) (driver.Connector, error) { return mysqlConnector(server, whole, stream) }
		return sqlstore.Driver{Connector: connector, Duplicate: duplicateKey}
	}
	return sqlstore.Driver{Connector: func(server sqlstore.Server) (driver.Connector, error) { return postgresConnector(server, stream) }}
}

// duplicateKey reports whether an error is MySQL's for a row whose key exists.
func duplicateKey(err error) bool {
	const number = 1062 // ER_DUP_ENTRY
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == number
}

// postgresConnector makes connections to one server by pgx.
func postgresConnector(server sqlstore.Server, stream bool) (driver.Connector, error) {
	// The library makes a config only of a text, and fills it from files and the environment; the lines
	// below set the fields that matter.
	config, err := pgx.ParseConfig("host=localhost port=5432 user=snowfence dbname=snowfence sslmode=disable passfile='' target_session_attrs=any")
	if err != nil {
		return nil, fmt.Errorf("prepare driver: %w", err)
	}
	config.Host, config.Port, config.Fallbacks = server.Host, server.Port, nil
	config.User, config.Database, config.Password = server.User, server.Database, ""
	config.TLSConfig = server.TLS
	config.RuntimeParams = map[string]string{"application_name": "snowfence"}

	// Statements are sent whole, in one go, and not prepared first: behind a
	// pooler in transaction mode the next one may meet another session.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0

	config.DialFunc = dialUncancelled
	address := net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		// The driver ends the connection, since it reads an error.
		guard := storeclient.NewGuard(address, &postgresAnswers{reply: reply{stream: stream}}, func() error { return nil })
		return pgproto3.NewFrontend(guard.Reader(r), guard.Writer(w))
	}
	config.OnPgError = func(_ *pgconn.PgConn, refused *pgconn.PgError) bool {
		// A connection that was made when its server still was the primary is useless now; the next
		// call makes another one.
		const readOnly = "25006" // read_only_sql_transaction
		return refused.Severity != "FATAL" && refused.SeverityUnlocalized != "FATAL" && refused.Code != readOnly
	}
	return surviving{stdlib.GetConnector(*config, stdlib.OptionBeforeConnect(func(_ context.Context, config *pgx.ConnConfig) (err error) {
		config.Password, err = server.Password()
		return err
	})), address}, nil
}

// mysqlConnector makes connections to one server by go-sql-driver.
func mysqlConnector(server sqlstore.Server, whole, stream bool) (driver.Connector, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		guard := storeclient.NewGuard(address, &mysqlAnswers{reply: reply{stream: stream}, encrypted: server.TLS != nil}, connection.Close)
		if into, ok := ctx.Value(guardKey{}).(**storeclient.Guard); ok {
			*into = guard
		}
		return guard.Conn(connection), nil
	}
	config.User, config.DBName = server.User, server.Database
	config.TLS = server.TLS
	config.Logger = &mysql.NopLogger{} // or it writes to standard error

	config.InterpolateParams = whole
	if !whole {
		// A server goes on waiting for a lock when its client has left: 50 s by default.
		config.Params = map[string]string{"innodb_lock_wait_timeout": "10"}
	}

	// A server that reports that it is read-only has done nothing. The connection
	// is given up then, and the statement sent to the server that took over.
	config.RejectReadOnly = true

	if err := config.Apply(mysql.BeforeConnect(func(_ context.Context, config *mysql.Config) (err error) {
		config.Passwd, err = server.Password()
		return err
	})); err != nil {
		return nil, fmt.Errorf("prepare driver: %w", err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("prepare driver: %w", err)
	}
	return surviving{connector, config.Addr}, nil
}

// uncancelled is a connection whose statements can't be cancelled on the server.
//
// When a context ends, pgx closes the connection and asks the server by another
// one to cancel the statement. But a commit that waits for a standby is not
// undone by that: it stops waiting, and everybody sees a write that a failover still takes away. So a
// dial for that, by the connection's address, must fail.
type uncancelled struct{ net.Conn }

const networkOfUncancelled = "uncancelled"

func (c uncancelled) RemoteAddr() net.Addr { return unreachable{c.Conn.RemoteAddr()} }

// unreachable is an address that dialUncancelled refuses.
type unreachable struct{ net.Addr }

func (unreachable) Network() string { return networkOfUncancelled }

// dialUncancelled makes connections for pgx.
func dialUncancelled(ctx context.Context, network, address string) (net.Conn, error) {
	if network == networkOfUncancelled {
		return nil, errors.New("statements are not cancelled")
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return uncancelled{connection}, nil
}
