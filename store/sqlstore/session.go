package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snowfence.example/snowfence/internal/sqlsession"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// A judged session is one that is fit, and the statements that take effect in sessions like it alone.
type judged struct {
	statements
	read expression
	text string // of its settings
}

// session returns the session that was judged last. Without one it judges a new connection.
func (s *Store) session(ctx context.Context) (*judged, error) {
	if j := s.judged.Load(); j != nil {
		return j, nil
	}
	j := &judged{}
	err := sqlsession.On(ctx, s.db, func(connection *sql.Conn) error {
		names := postgresNames()
		if s.dialect == MySQL {
			err := connection.Raw(func(raw any) (err error) { names, err = mysqlNames(ctx, raw.(driver.Conn)); return err })
			if err != nil {
				return err
			}
		}
		table := s.dialect.quote(s.table)
		j.read = sessionOf(s.dialect, names, table)
		j.statements = j.read.statements(s.dialect, table)
		var kind string
		if err := connection.QueryRowContext(ctx, j.statements.session).Scan(&j.text, &kind); err != nil {
			return err
		}
		settings := sqlsession.Parse(j.text, j.read.names)
		role := settings["role"]
		s.role.CompareAndSwap(nil, &role)
		return cmp.Or(s.judge(settings), s.judgeKind(kind))
	})
	if err != nil {
		return nil, err
	}
	s.judged.Store(j)
	return j, nil
}

// judge returns a *ServerError for a session that is not one to stand on.
func (s *Store) judge(settings settings) error {
	if role := s.role.Load(); role != nil && settings["role"] != *role {
		return unfit("role is %s, and was %s when the store was opened: must not change", settings["role"], *role)
	}
	return s.dialect.judge(settings, s.promise)
}

// judgeKind returns a *ServerError for a table that can't hold registers. MySQL reports its kind at opening alone.
func (s *Store) judgeKind(kind string) error {
	if s.dialect == PostgreSQL {
		if reason := judgePostgresKind(kind); reason != "" {
			return unfit("table %s: %s", s.table, reason)
		}
	}
	return nil
}

// accept judges the settings of the session in which a statement of j was run, and which differ from j's. Later
// statements go by them, if they are fit.
func (s *Store) accept(ctx context.Context, connection *sql.Conn, j *judged, text string) error {
	err := s.judge(sqlsession.Parse(text, j.read.names))
	if err == nil {
		// The kind is read after the table's file was. If it is that of a later file, the next statement finds that one.
		var later, kind string
		if err = connection.QueryRowContext(ctx, j.statements.session).Scan(&later, &kind); err == nil {
			err = s.judgeKind(kind)
		}
	}
	if err != nil {
		var found *ServerError
		if errors.As(err, &found) {
			return unfit("%s. It was fit before: another client of the pooler changed the session, or an operator the server", found.Reason)
		}
		return err
	}
	other := *j
	other.text = text
	s.judged.CompareAndSwap(j, &other)
	return nil
}

// outcome is the result of a swap.
type outcome int

const (
	nothing  outcome = iota // since the session was another one
	conflict                // since the register has another version
	swapped
)

// swap runs a swap on a session like j. It returns nothing only if another try is right: the swap
// missed, and the session's settings are fit.
func (s *Store) swap(ctx context.Context, j *judged, key string, guard *storeclient.Token, token storeclient.Token, value []byte) (o outcome, err error) {
	b := s.dialect.bytes
	query, arguments := j.create, []any{b([]byte(key)), b(token[:]), b(value)}
	if guard != nil {
		query, arguments = j.replace, []any{b(token[:]), b(value), b([]byte(key)), b(guard[:])}
	}
	err = sqlsession.On(ctx, s.db, func(connection *sql.Conn) (err error) {
		o, err = s.swapOn(ctx, connection, j, key, guard, query, append(arguments, s.dialect.text(j.text)))
		return err
	})
	return o, err
}

// swapOn runs a swap by a connection. Where the row stayed it reads the register and the settings by
// the same one.
func (s *Store) swapOn(ctx context.Context, connection *sql.Conn, j *judged, key string, guard *storeclient.Token, query string, arguments []any) (outcome, error) {
	result, err := connection.ExecContext(ctx, query, arguments...)
	if err != nil {
		if guard == nil && s.dialect == MySQL && s.duplicate(err) {
			return conflict, nil
		}
		return nothing, err
	}
	// A replaced row always changes, because its token does: so MySQL's count of
	// changed rows is that of found ones.
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return nothing, err
	case n == 1:
		return swapped, nil
	case n != 0:
		return nothing, fmt.Errorf("%d rows were affected, must be 0 or 1", n)
	}
	token, _, text, err := s.read(ctx, connection, j, key)
	if err != nil {
		return nothing, err
	}
	if text != j.text {
		return nothing, s.accept(ctx, connection, j, text)
	}
	// A version does not come back. If the register has another one, the swap was in conflict with that,
	// wherever it was run.
	if same := guard == nil && !token.Valid || guard != nil && token.Valid && string(token.V) == string(guard[:]); !same {
		return conflict, nil
	}
	return nothing, nil
}

// read reads a register and the settings of the session. Of one that is not there it asks twice, so that the answer comes
// with settings, too.
func (s *Store) read(ctx context.Context, connection *sql.Conn, j *judged, key string) (token sql.Null[[]byte], value []byte, text string, err error) {
	for _, query := range []string{j.get, j.look} {
		err = connection.QueryRowContext(ctx, query, s.dialect.bytes([]byte(key))).Scan(&token, &value, &text)
		if !errors.Is(err, sql.ErrNoRows) {
			break
		}
	}
	return token, value, text, err
}

// get reads a register in a session that is fit.
func (s *Store) get(ctx context.Context, connection *sql.Conn, j *judged, key string) (token sql.Null[[]byte], value []byte, err error) {
	token, value, text, err := s.read(ctx, connection, j, key)
	if err != nil || text == j.text {
		return token, value, err
	}
	if found := sqlsession.Parse(text, j.read.names); !off(cmp.Or(found["in_recovery"], found["read_only"], "0")) {
		s.renew()
		return token, value, unfit("get %q: a replica answered, which may show a write that a failover takes away: must be the primary", key)
	}
	return token, value, s.accept(ctx, connection, j, text)
}

// resolve names the table with its schema, so that a session's search path can't decide later.
func (s *Store) resolve(ctx context.Context) error {
	if s.table.schema != "" {
		return nil
	}
	schema, err := sqlsession.Home(ctx, s.db, s.dialect == MySQL, s.table.name)
	if errors.Is(err, sqlsession.ErrHidden) {
		return unfit("table %s: %v, by table=schema.%s", s.table, err, s.table.name)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: look for table %s: %w", s.table, err)
	}
	s.table.schema = schema
	return nil
}

// explain names the failed call. Where the store was closed or the context
// ended meanwhile that is the cause, whatever the driver makes of it.
func (s *Store) explain(ctx context.Context, verb, what string, err error) error {
	if unfit := new(ServerError); s.dialect == MySQL && !errors.As(err, &unfit) {
		s.judged.Store(nil) // a server of another release may lack a variable that the statements name
	}
	if cause := s.life.Usable(ctx); cause != nil && (s.life.Ended() || !errors.As(err, new(*sqlsession.NoConnectionError))) {
		err = cause
	}
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrDamaged) {
		return err
	}
	var refused interface{ SQLState() string }
	if errors.As(err, &refused) && refused.SQLState() == "42501" { // insufficient_privilege
		return fmt.Errorf("sqlstore: %s %q: %w; if the user has the right, another client of the pooler sent SET ROLE", verb, what, err)
	}
	return fmt.Errorf("sqlstore: %s %q: %w", verb, what, err)
}

// mysqlNames returns the names of the variables that matter, and that the server has.
func mysqlNames(ctx context.Context, connection driver.Conn) ([]string, error) {
	found, err := pairs(ctx, connection, mysqlSettings)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range found {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return names, nil
}
