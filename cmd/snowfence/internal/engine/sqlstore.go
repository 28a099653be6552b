package engine

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"snowfence.example/snowfence/store/sqlstore"
)

// openPostgres opens the store that a URL of PostgreSQL names.
func openPostgres(ctx context.Context, address sqlstore.Address, existing bool) (*sqlstore.Store, error) {
	return openSQL(ctx, address, existing, postgresConnector)
}

// openMySQL opens the store that a URL of MySQL or MariaDB names.
func openMySQL(ctx context.Context, address sqlstore.Address, existing bool) (*sqlstore.Store, error) {
	return openSQL(ctx, address, existing, mysqlConnector)
}

func openSQL(ctx context.Context, address sqlstore.Address, existing bool, connector func(a sqlstore.Address, endpoint string) (driver.Connector, error)) (*sqlstore.Store, error) {
	// A file that can't be read is told of now, and not at the first connection.
	if _, err := address.ReadPassword(); err != nil {
		return nil, err
	}
	config := address.Config()
	config.Existing, config.Duplicate = existing, duplicateKey
	for _, endpoint := range address.Hosts {
		c, err := connector(address, endpoint)
		if err != nil {
			return nil, err
		}
		config.Connectors = append(config.Connectors, c)
	}
	return sqlstore.Open(ctx, config)
}

// duplicateKey reports whether an error is MySQL's for a row whose key exists.
func duplicateKey(err error) bool {
	const number = 1062 // ER_DUP_ENTRY
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == number
}

// postgresConnector makes connections to one server by pgx.
func postgresConnector(a sqlstore.Address, endpoint string) (driver.Connector, error) {
	host, port, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	// The library makes a config only of a text, and fills it from files and the
	// environment; what matters is set here.
	config, err := pgx.ParseConfig("host=localhost port=5432 user=snowfence dbname=snowfence sslmode=disable passfile='' target_session_attrs=any")
	if err != nil {
		return nil, fmt.Errorf("prepare driver: %w", err)
	}
	config.Host, config.Port, config.Fallbacks = host, port, nil
	config.User, config.Database, config.Password = a.User, a.Database, ""
	config.TLSConfig = serverTLS(a, host)
	config.RuntimeParams = map[string]string{"application_name": "snowfence"}

	// Statements are sent whole, in one go, and not prepared first: behind a
	// pooler in transaction mode the next one may meet another session.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0

	config.DialFunc = dialUncancelled
	config.OnPgError = func(_ *pgconn.PgConn, refused *pgconn.PgError) bool {
		// A connection that was made when its server still was the primary is of
		// no more use; the next call makes another one.
		const readOnly = "25006" // read_only_sql_transaction
		return refused.Severity != "FATAL" && refused.SeverityUnlocalized != "FATAL" && refused.Code != readOnly
	}
	return stdlib.GetConnector(*config, stdlib.OptionBeforeConnect(func(_ context.Context, config *pgx.ConnConfig) error {
		password, err := a.ReadPassword()
		config.Password = string(password)
		return err
	})), nil
}

// mysqlConnector makes connections to one server by go-sql-driver.
func mysqlConnector(a sqlstore.Address, endpoint string) (driver.Connector, error) {
	host, _, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", endpoint
	config.User, config.DBName = a.User, a.Database
	config.TLS = serverTLS(a, host)
	config.Logger = &mysql.NopLogger{} // or it writes to standard error

	// Statements are sent whole, in one go. The store's arguments are digits
	// alone, which no character set reads as anything else.
	config.InterpolateParams = true

	// A server that says that it is read-only has done nothing. The connection
	// is given up then, and the statement sent to the server that took over.
	config.RejectReadOnly = true

	if err := config.Apply(mysql.BeforeConnect(func(_ context.Context, config *mysql.Config) error {
		password, err := a.ReadPassword()
		config.Passwd = string(password)
		return err
	})); err != nil {
		return nil, fmt.Errorf("prepare driver: %w", err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("prepare driver: %w", err)
	}
	return connector, nil
}

// serverTLS returns the address's TLS configuration for one host, or nil.
func serverTLS(a sqlstore.Address, host string) *tls.Config {
	if a.TLS == nil {
		return nil
	}
	config := a.TLS.Clone()
	config.ServerName = host
	return config
}

func splitEndpoint(endpoint string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return host, uint16(n), err
}

// uncancelled is a connection whose server can't be asked to cancel what runs
// on it.
//
// When a context ends, pgx closes the connection and asks the server by another
// one to cancel the statement. But a commit that waits for a standby is not
// undone by that: it stops waiting, and shows to everybody what a failover
// still takes away. So whoever dials for that purpose, by the address of the
// connection, must fail.
type uncancelled struct{ net.Conn }

const networkOfUncancelled = "uncancelled"

// RemoteAddr implements net.Conn.
func (c uncancelled) RemoteAddr() net.Addr { return unreachable{c.Conn.RemoteAddr()} }

// unreachable is an address that dialUncancelled refuses.
type unreachable struct{ net.Addr }

// Network implements net.Addr.
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
