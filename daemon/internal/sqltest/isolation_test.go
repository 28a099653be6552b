//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
)

const (
	isolationWindow  = 9 * time.Second // an extension is due after a third
	isolationTimeout = 500 * time.Millisecond
	isolationWorker  = 7
)

// TestSwapThatHangsAtItsCommitIsNotTakenForABound lets an extension hang at its
// commit, and its holder read the register. At READ UNCOMMITTED it reads its own
// bytes, and takes them for an acknowledgement. Then the server crashes and
// recovers without them, and the next holder repeats ids. So such a server is
// refused. At the default level nothing of the kind is read.
func TestSwapThatHangsAtItsCommitIsNotTakenForABound(t *testing.T) {
	t.Parallel()
	for level, repeats := range map[string]bool{"READ-UNCOMMITTED": true, "REPEATABLE-READ": false} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			h := hangAtCommit(t, level)
			if h.adopted != repeats {
				t.Errorf("the bound that was never committed was taken for one: %t, want %t", h.adopted, repeats)
			}
			if h.repeated > 0 != repeats {
				t.Errorf("%d ids are equal, want any: %t", h.repeated, repeats)
			}
		})
	}
}

// hang is what came of an extension that hung at its commit.
type hang struct {
	adopted  bool // its holder went on as if it was acknowledged
	repeated int  // ids that both holders issued
}

// hangAtCommit runs two holders of one worker id, one before a crash of the
// server and one after it, on a server of an isolation level.
func hangAtCommit(t *testing.T, level string) (h hang) {
	t.Helper()
	s, server := sqlServers["MariaDB"], testkit.MariaDB(t, "--transaction-isolation="+level)
	refusal := ""
	if level == "READ-UNCOMMITTED" {
		refusal = "tx_isolation is READ-UNCOMMITTED"
	}
	for _, query := range []string{"durable=true", "loss=1m", ""} {
		s.refused(t, s.url(query, server.Addr()), refusal)
	}

	// A server that notices that a client has gone rolls its swap back. This one
	// never does, as if the client's host had lost its power.
	network := testkit.NewProxy(t, server.Addr())
	network.HideEnds()
	calls := &reads{}
	firstClock := &shifted{Clock: snowfence.SystemClock()}
	first := holdUnjudged(t, s.url("durable=true", network.Addr()), "first", firstClock, func(s store.Store) store.Store { calls.Store = s; return calls })
	firstIDs := take(t, first, 100)
	if len(firstIDs) == 0 {
		t.Fatal("the first holder issues no ids")
	}

	// A backup of the server stops its commits for a while.
	blocker := s.session(t, server, "READ-COMMITTED", "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT")
	committed := blocker.until(t)
	onlooker := s.session(t, server, "READ-UNCOMMITTED")
	testkit.Eventually(t, func(context.Context) error {
		if onlooker.until(t) == committed {
			return errors.New("no extension hangs at its commit")
		}
		return nil
	})
	read := calls.done.Load()
	testkit.Eventually(t, func(context.Context) error {
		h.adopted = first.Status().Until > committed
		if n := calls.done.Load() - read; n < 3 && !h.adopted {
			return fmt.Errorf("the holder looked %d times at what became of its extension: %w", n, first.Status().LastError)
		}
		return nil
	})

	network.Cut()
	server.Kill()
	server.Start()
	if got := s.session(t, server, "READ-COMMITTED").until(t); got != committed {
		t.Fatalf("the server recovered the bound %d, want %d", got, committed)
	}

	h.repeated = issuedTwice(t, first, firstClock, firstIDs, committed, func(clock snowfence.Clock) *fence.Holder {
		return holdUnjudged(t, s.url("durable=true", server.Addr()), "second", clock, func(s store.Store) store.Store { return s })
	})
	t.Logf("the bound that was never committed was taken for one: %t; %d ids are equal", h.adopted, h.repeated)
	return h
}

// issuedTwice opens a second holder after a crash, and returns how many ids both issue. The first one has issued some. A
// bound was recovered: for the second one's clock, which is ahead by less than the window, its ticks are over. The first one's clock then steps
// to where the second one began, which its generator notices within 100 ms, some 400 ids.
func issuedTwice(t *testing.T, first *fence.Holder, clock *shifted, ids []snowfence.ID, recovered snowfence.Tick, open func(snowfence.Clock) *fence.Holder) (equal int) {
	t.Helper()
	ahead := &shifted{Clock: snowfence.SystemClock()}
	ahead.setTo(isolationLayout().TimeOf(recovered))
	next := take(t, open(ahead), 1000)
	if len(ids) == 0 || len(next) == 0 {
		t.Fatalf("the holders issue %d and %d ids", len(ids), len(next))
	}
	begun, err := isolationLayout().Decompose(next[0])
	if err != nil {
		t.Fatal(err)
	}
	clock.setTo(isolationLayout().TimeOf(begun.Tick))
	issued := make(map[snowfence.ID]bool)
	for _, id := range append(ids, take(t, first, 1000)...) {
		issued[id] = true
	}
	for _, id := range next {
		if issued[id] {
			equal++
		}
	}
	return equal
}

// isolationLayout has so few ids a tick that two holders of one tick issue
// equal ids.
func isolationLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 10}, {Kind: snowfence.Sequence, Bits: 2},
	}
	return l
}

// holdUnjudged holds the worker id in a store that is not refused for its
// isolation level.
func holdUnjudged(t *testing.T, storeURL, host string, clock snowfence.Clock, over func(store.Store) store.Store) *fence.Holder {
	t.Helper()
	client, err := sqlstore.OpenURL(t.Context(), storeURL, sqlstore.Driver{
		Connector: func(server sqlstore.Server) (driver.Connector, error) {
			config := mysql.NewConfig()
			config.Net, config.Addr = "tcp", net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
			config.User, config.DBName, config.Passwd = server.User, server.Database, testkit.SQLPassword
			config.InterpolateParams, config.Logger = true, &mysql.NopLogger{}
			c, err := mysql.NewConnector(config)
			return unjudged{c}, err
		},
		Duplicate: duplicateKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	worker := int64(isolationWorker)
	holder, err := fence.Open(t.Context(), fence.Config{
		Store: over(client), Layout: isolationLayout(), Worker: &worker, Window: isolationWindow, RequestTimeout: isolationTimeout,
		Process: fence.Process{Host: host, PID: 1}, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), isolationTimeout)
		defer cancel()
		_ = holder.Close(ctx) // the first can't reach its store
	})
	return holder
}

// take takes ids from a holder, as many as it has at once, up to n.
func take(t *testing.T, h *fence.Holder, n int) (ids []snowfence.ID) {
	t.Helper()
	for len(ids) < n {
		id, err := h.Next(t.Context())
		if err != nil {
			return ids
		}
		ids = append(ids, id)
	}
	return ids
}

// sqlSession is a connection to MariaDB of an isolation level of its own.
type sqlSession struct{ *sql.Conn }

// session makes a connection and runs statements on it.
func (s sqlServer) session(t *testing.T, server *testkit.Server, level string, statements ...string) sqlSession {
	t.Helper()
	connection, err := s.administer(t, server).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	for _, statement := range append([]string{"SET SESSION tx_isolation = '" + level + "'"}, statements...) {
		if _, err := connection.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return sqlSession{connection}
}

// until reads the bound of the worker id, as the session sees it.
func (s sqlSession) until(t *testing.T) snowfence.Tick {
	t.Helper()
	var value []byte
	if err := s.QueryRowContext(t.Context(), "SELECT value FROM snowfence_registers WHERE `key` = ?",
		stored.RegisterKey(stored.DefaultNamespace, isolationLayout(), isolationWorker)).Scan(&value); err != nil {
		t.Fatal(err)
	}
	r, err := stored.DecodeRegister(value)
	if err != nil {
		t.Fatal(err)
	}
	return r.Until
}

// unjudged makes connections that show the default isolation level to those who
// ask for settings, whatever it is.
type unjudged struct{ driver.Connector }

func (u unjudged) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return painted{c.(mysqlConnection)}, nil
}

// mysqlConnection is what database/sql makes use of.
type mysqlConnection interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type painted struct{ mysqlConnection }

func (p painted) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if rest, ok := strings.CutPrefix(query, "SHOW VARIABLES "); ok {
		query = "SELECT LOWER(variable_name), REPLACE(variable_value, 'READ-UNCOMMITTED', 'REPEATABLE-READ') FROM information_schema.session_variables " + rest
	}
	return p.mysqlConnection.QueryContext(ctx, paint(query), args)
}

func (p painted) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return p.mysqlConnection.ExecContext(ctx, paint(query), args)
}

// paint makes a statement see the default level.
func paint(query string) string {
	return strings.ReplaceAll(query, "@@tx_isolation", "REPLACE(@@tx_isolation, 'READ-UNCOMMITTED', 'REPEATABLE-READ')")
}

// shifted is the system's clock, set ahead.
type shifted struct {
	snowfence.Clock
	ahead atomic.Int64
}

func (c *shifted) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.ahead.Load())) }

// setTo steps the clock to a time, if that is ahead of it.
func (c *shifted) setTo(wall time.Time) { c.ahead.Add(max(0, int64(wall.Sub(c.Wall())))) }

// reads is a store that counts the reads that were answered.
type reads struct {
	store.Store
	done atomic.Int64
}

func (r *reads) Get(ctx context.Context, key string) (store.Entry, error) {
	entry, err := r.Store.Get(ctx, key)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		r.done.Add(1)
	}
	return entry, err
}
