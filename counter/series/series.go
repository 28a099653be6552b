package series

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/stored"
)

var (
	// ErrEnded is wrapped by the error of Confirm and Void for a reservation that is not the
	// caller's, or not any more. Nothing was changed.
	ErrEnded = snowfence.NewError(snowfence.ClassFinal, "snowfence: the reservation can't be ended")

	// ErrUnknown is wrapped by the error of a verb's own transaction whose COMMIT had no answer.
	ErrUnknown = errors.New("snowfence: it is not known whether the transaction was committed")
)

// LeastTimeout and MostTimeout are the bounds of a reservation's timeout.
const (
	LeastTimeout = time.Millisecond
	MostTimeout  = 366 * 24 * time.Hour
)

// tries is how often a verb tries a transaction of its own.
const tries = 5

// Config names the series. Dialect and Name must be given. Texts are at most 64 bytes of
// visible ASCII without quotes and backslashes; upper and lower case differ.
type Config struct {
	Dialect      Dialect
	Tenant, Name string // Tenant may be empty
	Prefix       string // stands before the number; never changes
	First        int64  // the first number, 0 or more; zero means 1; never changes
}

// Series is one series of numbers. It is safe for concurrent use.
type Series struct {
	c   Config
	sql statements
}

// Tx is a transaction of the caller, such as a *sql.Tx. Given a *sql.DB, a verb is a transaction of
// its own. A *sql.Conn must be within a transaction, or no lock lasts.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Reservation is a number that no other caller can confirm or void until it times out.
type Reservation struct {
	Number int64
	Text   string    // the prefix and the number
	Token  string    // ends the reservation
	Until  time.Time // by the database's clock
}

// State is a number's fate.
type State string

// The states. Offered is a reservation that timed out. Missing has no row: it was deleted.
const (
	Reserved  State = "reserved"
	Offered   State = "offered"
	Confirmed State = "confirmed"
	Void      State = "void"
	Missing   State = "missing"
)

// Entry is a number in the audit.
type Entry struct {
	Number  int64
	State   State
	Reason  string    // of a void number
	Changed time.Time // when it was reserved last, confirmed or voided, by the database's clock
}

// New returns a series, which the first reservation begins in the database. It returns a
// *[counter.ConfigError] for a setting that can't be used.
func New(c Config) (*Series, error) {
	c.First = cmp.Or(c.First, 1)
	text := func(field, value, length string) error {
		strange := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'`\\", r) }
		return stored.RefuseIf(field == "name" && value == "" || len(value) > 64 || strings.ContainsFunc(value, strange), field, value,
			"must be "+length+" 64 bytes of visible ASCII without quotes and \\")
	}
	if err := cmp.Or(
		stored.RefuseIf(c.Dialect != PostgreSQL && c.Dialect != MySQL, "dialect", c.Dialect, "must be PostgreSQL or MySQL"),
		stored.RefuseIf(c.First < 0, "first", c.First, "must not be negative"),
		text("tenant", c.Tenant, "at most"), text("name", c.Name, "1 to"), text("prefix", c.Prefix, "at most"),
	); err != nil {
		return nil, err
	}
	return &Series{c, c.Dialect.statements()}, nil
}

// Reserve gives the caller a number for the time of a timeout, from 1 ms to a year.
//
// A *[counter.MismatchError] is returned if the series began with another prefix or first number, a
// *[counter.FullError] after the greatest number, a *[counter.ConfigError] for another timeout, and
// otherwise the database's error.
func (s *Series) Reserve(ctx context.Context, tx Tx, timeout time.Duration) (r Reservation, err error) {
	if timeout < LeastTimeout || timeout > MostTimeout {
		return r, stored.Refuse("timeout", timeout, fmt.Sprintf("must be from %s to %s", LeastTimeout, MostTimeout))
	}
	token := rand.Text()
	if err = s.run(ctx, tx, func(tx Tx) error { r, err = s.reserve(ctx, tx, token, timeout); return err }); err != nil {
		return Reservation{}, err
	}
	return r, nil
}

func (s *Series) reserve(ctx context.Context, tx Tx, token string, timeout time.Duration) (Reservation, error) {
	next, now, err := s.lock(ctx, tx)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = tx.ExecContext(ctx, s.sql.begin, s.c.Tenant, s.c.Name, s.c.Prefix, s.c.First, s.c.First); err == nil {
			next, now, err = s.lock(ctx, tx)
		}
	}
	if err != nil {
		return Reservation{}, err
	}
	number, until, before, hash := next, now+timeout.Microseconds(), "", hashOf(token)
	// An earlier try's reservation is taken too: it has the same token.
	err = tx.QueryRowContext(ctx, s.sql.offered, s.c.Tenant, s.c.Name, now, hash).Scan(&number, &before)
	switch {
	case err == nil:
		err = one(tx.ExecContext(ctx, s.sql.renew, hash, now, until, s.c.Tenant, s.c.Name, number, before))
	case !errors.Is(err, sql.ErrNoRows):
	case next == math.MaxInt64:
		err = &counter.FullError{Counter: s.String(), Limit: next - 1}
	default:
		if err = one(tx.ExecContext(ctx, s.sql.advance, next+1, s.c.Tenant, s.c.Name, next)); err == nil {
			err = one(tx.ExecContext(ctx, s.sql.reserve, s.c.Tenant, s.c.Name, next, hash, now, until))
		}
	}
	return Reservation{number, s.Text(number), token, time.UnixMicro(until).UTC()}, err
}

// Confirm ends a reservation: its document exists. Repeating it with the same token succeeds. It
// returns an error that wraps [ErrEnded], or one of [Series.Reserve].
func (s *Series) Confirm(ctx context.Context, tx Tx, number int64, token string) error {
	return s.run(ctx, tx, func(tx Tx) error { return s.end(ctx, tx, number, token, Confirmed, "") })
}

// Void ends a reservation: its document will never exist. The audit shows the reason, of at most
// 1000 bytes without control characters. Repeating it with the same token and reason succeeds. It returns a
// *[counter.ConfigError] without a reason, and the errors of [Series.Confirm].
func (s *Series) Void(ctx context.Context, tx Tx, number int64, token, reason string) error {
	if strings.TrimSpace(reason) == "" || len(reason) > 1000 || !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl) {
		return stored.Refuse("reason", reason, "must be a text of 1 to 1000 bytes in UTF-8 without control characters, and not be blank")
	}
	return s.run(ctx, tx, func(tx Tx) error { return s.end(ctx, tx, number, token, Void, reason) })
}

func (s *Series) end(ctx context.Context, tx Tx, number int64, token string, want State, reason string) error {
	_, now, err := s.lock(ctx, tx)
	state, given, owner, until, hash := Missing, "", "", int64(0), hashOf(token)
	if err == nil {
		err = tx.QueryRowContext(ctx, s.sql.look, s.c.Tenant, s.c.Name, number).Scan(&state, &given, &owner, &until)
	}
	var refused string
	switch {
	case errors.Is(err, sql.ErrNoRows):
		refused = "it was never reserved"
	case err != nil:
		return err
	case subtle.ConstantTimeCompare([]byte(owner), []byte(hash)) == 0:
		refused = "the token is not its; once a reservation has timed out, another one can get the number"
	case state == want && given == reason:
		return nil
	case state != Reserved:
		refused = "that never changes"
	case until <= now:
		refused = "but its time has run out, and it is offered again"
	default:
		return one(tx.ExecContext(ctx, s.sql.end, string(want), reason, now, s.c.Tenant, s.c.Name, number, hash))
	}
	return fmt.Errorf("%w: number %d is %s, not %s: %s", ErrEnded, number, state, want, refused)
}

// hashOf is the text that the table has in place of a token: readers of the table leave reservations
// alone. The token is random, so it needs no salt.
func hashOf(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

// Audit yields each number that was reserved before it began, in ascending order. It reads pages of
// 1000 numbers, and between two pages it holds no connection. A state is as of the moment when its
// page was read; in a transaction at REPEATABLE READ all are as of one moment. Audit locks nothing.
// After an error, which is one of [Series.Reserve], it ends. A series that has not begun is empty.
func (s *Series) Audit(ctx context.Context, tx Tx) iter.Seq2[Entry, error] {
	const page = 1000
	return func(yield func(Entry, error) bool) {
		next, err := s.head(ctx, tx, s.sql.head)
		if errors.Is(err, sql.ErrNoRows) {
			return
		}
		for at := s.c.First; at < next && err == nil; {
			var entries []Entry
			entries, err = s.entries(ctx, tx, at, min(next-at, page))
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			at += int64(len(entries))
		}
		if err != nil {
			yield(Entry{}, fmt.Errorf("series %s: %w", s, err))
		}
	}
}

// entries reads n numbers from the first one on. On an error it returns nil.
func (s *Series) entries(ctx context.Context, tx Tx, first, n int64) ([]Entry, error) {
	rows, err := tx.QueryContext(ctx, s.sql.audit, s.c.Tenant, s.c.Name, first, first+n)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Number: first + int64(i), State: Missing}
	}
	for rows.Next() {
		var e Entry
		var changed int64
		if err := rows.Scan(&e.Number, &e.State, &e.Reason, &changed); err != nil {
			return nil, err
		}
		e.Changed = time.UnixMicro(changed).UTC()
		entries[e.Number-first] = e
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return entries, nil
}

// lock locks the row of the series, and reads the next number. Then it reads the clock: one that is
// read in the same statement may be from before the wait. It returns sql.ErrNoRows without a row.
func (s *Series) lock(ctx context.Context, tx Tx) (next, now int64, err error) {
	if next, err = s.head(ctx, tx, s.sql.lock); err == nil {
		err = tx.QueryRowContext(ctx, s.sql.now).Scan(&now)
	}
	return next, now, err
}

// head reads the next number.
func (s *Series) head(ctx context.Context, tx Tx, query string) (next int64, err error) {
	prefix, first := "", int64(0)
	err = tx.QueryRowContext(ctx, query, s.c.Tenant, s.c.Name).Scan(&prefix, &first, &next)
	if err == nil && (prefix != s.c.Prefix || first != s.c.First) {
		err = &counter.MismatchError{Counter: s.String(), Field: "prefix and first", Stored: fmt.Sprintf("%q from %d", prefix, first), Configured: fmt.Sprintf("%q from %d", s.c.Prefix, s.c.First)}
	}
	return next, err
}

// run runs a verb in the caller's transaction; or in its own, until that is committed, refused by
// this package (a database's errors have no class), or tried often enough. Another try is right after
// any failure: before the COMMIT nothing took effect, and after it the verb finds its own effect.
func (s *Series) run(ctx context.Context, tx Tx, verb func(Tx) error) (err error) {
	db, own := tx.(*sql.DB)
	if !own {
		err = verb(tx)
	}
	for n, unknown := 1, error(nil); own; n++ {
		var tx *sql.Tx
		if tx, err = db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}); err == nil {
			// A server goes on waiting for a lock when its client has left.
			if s.sql.patience != "" {
				_, err = tx.ExecContext(ctx, s.sql.patience)
			}
			if err == nil {
				err = verb(tx)
			}
			if err != nil {
				_ = tx.Rollback() // the database does it itself when the connection is broken
			} else if err = tx.Commit(); err != nil {
				unknown = ErrUnknown
			}
		}
		if own = err != nil && snowfence.ClassOf(err) == snowfence.ClassUnknown; own && (n == tries || ctx.Err() != nil) {
			err, own = errors.Join(unknown, err), false
		}
	}
	if err != nil {
		err = fmt.Errorf("series %s: %w", s, err)
	}
	return err
}

// one expects that a statement changed one row, as it does under the lock.
func one(result sql.Result, err error) error {
	if err == nil {
		if n, _ := result.RowsAffected(); n != 1 {
			err = fmt.Errorf("%d rows were changed, must be 1: is it within a transaction?", n)
		}
	}
	return err
}

// Text returns a number with its prefix.
func (s *Series) Text(number int64) string { return fmt.Sprint(s.c.Prefix, number) }

// String returns tenant/name.
func (s *Series) String() string { return strings.TrimPrefix(s.c.Tenant+"/"+s.c.Name, "/") }
