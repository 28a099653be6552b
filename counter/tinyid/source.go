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
	"snowfence.example/snowfence/internal/stored"
)

var (
	// ErrUnknownBizType is returned when the table has no row of the biz type.
	ErrUnknownBizType = snowfence.NewError(snowfence.ClassUsage, "snowfence: tiny_id_info has no such biz_type")

	// ErrConflict is returned when other writers came first in every try.
	ErrConflict = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: other writers of tiny_id_info came first")
)

// Config names the row that is counted on. DB and BizType must be given.
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
	return c, cmp.Or(
		stored.RefuseIf(c.DB == nil, "db", "nil", "must be given"),
		stored.RefuseIf(c.BizType == "" || len([]rune(c.BizType)) > 63, "biz-type", c.BizType, "must be 1 to 63 characters, as biz_type is"),
		stored.RefuseIf(c.Tries < 1, "tries", c.Tries, "must be at least 1"),
		stored.RefuseIf(c.Timeout < 0, "timeout", c.Timeout, "must not be negative"),
	)
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

// row is the content of a row. The numbers up to max are in use.
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
	var was, now row
	for tried := 0; now.max == was.max; tried++ {
		if tried == s.config.Tries {
			return counter.Range{}, s.in(fmt.Errorf("%w, %d times", ErrConflict, tried))
		}
		if err := sqlsession.Transaction(ctx, s.config.DB, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, func(tx *sql.Tx) (err error) {
			was, now, err = s.try(ctx, tx, need)
			return err
		}); err != nil {
			return counter.Range{}, s.in(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.max > s.row.max {
		s.row = now
	}
	return was.numbers(now.max), nil
}

// try reads the row and swaps it. It returns the row as it was and as it is. Its max_id is the same if another writer
// came first.
func (s *Source) try(ctx context.Context, tx *sql.Tx, need func() int64) (was, now row, err error) {
	known := s.known()
	if was, err = s.scan(tx.QueryRowContext(ctx, s.read, s.config.BizType)); err != nil {
		return was, was, err
	}
	if was.max < known.max {
		return was, was, &counter.BackwardsError{Counter: s.config.BizType, Next: was.max + 1, Mark: known.max, By: "this process", Remedy: s.Remedy(known.max)}
	}
	next := was.advance(need())
	if next == was.max {
		return was, was, &counter.FullError{Counter: s.config.BizType, Limit: math.MaxInt64}
	}
	result, err := tx.ExecContext(ctx, s.swap, next, was.id, was.max, was.version, s.config.BizType)
	if err != nil {
		return was, was, err
	}
	// Also where the driver counts the rows that were found: the version changes each of them.
	if changed, err := result.RowsAffected(); err != nil || changed != 1 {
		return was, was, err
	}
	// Without strict mode a server stores less than it was given in a column that is too narrow.
	if now, err = s.scan(tx.QueryRowContext(ctx, s.read, s.config.BizType)); err == nil {
		err = stored.RefuseIf(now.max != next, "max_id", now.max, fmt.Sprintf("must be %d after a reservation: is its column a bigint?", next))
	}
	return was, now, err
}

// Remedy describes how an operator sets the row above a number that is in use, for a
// *[counter.BackwardsError].
func (s *Source) Remedy(mark int64) string {
	return fmt.Sprintf("set max_id of biz_type %q in tiny_id_info to %d or more", s.config.BizType, mark)
}

// advance returns the max_id behind so many steps as hold n numbers, rounded down. It returns the same when 63 bits are
// used up.
func (r row) advance(n int64) (next int64) {
	room := (math.MaxInt64 - r.max) / r.step
	least := (r.delta-1)/r.step + 1 // so many hold a number
	if room < least {
		return r.max
	}
	n = min(max(n, 1), math.MaxInt64/r.delta)
	return r.max + r.step*min(max(n*r.delta/r.step, least), room)
}

// numbers returns the numbers up to next.
func (r row) numbers(next int64) counter.Range {
	first := r.max + 1
	first += (r.remainder - first%r.delta + r.delta) % r.delta
	return counter.Range{First: first, Increment: r.delta, Count: (next-first)/r.delta + 1}
}

// scan reads a row.
func (s *Source) scan(found *sql.Row) (r row, err error) {
	var settings string
	err = found.Scan(&r.id, &r.max, &r.step, &r.delta, &r.remainder, &r.version, &settings)
	if err == nil {
		err = cmp.Or(
			sqlsession.Lasts(true, settings),
			stored.RefuseIf(r.step < 1, "step", r.step, "must be at least 1"),
			stored.RefuseIf(r.delta < 1, "delta", r.delta, "must be at least 1"),
			stored.RefuseIf(r.remainder < 0 || r.remainder >= r.delta, "remainder", r.remainder, fmt.Sprintf("must be from 0 to %d, below delta", r.delta-1)),
			stored.RefuseIf(r.max < 0, "max_id", r.max, "must not be negative"),
		)
	}
	return r, err
}

// in names the row that an error is about.
func (s *Source) in(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknownBizType
	}
	return fmt.Errorf("tiny_id_info, biz_type %q: %w", s.config.BizType, err)
}
