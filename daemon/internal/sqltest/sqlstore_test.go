package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
	"snowfence.example/snowfence/store/storetest"
)

// sqlServer is a way to start a server, and the scheme of its URLs.
type sqlServer struct {
	scheme string
	start  func(t testing.TB, settings ...string) *testkit.Server
}

var sqlServers = map[string]sqlServer{
	"PostgreSQL": {"postgres", testkit.Postgres},
	"MariaDB":    {"mysql", testkit.MariaDB},
}

// eachSQL runs a test on both kinds of server.
func eachSQL(t *testing.T, test func(t *testing.T, s sqlServer)) {
	t.Helper()
	for name, s := range sqlServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they share nothing
			test(t, s)
		})
	}
}

// url names a database at addresses, with a query such as "durable=true".
func (s sqlServer) url(query string, addresses ...string) string {
	return s.urlOf(testkit.SQLUser, query, addresses...)
}

// urlOf is url for another user.
func (s sqlServer) urlOf(user, query string, addresses ...string) string {
	return s.scheme + "://" + url.UserPassword(user, testkit.SQLPassword).String() + "@" +
		strings.Join(addresses, ",") + "/" + testkit.SQLDatabase + "?" + query
}

// clerk makes a user who has the rights given, and SELECT, INSERT and UPDATE on
// the tables that there are.
func (s sqlServer) clerk(t *testing.T, server *testkit.Server, rights ...string) string {
	t.Helper()
	db := s.administer(t, server)
	if s.scheme == "mysql" {
		do(t, db, "CREATE USER clerk IDENTIFIED BY '"+testkit.SQLPassword+"'",
			"GRANT "+strings.Join(append(rights, "SELECT", "INSERT", "UPDATE"), ", ")+" ON "+testkit.SQLDatabase+".* TO clerk")
		return "clerk"
	}
	do(t, db, "CREATE USER clerk PASSWORD '"+testkit.SQLPassword+"'",
		"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO clerk")
	for _, right := range rights {
		do(t, db, "GRANT "+right+" ON SCHEMA public TO clerk")
	}
	return "clerk"
}

// client opens a store that is closed with the test.
func (s sqlServer) client(t *testing.T, storeURL string) store.Store {
	t.Helper()
	client, err := openstore.Open(t.Context(), storeURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return client
}

// administer returns a pool that is no store's, for what a test does to the
// server itself.
func (s sqlServer) administer(t *testing.T, server *testkit.Server) *sql.DB {
	t.Helper()
	driver, source := "pgx", s.url("sslmode=disable", server.Addr())
	if s.scheme == "mysql" {
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?multiStatements=true", testkit.SQLUser, testkit.SQLPassword, server.Addr(), testkit.SQLDatabase)
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// do runs statements.
func do(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// opens opens clients for a harness.
func opens(storeURL string) func(context.Context) (store.Store, error) {
	return func(ctx context.Context) (store.Store, error) { return openstore.Open(ctx, storeURL) }
}

// TestSQLServerThatComesAndGoes holds a server to the rules for which it is
// stopped, or changed for good.
func TestSQLServerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		server := s.start(t)
		for _, rule := range []struct {
			name  string
			check func(*testing.T, sqlServer, *testkit.Server)
		}{
			{"conformance", conformance},
			{"restart is survived", restartIsSurvived},
			{"calls return while the server is paused", callsReturnWhileTheServerIsPaused},
			{"commit that waits is not shown", commitThatWaitsIsNotShown},
			{"next host takes over", nextHostTakesOver},
			{"connections are secured", connectionsAreSecured},
			{"password file is read at every connection", passwordFileIsReadAtEveryConnection}, // and changes the password
		} {
			t.Run(rule.name, func(t *testing.T) { rule.check(t, s, server) })
		}
	})
}

func conformance(t *testing.T, s sqlServer, server *testkit.Server) {
	// For SQL the environment names a whole URL: there is no database without
	// credentials.
	if storeURL, ok := testkit.External(strings.ToUpper(s.scheme)); ok {
		storetest.Run(t, storetest.Harness{Open: opens(storeURL)})
		return
	}
	proxy := testkit.NewProxy(t, server.Addr())
	storetest.Run(t, storetest.Harness{
		Open: opens(s.url("durable=true", server.Addr())),
		Restart: func(context.Context) error {
			server.Kill()
			return server.TryStart()
		},
		Snapshot: s.snapshot(t, server),
		OpenLossy: func(ctx context.Context) (store.Store, func(), error) {
			client, err := openstore.Open(ctx, s.url("durable=true", proxy.Addr()))
			// Connecting asks for settings, and an idle connection is asked whether
			// it lives: the swap is what carries its round.
			return client, func() {
				proxy.LoseReplyTo(func(request []byte) bool { return isSwap(string(request)) })
			}, err
		},
		Timeout: 20 * time.Second,
	})
}

// snapshot copies the table, and copies it back.
func (s sqlServer) snapshot(t *testing.T, server *testkit.Server) func(context.Context) (func(context.Context) error, error) {
	db := s.administer(t, server)
	run := func(ctx context.Context, statements ...string) error {
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}
	return func(ctx context.Context) (func(context.Context) error, error) {
		err := run(ctx, "DROP TABLE IF EXISTS backup", "CREATE TABLE backup AS SELECT * FROM snowfence_registers")
		return func(ctx context.Context) error {
			return run(ctx, "DELETE FROM snowfence_registers", "INSERT INTO snowfence_registers SELECT * FROM backup")
		}, err
	}
}

// isSwap reports whether a request holds a swap's statement.
func isSwap(request string) bool {
	return strings.Contains(request, "INSERT INTO") || strings.Contains(request, "UPDATE ")
}

// TestDefaultLossOfSQLCoversALagOfTenSeconds and leaves room for it in the
// default window, but not in a pinned worker's, which is refused by name.
func TestDefaultLossOfSQLCoversALagOfTenSeconds(t *testing.T) {
	const lag, measured, fast = 10 * time.Second, 2 * time.Second, 2000 // a fast clock's margin is a part in that many
	if least := (lag + measured) + (lag+measured)/fast; sqlstore.DefaultLoss < least {
		t.Errorf("the default loss is %v, must be at least %v", sqlstore.DefaultLoss, least)
	}
	config := lease.Config{Layout: snowfence.DefaultLayout(), Loss: sqlstore.DefaultLoss}
	if _, err := lease.New(config); err != nil {
		t.Errorf("with the default window: %v", err)
	}
	config.Worker = new(int64)
	var refused *stored.ConfigError
	if _, err := lease.New(config); !errors.As(err, &refused) || refused.Field != "window" {
		t.Errorf("pinned, with its default window: %v, want a window that is refused", err)
	}
	config.Window = 3*sqlstore.DefaultLoss + time.Second
	if _, err := lease.New(config); err != nil {
		t.Errorf("pinned, with a window of %v: %v", config.Window, err)
	}
}

// TestSQLConformanceUnderFaults uses servers that sync nothing, which does not
// matter here and saves time, and first sees that they are refused.
func TestSQLConformanceUnderFaults(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"postgres": "fsync=off", "mysql": "--skip-log-bin"}
	eachSQL(t, func(t *testing.T, s sqlServer) {
		server := s.start(t, settings[s.scheme])
		if s.scheme == "postgres" {
			s.refused(t, s.url("", server.Addr()), "fsync")
			s.refused(t, s.url("loss=1m", server.Addr()), "")
		} else {
			s.refused(t, s.url("durable=true", server.Addr()), "log_bin")
			s.refused(t, s.url("", server.Addr()), "")
			do(t, s.administer(t, server), "SET GLOBAL innodb_flush_log_at_trx_commit = 2")
		}
		open, _ := s.pooled(t, server, sqlstore.Config{Loss: time.Minute})
		storetest.RunFaulty(t, storetest.Harness{Open: open})
	})
}

// duplicateKey reports whether an error is MySQL's for a row whose key exists.
func duplicateKey(err error) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == 1062
}
