package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"snowfence.example/snowfence/internal/storeclient"
)

// surviving makes connections by go-sql-driver, which panics at packets that are too short, and
// says of every packet that can't be read that the connection is invalid. With surviving the
// first is an error, and either says why.
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
	if c.mysql, err = survive(c, func() (mysqlConn, error) {
		made, err := s.Connector.Connect(context.WithValue(ctx, guardKey{}, &c.guard))
		if err != nil {
			return nil, err
		}
		return made.(mysqlConn), nil
	}); err != nil {
		return nil, err
	}
	return c, nil
}

// mysqlConn is what a connection of go-sql-driver can do.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// survivor is a connection. It is no more of use after a panic.
type survivor struct {
	mysql  mysqlConn
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
func (c *survivor) Close() error  { return c.only(c.mysql.Close) }
func (c *survivor) IsValid() bool { return !c.broken && c.mysql.IsValid() }

func (c *survivor) CheckNamedValue(v *driver.NamedValue) error { return c.mysql.CheckNamedValue(v) }

func (c *survivor) Ping(ctx context.Context) error {
	return c.only(func() error { return c.mysql.Ping(ctx) })
}

func (c *survivor) ResetSession(ctx context.Context) error {
	if c.broken {
		return driver.ErrBadConn
	}
	return c.mysql.ResetSession(ctx)
}

func (c *survivor) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := survive(c, func() (driver.Tx, error) { return c.mysql.BeginTx(ctx, options) })
	return survivingTx{tx, c}, err
}

func (c *survivor) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return survive(c, func() (driver.Result, error) { return c.mysql.ExecContext(ctx, query, args) })
}

func (c *survivor) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(func() (driver.Rows, error) { return c.mysql.QueryContext(ctx, query, args) })
}

func (c *survivor) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	statement, err := survive(c, func() (driver.Stmt, error) { return c.mysql.PrepareContext(ctx, query) })
	if err != nil {
		return nil, err
	}
	return survivingStatement{statement.(mysqlStatement), c}, nil
}

type survivingTx struct {
	tx driver.Tx
	c  *survivor
}

func (t survivingTx) Commit() error   { return t.c.only(t.tx.Commit) }
func (t survivingTx) Rollback() error { return t.c.only(t.tx.Rollback) }

// mysqlStatement is what a statement of go-sql-driver can do.
type mysqlStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

type survivingStatement struct {
	mysqlStatement
	c *survivor
}

func (s survivingStatement) Close() error { return s.c.only(s.mysqlStatement.Close) }

func (s survivingStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return survive(s.c, func() (driver.Result, error) { return s.mysqlStatement.ExecContext(ctx, args) })
}

func (s survivingStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(func() (driver.Rows, error) { return s.mysqlStatement.QueryContext(ctx, args) })
}

// mysqlRows is what the rows of go-sql-driver can do, but for a next result.
type mysqlRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

type survivingRows struct {
	mysqlRows
	c *survivor
}

// query calls f, which returns rows.
func (c *survivor) query(f func() (driver.Rows, error)) (driver.Rows, error) {
	rows, err := survive(c, f)
	if err != nil {
		return nil, err
	}
	return survivingRows{rows.(mysqlRows), c}, nil
}

func (r survivingRows) Close() error { return r.c.only(r.mysqlRows.Close) }

func (r survivingRows) Next(into []driver.Value) error {
	return r.c.only(func() error { return r.mysqlRows.Next(into) })
}
