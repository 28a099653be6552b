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
	"snowfence.example/snowfence/internal/servertest"
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
			s := mariaDB.on(testkit.MariaDB(t, "--transaction-isolation="+level))
			for _, query := range []string{"durable=true", "loss=1m", ""} {
				refused(t, s.url(query), map[bool]string{true: "tx_isolation is READ-UNCOMMITTED"}[repeats])
			}
			// A server that notices that a client has gone rolls its swap back. This one does not
			// notice, as if the client's host had lost its power.
			network := testkit.NewProxy(t, s.server.Addr())
			network.HideEnds()
			calls := &reads{Store: s.unjudged(t, network.Addr())}
			firstClock := &shifted{Clock: snowfence.SystemClock()}
			first := hold(t, calls, "first", firstClock)
			firstIDs := take(t, first, 100)

			// A backup of the server stops its commits for a while.
			blocker := s.session(t, "READ-COMMITTED", "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT")
			committed := until(t, blocker)
			onlooker := s.session(t, "READ-UNCOMMITTED")
			testkit.Eventually(t, func(context.Context) error {
				if until(t, onlooker) == committed {
					return errors.New("no extension hangs at its commit")
				}
				return nil
			})
			read, adopted := calls.done.Load(), false
			testkit.Eventually(t, func(context.Context) error {
				adopted = first.Status().Until > committed
				if n := calls.done.Load() - read; n < 3 && !adopted {
					return fmt.Errorf("the holder looked %d times at what became of its extension: %w", n, first.Status().LastError)
				}
				return nil
			})
			network.Cut()
			s.server.Kill()
			s.server.Start()
			if got := until(t, s.session(t, "READ-COMMITTED")); got != committed {
				t.Fatalf("the server recovered the bound %d, want %d", got, committed)
			}
			repeated := issuedTwice(t, first, firstClock, firstIDs, committed, func(clock snowfence.Clock) *fence.Holder {
				return hold(t, s.unjudged(t, s.server.Addr()), "second", clock)
			})
			if adopted != repeats || repeated > 0 != repeats {
				t.Errorf("a bound that was never committed was taken for one: %t; %d ids are equal; want both: %t", adopted, repeated, repeats)
			}
		})
	}
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

// unjudged is a store at an address that is not refused for its isolation level.
func (s sqlServer) unjudged(t *testing.T, address string) store.Store {
	t.Helper()
	return servertest.Opened(t, func(ctx context.Context, storeURL string) (*sqlstore.Store, error) {
		return sqlstore.OpenURL(ctx, storeURL, sqlstore.Driver{
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
	}, s.urlOf(testkit.SQLUser, "durable=true", address))
}

// hold holds the worker id in a store.
func hold(t *testing.T, s store.Store, host string, clock snowfence.Clock) *fence.Holder {
	t.Helper()
	worker := int64(isolationWorker)
	holder, err := fence.Open(t.Context(), fence.Config{
		Store: s, Layout: isolationLayout(), Worker: &worker, Window: isolationWindow, RequestTimeout: isolationTimeout,
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

// session makes a connection of an isolation level of its own, and runs statements on it.
func (s sqlServer) session(t *testing.T, level string, statements ...string) *sql.Conn {
	t.Helper()
	connection, err := s.admin(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	for _, statement := range append([]string{"SET SESSION tx_isolation = '" + level + "'"}, statements...) {
		if _, err := connection.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return connection
}

// until reads the bound of the worker id, as a session sees it.
func until(t *testing.T, session *sql.Conn) snowfence.Tick {
	t.Helper()
	key := stored.RegisterKey(stored.DefaultNamespace, isolationLayout(), isolationWorker)
	r, err := stored.DecodeRegister(read[[]byte](t, session, "SELECT value FROM snowfence_registers WHERE `key` = ?", key))
	if err != nil {
		t.Fatal(err)
	}
	return r.Until
}

// unjudged makes connections that show the default isolation level to readers of the settings, whatever
// the level is.
type unjudged struct{ driver.Connector }

func (u unjudged) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return painted{c.(mysqlConnection)}, nil
}

// mysqlConnection has the methods that database/sql uses.
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
