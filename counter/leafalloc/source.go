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
	"snowfence.example/snowfence/internal/stored"
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

// Config names the row that is counted on. DB, Dialect and Tag must be given.
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
	return c, cmp.Or(
		stored.RefuseIf(c.DB == nil, "db", "nil", "must be given"),
		stored.RefuseIf(c.Dialect != MySQL && c.Dialect != PostgreSQL, "dialect", int(c.Dialect), "must be MySQL or PostgreSQL"),
		stored.RefuseIf(c.Tag == "" || len(c.Tag) > 128, "tag", c.Tag, "must be 1 to 128 bytes, as biz_tag is"),
		stored.RefuseIf(c.Timeout < 0, "timeout", c.Timeout, "must not be negative"),
	)
}

// Leaf's statements, and one that shows a row. In MySQL's the UPDATE also reports the old max_id. The
// read also returns the session's settings.
const (
	add  = "UPDATE {table} SET max_id = {old} + ? WHERE biz_tag = ?"
	read = "SELECT biz_tag, max_id, step, {settings} FROM {table} WHERE biz_tag = ?"
	show = "SELECT biz_tag, max_id, step, CAST(update_time AS char(19)) FROM {table} WHERE biz_tag = ?"
)

// bare finds the table's engine if that has no transactions. Two ranges could then begin between the statements of one.
const bare = "SELECT t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine " +
	"WHERE t.table_schema = ? AND t.table_name = 'leaf_alloc' AND e.transactions = 'NO'"

// Source is one row of leaf_alloc. It is a [counter.Source], safe for concurrent use.
type Source struct {
	config          Config
	mysql           bool
	options         *sql.TxOptions
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
	s := &Source{config: c, mysql: c.Dialect == MySQL}
	// Later another client of a pooler may show another table by that name.
	schema, err := sqlsession.Home(ctx, c.DB, s.mysql, "leaf_alloc")
	if err != nil {
		return nil, s.in(err)
	}
	old := "LAST_INSERT_ID(max_id)"
	if !s.mysql {
		// At a stricter level one of two concurrent reservations would fail.
		old, s.options = "max_id", &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	fill := strings.NewReplacer("{table}", sqlsession.Qualify(s.mysql, schema, "leaf_alloc"), "{settings}", sqlsession.Lasting(s.mysql), "{old}", old)
	statement := func(text string) string { return sqlsession.Numbered(s.mysql, fill.Replace(text)) }
	s.add, s.read, s.show = statement(add), statement(read), statement(show)
	if s.row, err = s.scan(c.DB.QueryRowContext(ctx, s.read, c.Tag)); err == nil {
		err = s.judge(ctx, schema)
	}
	if err != nil {
		return nil, s.in(err)
	}
	return s, nil
}

// judge refuses a table without transactions.
func (s *Source) judge(ctx context.Context, schema string) error {
	if !s.mysql {
		return nil
	}
	var engine string
	switch err := s.config.DB.QueryRowContext(ctx, bare, schema).Scan(&engine); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("read the table's engine: %w", err)
	}
	return stored.Refuse("engine", engine, "must have transactions, as InnoDB has: without them servers of Leaf repeat numbers, too")
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
	if err = s.config.DB.QueryRowContext(ctx, s.show, s.config.Tag).Scan(&r.Tag, &r.MaxID, &r.Step, &r.Updated); err != nil {
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
	var now row
	var amount int64
	if err := sqlsession.Transaction(ctx, s.config.DB, s.options, func(tx *sql.Tx) (err error) {
		now, amount, err = s.raise(ctx, tx, need)
		return err
	}); err != nil {
		return counter.Range{}, s.in(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.max > s.row.max {
		s.row = now
	}
	return counter.Range{First: now.max - amount, Increment: 1, Count: amount}, nil
}

// raise adds an amount to max_id, and returns the row as it is then.
func (s *Source) raise(ctx context.Context, tx *sql.Tx, need func() int64) (now row, amount int64, err error) {
	known := s.known()
	if known.max > math.MaxInt64-known.step {
		return now, 0, &counter.FullError{Counter: s.config.Tag, Limit: math.MaxInt64}
	}
	amount = known.step * min(max(need()/known.step, 1), (math.MaxInt64-known.max)/known.step)
	result, err := tx.ExecContext(ctx, s.add, amount, s.config.Tag)
	if err == nil {
		now, err = s.scan(tx.QueryRowContext(ctx, s.read, s.config.Tag))
	}
	if err == nil && s.mysql {
		err = whole(result, now.max, amount)
	}
	if err == nil && now.max-amount < known.max {
		err = &counter.BackwardsError{Counter: s.config.Tag, Next: now.max - amount, Mark: known.max - 1, By: "this process", Remedy: s.Remedy(known.max - 1)}
	}
	return now, amount, err
}

// whole returns an error if max_id rose by less than the amount. Without strict mode a server stores
// less than it was given in a column that is too narrow.
func whole(result sql.Result, now, amount int64) error {
	old, err := result.LastInsertId()
	if err == nil && now-amount != old {
		err = stored.Refuse("max_id", now, fmt.Sprintf("must be %d after a reservation: is its column a bigint?", old+amount))
	}
	return err
}

// Remedy describes how an operator sets the row above a number that is in use, for a
// *[counter.BackwardsError].
func (s *Source) Remedy(mark int64) string {
	return fmt.Sprintf("set max_id of biz_tag %q in leaf_alloc to %d or more", s.config.Tag, mark+1)
}

// scan reads a row.
func (s *Source) scan(found *sql.Row) (r row, err error) {
	var tag, settings string // the tag is of the table's spelling
	err = found.Scan(&tag, &r.max, &r.step, &settings)
	if err == nil {
		err = cmp.Or(
			sqlsession.Lasts(s.mysql, settings),
			stored.RefuseIf(r.step < 1, "step", r.step, "must be at least 1"),
			stored.RefuseIf(r.max < 0, "max_id", r.max, "must not be negative"),
		)
	}
	return r, err
}

// in names the row that an error is about.
func (s *Source) in(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknownTag
	}
	return fmt.Errorf("leaf_alloc, biz_tag %q: %w", s.config.Tag, err)
}
