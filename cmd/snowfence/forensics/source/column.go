package source

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
)

// column finds the ids in the rows that a query returns.
type column struct {
	name string
	db   Database
	tx   *sql.Tx
	rows *sql.Rows
	stop context.CancelFunc
	row  uint64
}

// connectTimeout bounds how long a server may take to answer at first.
const connectTimeout = 15 * time.Second

// openColumn runs the query. It is read in a transaction that can't write, and
// is a consistent picture, because it is one statement.
func openColumn(ctx context.Context, name string, o Options) (Source, error) {
	url, err := databaseURL(name, o)
	if err != nil {
		return nil, err
	}
	c := &column{name: Shown(url) + printable("#"+o.Query)}
	ctx, c.stop = context.WithCancel(ctx)
	if err := c.open(ctx, url, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return newReader(c.name, "row", o, c), nil
}

// databaseURL fills in the variables of a URL, which needs a query.
func databaseURL(name string, o Options) (url string, err error) {
	url = name
	if o.Expand != nil {
		if url, err = o.Expand(name); err != nil {
			return "", &engine.URLError{URL: engine.Redact(name), Reason: err.Error()}
		}
	}
	if o.Query == "" {
		return "", wrong("query", "%s: needs a statement, behind the URL such as URL#select id from orders, or for all databases", Shown(url))
	}
	return url, nil
}

// open connects and sends the query.
func (c *column) open(ctx context.Context, url string, o Options) error {
	connecting, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	if o.Connect == nil {
		return &engine.URLError{URL: engine.Redact(url), Reason: "databases can't be read here"}
	}
	db, err := o.Connect(connecting, url)
	if err != nil {
		if _, ok := errors.AsType[*engine.URLError](err); ok {
			return err
		}
		return c.fault("connect", err)
	}
	c.db = db
	if c.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		return c.fault("begin", err)
	}
	//nolint:rowserrcheck // next does, at the end of the rows.
	c.rows, err = c.tx.QueryContext(ctx, o.Query)
	switch {
	case errors.Is(err, driver.ErrBadConn): // the driver of MySQL returns it when a server refuses to write
		return c.fault("query", errors.New("the connection is of no use any more, as after a statement that writes: it must only read"))
	case err != nil:
		return c.fault("query", err)
	}
	names, err := c.rows.Columns()
	if err == nil && len(names) != 1 {
		err = wrong("query", "returns %d columns, must be one", len(names))
	}
	return err
}

// fault returns an error that names the step during which the server failed.
func (c *column) fault(step string, err error) error {
	return fmt.Errorf("%w: %s: %s: %w", ErrNoServer, c.name, step, err)
}

// abort implements scanner: it ends the query.
func (c *column) abort(error) { c.stop() }

// ready implements scanner. Whether the next row is there is not known.
func (*column) ready() bool { return true }

func (c *column) next(r *reader) (Item, error) {
	if !c.rows.Next() {
		if err := c.rows.Err(); err != nil {
			return Item{}, c.fault(fmt.Sprintf("after row %d", c.row), err)
		}
		return Item{}, io.EOF
	}
	c.row++
	var value any
	if err := c.rows.Scan(&value); err != nil {
		return Item{}, c.fault(r.Place(c.row), err)
	}
	switch v := value.(type) {
	case int64:
		return Item{snowfence.ID(v), c.row}, nil // the bits, also of the 64th
	case uint64:
		return Item{snowfence.ID(v), c.row}, nil
	case []byte:
		return r.read(bytes.TrimSpace(v), c.row)
	case string:
		return r.read([]byte(strings.TrimSpace(v)), c.row)
	case nil:
		return Item{}, r.refuse(c.row, fault("column", "NULL", "is no value"), "a statement with WHERE … IS NOT NULL leaves such rows out")
	}
	return Item{}, r.refuse(c.row, fault("column", fmt.Sprint(value), "is of type %T: ids are whole numbers or texts", value), "")
}

// Close implements Source. It does not wait for the rest of the rows.
func (c *column) Close() error {
	c.stop()
	if c.rows != nil {
		_ = c.rows.Close() // it was stopped
	}
	if c.tx != nil {
		_ = c.tx.Rollback() // it wrote nothing
	}
	if c.db == nil {
		return nil
	}
	return c.db.Close()
}
