package leafalloc

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/sqlsession"
)

// ErrUnknownTag is returned when the table has no row of the tag.
var ErrUnknownTag = snowfence.NewError(snowfence.ClassUsage, "snowfence: leaf_alloc has no such biz_tag")

// Dialect is the SQL that the server speaks.
type Dialect int

// The dialects. The zero value is none of them.
const (
	MySQL Dialect = iota + 1 // and MariaDB
	PostgreSQL
)

// Config says which row is counted on. DB, Dialect and Tag must be given.
type Config struct {
	// DB is a pool of the caller's, on the primary. It is not closed.
	DB *sql.DB

	// Dialect is the SQL that it speaks.
	Dialect Dialect

	// Tag is the biz_tag of the row: 1 to 128 bytes.
	Tag string

	// Timeout bounds each reservation. Zero means 5 s.
	Timeout time.Duration
}

func (c Config) complete() (Config, error) {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	switch {
	case c.DB == nil:
		return c, &counter.ConfigError{Field: "db", Value: "nil", Limit: "must be given"}
	case c.Dialect != MySQL && c.Dialect != PostgreSQL:
		return c, &counter.ConfigError{Field: "dialect", Value: fmt.Sprint(int(c.Dialect)), Limit: "must be MySQL or PostgreSQL"}
	case c.Tag == "" || len(c.Tag) > 128:
		return c, &counter.ConfigError{Field: "tag", Value: c.Tag, Limit: "must be 1 to 128 bytes, as biz_tag is"}
	case c.Timeout < 0:
		return c, &counter.ConfigError{Field: "timeout", Value: c.Timeout.String(), Limit: "must not be negative"}
	}
	return c, nil
}

// Leaf's statements, and one that shows a row. In MySQL's the UPDATE also reports the old max_id. The
// read also returns the session's settings.
const (
	add  = "UPDATE {table} SET max_id = LAST_INSERT_ID(max_id) + ? WHERE biz_tag = ?"
	read = "SELECT biz_tag, max_id, step, {settings} FROM {table} WHERE biz_tag = ?"
	show = "SELECT biz_tag, max_id, step, CAST(update_time AS char(19)) FROM {table} WHERE biz_tag = ?"
)

// bare finds the table's engine if that has no transactions. Two ranges could then begin between the statements of one.
const bare = "SELECT t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine " +
	"WHERE t.table_schema = ? AND t.table_name = 'leaf_alloc' AND e.transactions = 'NO'"

// Source is one row of leaf_alloc. It is a [counter.Source], safe for concurrent use.
type Source struct {
	config          Config
	options         *sql.TxOptions
	schema          string // of the table
	add, read, show string

	mu  sync.Mutex
	row row // as it was read last
}

// row is what a row holds. The next number is max.
type row struct{ max, step int64 }

var _ counter.Source = (*Source)(nil)

// Open reads the row. It reserves nothing.
//
// A *[counter.ConfigError] is returned for a setting, or a row, that can't be used, an error
// that is [ErrUnknownTag] when there is no row, and otherwise the database's own error.
func Open(ctx context.Context, c Config) (*Source, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	s := &Source{config: c}
	// Later another client of a pooler may show another table by that name.
	if s.schema, err = sqlsession.Home(ctx, c.DB, c.Dialect == MySQL, "leaf_alloc"); err != nil {
		return nil, s.in(err)
	}
	fill := strings.NewReplacer("{table}", sqlsession.Qualify(c.Dialect == MySQL, s.schema, "leaf_alloc"), "{settings}", sqlsession.Lasting(c.Dialect == MySQL))
	s.add, s.read, s.show = fill.Replace(add), fill.Replace(read), fill.Replace(show)
	if c.Dialect == PostgreSQL {
		// At a stricter level one of two concurrent reservations would fail.
		s.options = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
		s.add = fill.Replace("UPDATE {table} SET max_id = max_id + $1 WHERE biz_tag = $2")
		s.read = strings.Replace(s.read, "?", "$1", 1)
		s.show = strings.Replace(s.show, "?", "$1", 1)
	}
	if s.row, err = s.scan(c.DB.QueryRowContext(ctx, s.read, c.Tag)); err == nil {
		err = s.judge(ctx)
	}
	if err != nil {
		return nil, s.in(err)
	}
	return s, nil
}

// judge refuses a table without transactions.
func (s *Source) judge(ctx context.Context) error {
	if s.config.Dialect != MySQL {
		return nil
	}
	var engine string
	switch err := s.config.DB.QueryRowContext(ctx, bare, s.schema).Scan(&engine); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("read the table's engine: %w", err)
	}
	return &counter.ConfigError{Field: "engine", Value: engine, Limit: "must have transactions, as InnoDB has: without them servers of Leaf repeat numbers, too"}
}

// Step is the table's step, as it was read last.
func (s *Source) Step() int64 { return s.known().step }

// known returns the row as it was read last.
func (s *Source) known() row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.row
}

// Row is a row of the table, as people look at it.
type Row struct {
	Tag     string
	MaxID   int64 // the next number that is reserved
	Step    int64
	Updated string // as the database writes it, in the zone of its session
}

// Row reads the row. [ErrUnknownTag] is wrapped when it is gone, and otherwise the database's error.
func (s *Source) Row(ctx context.Context) (r Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	found := s.config.DB.QueryRowContext(ctx, s.show, s.config.Tag)
	if err = found.Scan(&r.Tag, &r.MaxID, &r.Step, &r.Updated); errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknownTag
	}
	if err != nil {
		return Row{}, s.in(err)
	}
	return r, nil
}

// Reserve implements [counter.Source]. A range is at least a step long, also when less is
// needed.
//
// An error that is [ErrUnknownTag] is returned when the row is gone, a *[counter.ConfigError]
// when its step can't be used, a *[counter.BackwardsError] when its max_id went back, and a
// *[counter.FullError] when 63 bits are used up. A session whose commits can be lost, since another client of a pooler
// changed it, is an error that names the setting: nothing was reserved.
func (s *Source) Reserve(ctx context.Context, need func() int64) (counter.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	var got counter.Range
	if err := sqlsession.On(ctx, s.config.DB, func(connection *sql.Conn) (err error) {
		got, err = s.reserve(ctx, connection, need)
		return err
	}); err != nil {
		return counter.Range{}, s.in(err)
	}
	return got, nil
}

func (s *Source) reserve(ctx context.Context, connection *sql.Conn, need func() int64) (counter.Range, error) {
	tx, err := connection.BeginTx(ctx, s.options)
	if err != nil {
		return counter.Range{}, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	known := s.known()
	if known.max > math.MaxInt64-known.step {
		return counter.Range{}, &counter.FullError{Counter: s.config.Tag, Limit: math.MaxInt64}
	}
	amount := known.step * min(max(need()/known.step, 1), (math.MaxInt64-known.max)/known.step)
	result, err := tx.ExecContext(ctx, s.add, amount, s.config.Tag)
	if err != nil {
		return counter.Range{}, err
	}
	now, err := s.scan(tx.QueryRowContext(ctx, s.read, s.config.Tag))
	if err == nil && s.config.Dialect == MySQL {
		err = whole(result, now.max, amount)
	}
	if err != nil {
		return counter.Range{}, err
	}
	if now.max-amount < known.max {
		return counter.Range{}, &counter.BackwardsError{Counter: s.config.Tag, Next: now.max - amount, Mark: known.max - 1, By: "this process", Remedy: s.Remedy(known.max - 1)}
	}
	// An error leaves the outcome open. The numbers are given to no one.
	if err := tx.Commit(); err != nil {
		return counter.Range{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.max > s.row.max {
		s.row = now
	}
	return counter.Range{First: now.max - amount, Increment: 1, Count: amount}, nil
}

// whole returns an error if max_id rose by less than the amount. Without strict mode a server stores
// less than it was given in a column that is too narrow.
func whole(result sql.Result, now, amount int64) error {
	old, err := result.LastInsertId()
	if err == nil && now-amount != old {
		err = &counter.ConfigError{Field: "max_id", Value: fmt.Sprint(now), Limit: fmt.Sprintf("must be %d after a reservation: is its column a bigint?", old+amount)}
	}
	return err
}

// Remedy says how an operator sets the row above a number that is in use, for a
// *[counter.BackwardsError].
func (s *Source) Remedy(mark int64) string {
	return fmt.Sprintf("set max_id of biz_tag %q in leaf_alloc to %d or more", s.config.Tag, mark+1)
}

// scan reads a row.
func (s *Source) scan(found *sql.Row) (r row, err error) {
	var tag, settings string // the tag is of the table's spelling
	if err = found.Scan(&tag, &r.max, &r.step, &settings); err == nil {
		err = sqlsession.Lasts(s.config.Dialect == MySQL, settings)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = ErrUnknownTag
	case err != nil:
	case r.step < 1:
		err = &counter.ConfigError{Field: "step", Value: fmt.Sprint(r.step), Limit: "must be at least 1"}
	case r.max < 0:
		err = &counter.ConfigError{Field: "max_id", Value: fmt.Sprint(r.max), Limit: "must not be negative"}
	}
	return r, err
}

// in says which row an error is about.
func (s *Source) in(err error) error {
	return fmt.Errorf("leaf_alloc, biz_tag %q: %w", s.config.Tag, err)
}
