package idsource

import (
	"bytes"
	"cmp"
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

// column is a [Source]: what a query returns, row by row.
type column struct {
	*reading
	format Format // of texts that are bytes
	db     Database
	tx     *sql.Tx
	rows   *sql.Rows
	stop   context.CancelFunc
	row    uint64
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
	shown := Shown(url)
	if o.Table != "" {
		shown += " " + Shown(o.Table+"."+o.Column)
	}
	ctx, stop := context.WithCancel(ctx)
	c := &column{reading: newReading(shown, "row", o), format: o.Format, stop: stop}
	if err := c.open(ctx, url, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// databaseURL fills in the variables of a URL, and checks the options of databases.
func databaseURL(name string, o Options) (string, error) {
	if err := unknownOption(name, "is none"); err != nil {
		return "", err
	}
	url := name
	if o.Expand != nil {
		var err error
		if url, err = o.Expand(name); err != nil {
			return "", &engine.URLError{URL: engine.Redact(name), Reason: err.Error()}
		}
	}
	switch {
	case o.Query == "" && o.Table == "":
		return "", &OptionError{"table", fmt.Sprintf("%s: needs --table and --column, or --query", Shown(url))}
	case o.Query != "" && o.Table != "":
		return "", &OptionError{"query", "must not be given with --table"}
	case o.Query == "" && o.Column == "":
		return "", &OptionError{"column", "must say which column of --table has the ids"}
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
		return fmt.Errorf("%w: %s: connect: %w", ErrNoServer, c.source, err)
	}
	c.db = db
	if c.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		return fmt.Errorf("%w: %s: begin: %w", ErrNoServer, c.source, err)
	}
	statement := cmp.Or(o.Query, "SELECT "+db.Quote(o.Column)+" FROM "+quotedTable(db, o.Table))
	//nolint:rowserrcheck // Read does, at the end of the rows.
	c.rows, err = c.tx.QueryContext(ctx, statement)
	switch {
	case errors.Is(err, driver.ErrBadConn):
		// So says the driver of MySQL when a server refuses to write.
		return fmt.Errorf("%w: %s: query: the connection is of no use any more, as after a statement that writes: it must only read", ErrNoServer, c.source)
	case err != nil:
		return fmt.Errorf("%w: %s: query: %w", ErrNoServer, c.source, err)
	}
	names, err := c.rows.Columns()
	if err == nil && len(names) != 1 {
		err = &OptionError{"query", fmt.Sprintf("returns %d columns, must be one", len(names))}
	}
	return err
}

// quotedTable quotes each part of a table's name.
func quotedTable(db Database, table string) string {
	parts := strings.Split(table, ".")
	for i, part := range parts {
		parts[i] = db.Quote(part)
	}
	return strings.Join(parts, ".")
}

// Done implements Source: how many bytes a row takes is not known.
func (*column) Done() int64 { return 0 }

func (c *column) Read(ctx context.Context, items []Item) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	for n < len(items) && c.rows.Next() {
		c.row++
		var value any
		if err := c.rows.Scan(&value); err != nil {
			return n, fmt.Errorf("%w: %s: %s: %w", ErrNoServer, c.source, c.Place(c.row), err)
		}
		id, text, err := c.id(value)
		if err == nil {
			items[n] = Item{id, c.row}
			n++
			continue
		}
		hint := ""
		if value == nil {
			hint = "--query with WHERE … IS NOT NULL leaves such rows out, --skip-invalid counts them"
		}
		if err := c.refuse(&InvalidError{c.source, c.Place(c.row), text, err, hint}); err != nil {
			return n, err
		}
	}
	if n > 0 {
		return n, nil // an error is told next time
	}
	if err := c.rows.Err(); err != nil {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%w: %s: after row %d: %w", ErrNoServer, c.source, c.row, err)
	}
	return 0, io.EOF
}

// id reads a value as the driver gives it, and returns what stood there, cut.
func (c *column) id(value any) (id snowfence.ID, text string, err error) {
	switch v := value.(type) {
	case int64:
		return snowfence.ID(v), "", nil // the bits, also of the 64th
	case uint64:
		return snowfence.ID(v), "", nil
	case []byte:
		text = string(v)
	case string:
		text = v
	case nil:
		return 0, "NULL", invalidValue("NULL", "is no value")
	default:
		text = clip(fmt.Sprint(v))
		return 0, text, invalidValue(text, fmt.Sprintf("is of type %T: ids are whole numbers or texts", v))
	}
	switch {
	case c.format != Binary && c.format != BinaryLittle:
		id, err = c.read(bytes.TrimSpace([]byte(text)), c.row)
	case len(text) != width:
		err = invalidValue(clip(text), fmt.Sprintf("has %d bytes, not %d", len(text), width))
	default:
		id = snowfence.ID(word([]byte(text), c.format == BinaryLittle))
	}
	return id, clip(text), err
}

func invalidValue(text, reason string) error {
	return &snowfence.IDError{Form: "column", Text: text, Position: -1, Reason: reason}
}

// Close implements Source. What the server would still send is not waited for.
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
