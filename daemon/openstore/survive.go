package openstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"snowfence.example/snowfence/internal/storeclient"
)

// surviving makes connections by a driver that panics at some wrong answers: go-sql-driver at packets that are too
// short, and pgx at rows with more columns than the server has announced. With surviving that is an error. It also
// shows why, where go-sql-driver reports that the connection is invalid.
type surviving struct {
	driver.Connector
	server string
}

// guardKey is the key of a context's **storeclient.Guard, which the dialer sets.
type guardKey struct{}

// Connect implements driver.Connector.
func (s surviving) Connect(ctx context.Context) (driver.Conn, error) {
	c := &survivor{server: s.server}
	var err error
	if c.conn, err = survive(c, func() (conn, error) {
		made, err := s.Connector.Connect(context.WithValue(ctx, guardKey{}, &c.guard))
		if err != nil {
			return nil, err
		}
		return made.(conn), nil
	}); err != nil {
		return nil, err
	}
	return c, nil
}

// conn has the methods that connections of both drivers share.
type conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
}

// survivor is a connection. It is useless after a panic.
type survivor struct {
	conn   conn
	server string
	guard  *storeclient.Guard
	broken bool
}

// survive calls f, and returns why it failed.
func survive[T any](c *survivor, f func() (T, error)) (value T, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.broken = true
			err = &storeclient.AnswerError{Server: c.server, Reason: fmt.Sprintf("its packets can't be read: %v", panicked)}
		} else if wrong := c.guard.Wrong(); wrong != nil && err != nil && !errors.Is(err, context.Canceled) {
			err = wrong
		}
	}()
	return f()
}

// only is survive for a call without a result.
func (c *survivor) only(f func() error) error {
	_, err := survive(c, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (c *survivor) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}
func (c *survivor) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}
func (c *survivor) Close() error { return c.only(c.conn.Close) }

// IsValid implements driver.Validator, which pgx does not.
func (c *survivor) IsValid() bool {
	of, ok := c.conn.(driver.Validator)
	return !c.broken && (!ok || of.IsValid())
}

func (c *survivor) CheckNamedValue(v *driver.NamedValue) error { return c.conn.CheckNamedValue(v) }

func (c *survivor) Ping(ctx context.Context) error {
	return c.only(func() error { return c.conn.Ping(ctx) })
}

func (c *survivor) ResetSession(ctx context.Context) error {
	if c.broken {
		return driver.ErrBadConn
	}
	return c.conn.ResetSession(ctx)
}

func (c *survivor) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := survive(c, func() (driver.Tx, error) { return c.conn.BeginTx(ctx, options) })
	return survivingTx{tx, c}, err
}

func (c *survivor) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return survive(c, func() (driver.Result, error) { return c.conn.ExecContext(ctx, query, args) })
}

func (c *survivor) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(func() (driver.Rows, error) { return c.conn.QueryContext(ctx, query, args) })
}

func (c *survivor) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	prepared, err := survive(c, func() (driver.Stmt, error) { return c.conn.PrepareContext(ctx, query) })
	if err != nil {
		return nil, err
	}
	return survivingStatement{prepared.(statement), c}, nil
}

type survivingTx struct {
	tx driver.Tx
	c  *survivor
}

func (t survivingTx) Commit() error   { return t.c.only(t.tx.Commit) }
func (t survivingTx) Rollback() error { return t.c.only(t.tx.Rollback) }

// statement has the methods that statements of both drivers share.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type survivingStatement struct {
	statement
	c *survivor
}

// CheckNamedValue implements driver.NamedValueChecker, which a statement of pgx leaves to its connection.
func (s survivingStatement) CheckNamedValue(v *driver.NamedValue) error {
	if of, ok := s.statement.(driver.NamedValueChecker); ok {
		return of.CheckNamedValue(v)
	}
	return s.c.CheckNamedValue(v)
}

func (s survivingStatement) Close() error { return s.c.only(s.statement.Close) }

func (s survivingStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return survive(s.c, func() (driver.Result, error) { return s.statement.ExecContext(ctx, args) })
}

func (s survivingStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(func() (driver.Rows, error) { return s.statement.QueryContext(ctx, args) })
}

// rows has the methods of both drivers' rows that this package uses.
type rows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypePrecisionScale
}

type survivingRows struct {
	rows
	c *survivor
}

// query calls f, which returns rows.
func (c *survivor) query(f func() (driver.Rows, error)) (driver.Rows, error) {
	got, err := survive(c, f)
	if err != nil {
		return nil, err
	}
	return survivingRows{got.(rows), c}, nil
}

func (r survivingRows) Close() error { return r.c.only(r.rows.Close) }

func (r survivingRows) Next(into []driver.Value) error {
	return r.c.only(func() error { return r.rows.Next(into) })
}
