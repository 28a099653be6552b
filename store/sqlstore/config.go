package sqlstore

import (
	"cmp"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

// DefaultLoss is the loss of a store whose config neither sets one nor asserts
// that it is durable. A server's settings can't bound the lag of a replica that is promoted; whatever
// promotes it does. The default covers a failover that promotes none which lags by more than 10 s: 2 s
// more for a lag in whole seconds that is measured once a second, and 6 ms for a holder's clock that
// runs fast by
// 0.5 ms a second, come to 12.006 s. The rest is margin. Package fence wants it
// below a third of the window, which is 20 s by default.
const DefaultLoss = 15 * time.Second

// Secret is a text that packages fmt and log/slog do not show.
type Secret = storeurl.Secret

// TLS names files in PEM (CAFile, CertFile, KeyFile), which Open reads, or holds a
// *tls.Config. The zero value trusts the system's certificates.
type TLS = storeurl.TLS

// A Driver is the program's part of its database driver: this package does not import them.
//
// It may return driver.ErrBadConn only if the server did not take the statement, since
// database/sql then sends it again. pgx and go-sql-driver keep to this: they wrote
// nothing, or, go-sql-driver with rejectReadOnly, the server reported that it refused.
//
// Before synchronous standbys of PostgreSQL the driver must not ask the server to cancel
// a statement when a context ends: a commit that waits would be shown and acknowledged.
// pgx asks, unless its dialer refuses that request.
type Driver struct {
	// Connector returns a maker of connections to one server.
	Connector func(Server) (driver.Connector, error)

	// Duplicate reports whether an error is MySQL's number 1062, a duplicate
	// key, which only the driver's own type shows. Required for MySQL, and not
	// used for PostgreSQL.
	Duplicate func(error) bool
}

// Server is one server that a [Driver] connects to.
type Server struct {
	Host           string
	Port           uint16
	Database, User string

	// TLS is the host's configuration, with its name. Nil means no TLS.
	TLS *tls.Config

	// Password returns the password. It must be called for every new connection:
	// the password may change.
	Password func() (string, error)
}

// Config names the table and the server of the registers, and holds the operator's assertions. Its
// printed form hides the password.
type Config struct {
	// Dialect is the SQL that the server speaks. Required.
	Dialect Dialect

	// Endpoints are the primary and its replicas, each as host:port. The
	// store then has a small pool of its own, tries the servers in turn, and judges
	// every new connection. Either they or DB must be given.
	Endpoints []string

	// Database, User and Password are used to log in at the endpoints. The first line
	// of PasswordFile is the password instead. It is read at every new connection, so
	// it may change.
	Database, User string
	Password       Secret
	PasswordFile   string

	// TLS is used for every connection to the endpoints. Nil means no TLS. The
	// server's name is always the endpoint's own host; a ServerName is not used.
	TLS *TLS

	// Driver connects to the endpoints.
	Driver Driver `json:"-"`

	// DB is a pool of the caller's. The store judges one connection when it is
	// opened, and leaves the pool open when it is closed. It should be a small pool for the
	// store alone, of two connections: in a pool that the program's transactions use up, leases run
	// out, and ids stop.
	DB *sql.DB `json:"-"`

	// Table holds the registers: name or schema.name, of [a-z0-9_]. Empty means
	// DefaultTable.
	Table string

	// Existing refuses to create the table: it must be there already, or an error
	// that is [store.ErrNoStore] is returned. Set it to read others' registers.
	Existing bool

	// Durable asserts that every acknowledged swap lasts: no failover to a
	// replica that may lack some, and a disk that keeps synced data. A
	// server whose settings contradict it is refused.
	Durable bool

	// Loss is the greatest age of an acknowledged swap that a failover or a
	// crash can take away. Zero means DefaultLoss, or none if Durable is set.
	// A given loss covers settings that leave the loss unbounded, such
	// as PostgreSQL's fsync=off: the operator must keep such a server from coming back from its own
	// disk after its machine crashed.
	Loss time.Duration

	// Rand gives the random bytes of versions; nil means crypto/rand. It must be safe for concurrent
	// use, and must not repeat itself, because versions would.
	Rand io.Reader
}

// ParseURL returns the config that a URL means, but for its Driver; the package's comment has its
// columns. It opens no file. An error names the wrong part, and hides the password.
func ParseURL(url string) (Config, error) {
	return storeurl.Read("sqlstore", url, []string{"postgres", "postgresql", "mysql", "mariadb"}, func(u *storeurl.URL) (Config, error) {
		c := Config{
			Dialect: PostgreSQL, Database: u.Path, TLS: u.TLS(false),
			Table: u.Text("table"), Durable: u.Flag("durable"), Loss: u.Duration("loss"),
		}
		port := "5432"
		if u.Scheme == "mysql" || u.Scheme == "mariadb" {
			c.Dialect, port = MySQL, "3306"
		}
		c.Endpoints = u.Endpoints(port)
		c.User, c.Password, c.PasswordFile = u.Login()
		return c, c.validate()
	})
}

// Name names the store, as [Store.Name] does: by its servers, database and table.
// With PostgreSQL the user may have a
// schema of its own, in which a table without a schema is. A pool of the caller's is without a name.
func (c Config) Name() string {
	if c.DB != nil {
		return ""
	}
	table, user := cmp.Or(c.Table, DefaultTable), ""
	if c.Dialect == PostgreSQL && !strings.Contains(table, ".") {
		user = c.User
	}
	return storeurl.Name(strings.ToLower(c.Dialect.String()), c.Endpoints, c.Database, "table", table, "user", user)
}

// CheckFiles returns an error that names the field and the file unless every file
// that the config names can be used. It connects to nothing.
func (c Config) CheckFiles() error {
	return storeurl.CheckFiles("sqlstore", c.TLS, c.PasswordFile)
}

// Connectors returns the driver's connector of each endpoint. It reads the files of
// TLS, and returns the errors of CheckFiles and of the driver.
func (c Config) Connectors() ([]driver.Connector, error) {
	if err := c.CheckFiles(); err != nil {
		return nil, err
	}
	secured, err := c.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	connectors := make([]driver.Connector, len(c.Endpoints))
	for i, endpoint := range c.Endpoints {
		host, text, _ := net.SplitHostPort(endpoint)
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: %w", storeurl.CheckEndpoints(c.Endpoints))
		}
		server := Server{Host: host, Port: uint16(port), Database: c.Database, User: c.User, Password: c.password}
		if secured != nil {
			server.TLS = secured.Clone()
			server.TLS.ServerName = host
		}
		if connectors[i], err = c.Driver.Connector(server); err != nil {
			return nil, fmt.Errorf("sqlstore: %w", err)
		}
	}
	return connectors, nil
}

func (c Config) password() (string, error) {
	password, err := storeurl.Password(c.Password, c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("sqlstore: password-file: %w", err)
	}
	return string(password), nil
}

// promise is the operator's assertion about lost writes.
type promise struct {
	durable  bool
	declared bool // loss was given
	loss     time.Duration
}

func (c Config) promise() promise {
	p := promise{durable: c.Durable, declared: c.Loss != 0, loss: c.Loss}
	if !p.durable && !p.declared {
		p.loss = DefaultLoss
	}
	return p
}

// validate returns an error that names the field and its limit. The driver is not
// looked at.
func (c Config) validate() error {
	if err := validateTable(c.Dialect, cmp.Or(c.Table, DefaultTable)); err != nil {
		return err
	}
	switch {
	case (c.DB == nil) == (len(c.Endpoints) == 0):
		return errors.New("sqlstore: endpoints, db: must be given one or the other")
	case c.Loss < 0:
		return fmt.Errorf("sqlstore: loss %v: must be more than 0", c.Loss)
	case c.Durable && c.Loss != 0:
		return fmt.Errorf("sqlstore: loss %v: must not be given for a store that is durable", c.Loss)
	case c.DB != nil:
		return nil
	case c.Database == "" || strings.ContainsAny(c.Database, "/\x00"):
		return errors.New("sqlstore: must name one database, behind the hosts of a URL: /database")
	case c.User == "":
		return errors.New("sqlstore: must name a user")
	case strings.ContainsRune(c.User+string(c.Password), 0):
		return errors.New("sqlstore: user and password: must have no byte 0")
	case c.Password != "" && c.PasswordFile != "":
		return errors.New("sqlstore: password-file: must not be given with a password")
	}
	if err := storeurl.CheckEndpoints(c.Endpoints); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return nil
}
