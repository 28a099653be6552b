package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/internal/sqlsession"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

const (
	// callLimit bounds a call whose context ends later, and Open.
	callLimit = 10 * time.Second

	// sessionTries is how often a swap is sent that finds sessions which differ.
	sessionTries = 4

	// afterKeys is greater than every byte of a key.
	afterKeys = "\xff"
)

// Store is a client of the registers in a table. It is safe for concurrent
// use.
type Store struct {
	db        *sql.DB
	name      string
	own       bool // the pool is the store's
	dialect   Dialect
	table     tablePlace
	judged    atomic.Pointer[judged]
	role      atomic.Pointer[string] // of the session that was judged first
	duplicate func(error) bool
	promise   promise
	random    io.Reader
	life      *storeclient.Life
}

// OpenURL opens the store that a URL means, by the driver of its dialect: [ParseURL],
// then [Open].
func OpenURL(ctx context.Context, url string, d Driver) (*Store, error) {
	c, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	c.Driver = d
	return Open(ctx, c)
}

// Open opens the store that a config means. It connects, judges the server and
// the table, and creates a missing table if it may. It returns a
// *ServerError if either is not one to stand on, an error that is
// [store.ErrNoStore] if there is no table and none may be created, and another
// error that names the field if the config is wrong or the server can't be
// reached. ctx bounds the attempt, and nothing after it; it takes 10 seconds at the most.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.DB == nil && c.Driver.Connector == nil || c.Dialect == MySQL && c.Driver.Duplicate == nil {
		return nil, errors.New("sqlstore: driver: must have a connector for endpoints, and duplicate for MySQL")
	}
	s := &Store{
		db:        c.DB,
		name:      c.Name(),
		own:       c.DB == nil,
		dialect:   c.Dialect,
		table:     place(cmp.Or(c.Table, DefaultTable)),
		duplicate: c.Driver.Duplicate,
		promise:   c.promise(),
		random:    c.Rand,
		life:      storeclient.Begin(),
	}
	if s.own {
		var err error
		if s.db, err = c.Pool(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := s.prepare(ctx, c.Existing); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare judges the server and the table. One that is not there is created,
// unless it has to exist.
func (s *Store) prepare(ctx context.Context, existing bool) error {
	if !s.own {
		connection, err := sqlsession.Connection(ctx, s.db)
		if err != nil {
			return fmt.Errorf("sqlstore: connect: %w", err)
		}
		err = connection.Raw(func(raw any) error {
			return inspect(ctx, raw.(driver.Conn), s.dialect, s.promise)
		})
		if err := errors.Join(err, connection.Close()); err != nil {
			return err
		}
	}
	if err := s.resolve(ctx); err != nil {
		return err
	}
	if err := ensureTable(ctx, s.db, s.dialect, s.table, existing); err != nil {
		return err
	}
	_, err := s.session(ctx)
	return err
}

// Get implements [store.Store]. It reads from the primary: a *ServerError is
// returned if a go-between asked a replica, or if the primary was replaced since
// the connection was made, be there a register or not.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	var token sql.Null[[]byte]
	var value []byte
	err := s.on(ctx, "get", key, func(ctx context.Context, connection *sql.Conn, j *judged) (err error) {
		token, value, err = s.get(ctx, connection, j, key)
		return err
	})
	switch {
	case err != nil:
		return store.Entry{}, err
	case !token.Valid:
		return store.Entry{}, store.ErrNotFound
	}
	return entry([]byte(key), token.V, value)
}

// Swap implements [store.Store]. It is one statement, and the server returns the number of affected
// rows. A *ServerError is returned for a session whose settings are not fit any more, by another client
// of a pooler, say: nothing took effect. Serialization failures, deadlocks and lock timeouts are errors
// like any other, though nothing took effect: the register may well be at the version named.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(s.life.Usable(ctx), store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	call, done := s.bound(ctx)
	defer done()
	var guard *storeclient.Token
	if prev != "" {
		known, ok := storeclient.ParseToken(string(prev))
		if !ok {
			return "", store.ErrConflict // a register never had it
		}
		guard = &known
	}
	token, err := storeclient.DrawToken(s.random)
	if err != nil {
		return "", fmt.Errorf("sqlstore: %w", err)
	}
	// A session whose settings are others, and fit, costs one more try.
	for range sessionTries {
		j, err := s.session(call)
		if err != nil {
			return "", s.explain(ctx, "swap", key, err)
		}
		switch o, err := s.swap(call, j, key, guard, token, value); {
		case err != nil:
			return "", s.explain(ctx, "swap", key, err)
		case o == conflict:
			return "", store.ErrConflict
		case o == swapped:
			return store.Version(token.String()), nil
		}
	}
	return "", unfit("swap %q: nothing took effect, because the settings of the server's sessions keep changing: they must be alike", key)
}

// List implements [store.Store]. It yields the registers in the order of their
// keys and reads 250 of them at a time; connections are free in between.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.ListPages(prefix, pageSize, func(after string) (page []store.Entry, err error) {
		from := []byte(prefix)
		if after != "" {
			from = append([]byte(after), 0) // the least key that is greater
		}
		err = s.on(ctx, "list", prefix, func(ctx context.Context, connection *sql.Conn, j *judged) (err error) {
			page, err = pageOn(ctx, connection, j.list, s.dialect.bytes(from), s.dialect.bytes([]byte(prefix+afterKeys)))
			return err
		})
		return page, err
	})
}

// Traits implements [store.Store]: the config's assertions.
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.life.Traits(ctx, store.Traits{Engine: s.dialect.String(), Durable: s.promise.durable, Loss: s.promise.loss})
}

// Now implements [store.Clock]: the server's wall clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var microseconds int64
	if err := s.on(ctx, "read", "clock", func(ctx context.Context, connection *sql.Conn, j *judged) error {
		return connection.QueryRowContext(ctx, j.now).Scan(&microseconds)
	}); err != nil {
		return time.Time{}, err
	}
	return time.UnixMicro(microseconds).UTC(), nil
}

// Name implements [store.Named].
func (s *Store) Name() string { return s.name }

// Close implements [store.Store]. A pool that was handed in stays open.
func (s *Store) Close() error {
	return s.life.End(func() error {
		if !s.own {
			return nil
		}
		return s.db.Close()
	})
}

// on calls f with a connection, and the session that was judged last, in the time of one call. Its error names the
// failed call.
func (s *Store) on(ctx context.Context, verb, what string, f func(context.Context, *sql.Conn, *judged) error) error {
	if err := s.life.Usable(ctx); err != nil {
		return err
	}
	call, done := s.bound(ctx)
	defer done()
	j, err := s.session(call)
	if err == nil {
		err = sqlsession.On(call, s.db, func(connection *sql.Conn) error { return f(call, connection, j) })
	}
	if err != nil {
		return s.explain(ctx, verb, what, err)
	}
	return nil
}

// pageOn reads a page by a connection.
func pageOn(ctx context.Context, connection *sql.Conn, list string, bounds ...any) (page []store.Entry, err error) {
	rows, err := connection.QueryContext(ctx, list, bounds...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key, token, value []byte
		if err := rows.Scan(&key, &token, &value); err != nil {
			return nil, err
		}
		e, err := entry(key, token, value)
		if err != nil {
			return nil, err
		}
		page = append(page, e)
	}
	return page, rows.Err()
}

// renew makes the store's own pool connect again, and so look for the primary.
func (s *Store) renew() {
	if s.own {
		s.db.SetMaxIdleConns(-1) // closes them
		s.db.SetMaxIdleConns(idleConnections)
	}
}

// bound returns the context of one call, which ends with ctx, with the store or after callLimit, and
// its release.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	call, done := s.life.Bound(ctx)
	return call, func() { done(); cancel() }
}

// entry makes a register of a row.
func entry(key, token, value []byte) (store.Entry, error) {
	var reason string
	switch {
	case store.ValidateKey(string(key)) != nil:
		reason = "its key is not a valid one"
	case len(token) != len(storeclient.Token{}):
		reason = fmt.Sprintf("its token has %d bytes, must have %d", len(token), len(storeclient.Token{}))
	case len(value) > store.MaxValue:
		reason = fmt.Sprintf("its value has %d bytes, must have at most %d", len(value), store.MaxValue)
	default:
		return store.Entry{Key: string(key), Value: value, Version: store.Version(hex.EncodeToString(token))}, nil
	}
	return store.Entry{}, fmt.Errorf("sqlstore: register %.80q: %s: %w", key, reason, store.ErrDamaged)
}
