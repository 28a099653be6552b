package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// DefaultLoss is the loss of a store whose config neither says one nor asserts
// that it is durable. No setting of a server bounds how far a replica may lag and
// still be promoted; whatever promotes it does. The default covers a failover that
// promotes none which lags by more than 10 s: 2 s more for a lag in whole seconds
// that is measured once a second, and 6 ms for a holder's clock that runs fast by
// 0.5 ms a second, come to 12.006 s. The rest is margin. Package fence wants it
// below a third of the window, which is 20 s by default.
const DefaultLoss = 15 * time.Second

// Config says which table of which server holds the registers, and what the
// operator asserts. Its String and log forms show no password.
type Config struct {
	// Connectors make connections, one for each of the servers of which one is
	// the primary. The store then has a small pool of its own, tries the servers
	// in turn, and judges every new connection. Either they or DB must be given.
	Connectors []driver.Connector

	// DB is a pool of the caller's. The store judges one connection when it is
	// opened, and leaves the pool open when it is closed.
	DB *sql.DB

	// Dialect is the SQL that the server speaks. Required.
	Dialect Dialect

	// Table holds the registers: name or schema.name, of [a-z0-9_]. Empty means
	// DefaultTable.
	Table string

	// Existing refuses to create the table: it must be there already, or an error
	// that is [store.ErrNoStore] is returned. Set it to read what others wrote.
	Existing bool

	// Duplicate reports whether an error is MySQL's number 1062, a duplicate
	// key, which only the driver's own type tells. Required for MySQL, and not
	// used for PostgreSQL.
	Duplicate func(error) bool

	// Durable asserts that no acknowledged swap is ever lost: no failover to a
	// replica that may lack some, and a disk that keeps what it has synced. A
	// server whose settings contradict it is refused.
	Durable bool

	// Loss is the greatest age of an acknowledged swap that a failover or a
	// crash can take away. Zero means DefaultLoss, or none if Durable is set.
	// One that is given covers settings that bound no loss by themselves, such
	// as PostgreSQL's fsync=off: then the operator says that such a server never
	// comes back from its own disk after its machine crashed.
	Loss time.Duration

	// WholePages asserts that storage never leaves a page half written, whatever
	// crashes. It excuses full_page_writes=off and innodb_doublewrite=OFF, and
	// nothing else. A loss that is given excuses them too, as it does fsync=off.
	WholePages bool

	// Rand gives the random bytes of versions, 16 for each. It must be safe for
	// concurrent use and never repeat itself, or versions do. Nil means
	// crypto/rand.
	Rand io.Reader
}

// promise is what the operator asserts about lost writes.
type promise struct {
	durable    bool
	declared   bool // loss was given
	loss       time.Duration
	wholePages bool
}

func (c Config) promise() promise {
	p := promise{durable: c.Durable, declared: c.Loss != 0, loss: c.Loss, wholePages: c.WholePages}
	if !p.durable && !p.declared {
		p.loss = DefaultLoss
	}
	return p
}

// validate returns an error that names the field and its limit.
func (c Config) validate() error {
	if err := validateTable(c.Dialect, c.Table); err != nil {
		return err
	}
	switch {
	case (c.DB == nil) == (len(c.Connectors) == 0):
		return errors.New("sqlstore: connectors, db: must be given one or the other")
	case c.Dialect == MySQL && c.Duplicate == nil:
		return errors.New("sqlstore: duplicate: must be given for MySQL")
	case c.Loss < 0:
		return fmt.Errorf("sqlstore: loss %v: must be more than 0", c.Loss)
	case c.Durable && c.Loss != 0:
		return fmt.Errorf("sqlstore: loss %v: must not be given for a store that is durable", c.Loss)
	}
	return nil
}

// String returns the config for people. Connectors hold passwords and are not
// shown.
func (c Config) String() string {
	table := c.Table
	if table == "" {
		table = DefaultTable
	}
	p := c.promise()
	promised := "durable"
	if !p.durable {
		promised = fmt.Sprint("loss ", p.loss)
	}
	if p.wholePages {
		promised += " whole-pages"
	}
	return fmt.Sprintf("%v table %s %s", c.Dialect, table, promised)
}

// GoString is String, so that %#v shows no password either.
func (c Config) GoString() string { return c.String() }

// LogValue is String for package slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
