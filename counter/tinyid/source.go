package tinyid

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

var (
	// ErrUnknownBizType is returned when the table has no row of the biz type.
	ErrUnknownBizType = snowfence.NewError(snowfence.ClassUsage, "snowfence: tiny_id_info has no such biz_type")

	// ErrConflict is returned when other writers came first in every try.
	ErrConflict = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: other writers of tiny_id_info came first")
)

// Config says which row is counted on. DB and BizType must be given.
type Config struct {
	// DB is a pool of the caller's, on the primary. It is not closed.
	DB *sql.DB

	// BizType is the biz_type of the row: 1 to 63 characters.
	BizType string

	// Tries is how often a reservation is tried while other writers come first. Zero means
	// 10. tinyid itself tries three times.
	Tries int

	// Timeout bounds each reservation, with all its tries. Zero means 5 s.
	Timeout time.Duration
}

func (c Config) complete() (Config, error) {
	c.Tries, c.Timeout = cmp.Or(c.Tries, 10), cmp.Or(c.Timeout, 5*time.Second)
	switch {
	case c.DB == nil:
		return c, &counter.ConfigError{Field: "db", Value: "nil", Limit: "must be given"}
	case c.BizType == "" || len([]rune(c.BizType)) > 63:
		return c, &counter.ConfigError{Field: "biz-type", Value: c.BizType, Limit: "must be 1 to 63 characters, as biz_type is"}
	case c.Tries < 1:
		return c, &counter.ConfigError{Field: "tries", Value: fmt.Sprint(c.Tries), Limit: "must be at least 1"}
	case c.Timeout < 0:
		return c, &counter.ConfigError{Field: "timeout", Value: c.Timeout.String(), Limit: "must not be negative"}
	}
	return c, nil
}

// tinyid's statements. The first one asks only for the columns that are used, and for the session's settings.
const (
	read = "select id, max_id, coalesce(step, 0), coalesce(delta, 1), coalesce(remainder, 0), version, {settings} from {table} where biz_type = ?"
	swap = "update {table} set max_id= ?, update_time=now(), version=version+1 where id=? and max_id=? and version=? and biz_type=?"
)

// Source is one row of tiny_id_info. It is a [counter.Source], safe for concurrent use.
type Source struct {
	config     Config
	read, swap string

	mu  sync.Mutex
	row row // as it was read last
}

// row is what a row holds. The numbers up to max are in use.
type row struct{ id, max, step, delta, remainder, version int64 }

var _ counter.Source = (*Source)(nil)

// Open reads the row. It reserves nothing.
//
// A *[counter.ConfigError] is returned for a setting, or a row, that can't be used, an error
// that is [ErrUnknownBizType] when there is no row, and otherwise the database's own error.
func Open(ctx context.Context, c Config) (*Source, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Source{config: c}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	// Later another client of the pool may have chosen another database.
	schema, err := sqlsession.Home(ctx, c.DB, true, "tiny_id_info")
	if err != nil {
		return nil, s.in(err)
	}
	fill := strings.NewReplacer("{table}", sqlsession.Qualify(true, schema, "tiny_id_info"), "{settings}", sqlsession.Lasting(true))
	s.read, s.swap = fill.Replace(read), fill.Replace(swap)
	if s.row, err = s.scan(c.DB.QueryRowContext(ctx, s.read, c.BizType)); err != nil {
		return nil, s.in(err)
	}
	return s, nil
}

// Step is how many numbers a step of the table holds, as it was read last: at least 1.
func (s *Source) Step() int64 {
	known := s.known()
	return max(known.step/known.delta, 1)
}

// known returns the row as it was read last.
func (s *Source) known() row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.row
}

// Reserve implements [counter.Source]. A range is at least a step long, also when less is
// needed.
//
// An error that is [ErrUnknownBizType] is returned when the row is gone, [ErrConflict] when other
// writers came first in every try, a *[counter.ConfigError] when the row can't be used, a
// *[counter.BackwardsError] when its max_id went back, and a *[counter.FullError] when 63 bits
// are used up.
func (s *Source) Reserve(ctx context.Context, need func() int64) (counter.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	for range s.config.Tries {
		var got counter.Range
		if err := sqlsession.On(ctx, s.config.DB, func(connection *sql.Conn) (err error) {
			got, err = s.try(ctx, connection, need)
			return err
		}); err != nil {
			return counter.Range{}, s.in(err)
		}
		if got.Count > 0 {
			return got, nil
		}
	}
	return counter.Range{}, s.in(fmt.Errorf("%w, %d times", ErrConflict, s.config.Tries))
}

// try reads the row and swaps it. The range is empty if another writer came first.
func (s *Source) try(ctx context.Context, connection *sql.Conn, need func() int64) (counter.Range, error) {
	known := s.known()
	tx, err := connection.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return counter.Range{}, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	old, err := s.scan(tx.QueryRowContext(ctx, s.read, s.config.BizType))
	if err != nil {
		return counter.Range{}, err
	}
	if old.max < known.max {
		return counter.Range{}, &counter.BackwardsError{Counter: s.config.BizType, Next: old.max + 1, Mark: known.max, By: "this process", Remedy: s.Remedy(known.max)}
	}
	next, got := old.advance(need())
	if got.Count == 0 {
		return counter.Range{}, &counter.FullError{Counter: s.config.BizType, Limit: math.MaxInt64}
	}
	result, err := tx.ExecContext(ctx, s.swap, next, old.id, old.max, old.version, s.config.BizType)
	if err != nil {
		return counter.Range{}, err
	}
	// Also where the driver counts the rows that were found: the version changes each of them.
	if changed, err := result.RowsAffected(); err != nil || changed != 1 {
		return counter.Range{}, err
	}
	// Without strict mode a server stores less than it was given in a column that is too narrow.
	switch now, err := s.scan(tx.QueryRowContext(ctx, s.read, s.config.BizType)); {
	case err != nil:
		return counter.Range{}, err
	case now.max != next:
		return counter.Range{}, &counter.ConfigError{Field: "max_id", Value: fmt.Sprint(now.max), Limit: fmt.Sprintf("must be %d after a reservation: is its column a bigint?", next)}
	}
	// An error leaves the outcome open. The numbers are given to no one.
	if err := tx.Commit(); err != nil {
		return counter.Range{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if next > s.row.max {
		s.row = old
		s.row.max = next
	}
	return got, nil
}

// Remedy says how an operator sets the row above a number that is in use, for a
// *[counter.BackwardsError].
func (s *Source) Remedy(mark int64) string {
	return fmt.Sprintf("set max_id of biz_type %q in tiny_id_info to %d or more", s.config.BizType, mark)
}

// advance returns the max_id behind so many steps as hold n numbers, rounded down, and their
// numbers. It returns none when 63 bits are used up.
func (r row) advance(n int64) (next int64, got counter.Range) {
	room := (math.MaxInt64 - r.max) / r.step
	least := (r.delta-1)/r.step + 1 // so many hold a number
	if room < least {
		return r.max, got
	}
	n = min(max(n, 1), math.MaxInt64/r.delta)
	next = r.max + r.step*min(max(n*r.delta/r.step, least), room)
	first := r.max + 1
	first += (r.remainder - first%r.delta + r.delta) % r.delta
	return next, counter.Range{First: first, Increment: r.delta, Count: (next-first)/r.delta + 1}
}

// scan reads a row.
func (s *Source) scan(found *sql.Row) (r row, err error) {
	refuse := func(field string, value int64, limit string) error {
		return &counter.ConfigError{Field: field, Value: fmt.Sprint(value), Limit: limit}
	}
	var settings string
	if err = found.Scan(&r.id, &r.max, &r.step, &r.delta, &r.remainder, &r.version, &settings); err == nil {
		err = sqlsession.Lasts(true, settings)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = ErrUnknownBizType
	case err != nil:
	case r.step < 1:
		err = refuse("step", r.step, "must be at least 1")
	case r.delta < 1:
		err = refuse("delta", r.delta, "must be at least 1")
	case r.remainder < 0 || r.remainder >= r.delta:
		err = refuse("remainder", r.remainder, fmt.Sprintf("must be from 0 to %d, below delta", r.delta-1))
	case r.max < 0:
		err = refuse("max_id", r.max, "must not be negative")
	}
	return r, err
}

// in says which row an error is about.
func (s *Source) in(err error) error {
	return fmt.Errorf("tiny_id_info, biz_type %q: %w", s.config.BizType, err)
}
