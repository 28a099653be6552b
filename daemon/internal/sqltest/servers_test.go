//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
)

func TestMain(m *testing.M) {
	code := m.Run()
	lifetime.End()
	os.Exit(code)
}

// The servers that tests share, each with databases of their own. A server starts when a test first
// asks for it. The careful ones sync each commit, and the hasty ones none.
var (
	lifetime  testkit.Lifetime
	databases atomic.Int64

	careful = map[string]func() *testkit.Server{
		"postgres": sync.OnceValue(func() *testkit.Server { return testkit.Postgres(&lifetime, "max_connections=200") }),
		"mysql":    sync.OnceValue(func() *testkit.Server { return testkit.MariaDB(&lifetime, "--max-connections=200") }),
	}
	hasty = map[string]func() *testkit.Server{
		"postgres": sync.OnceValue(func() *testkit.Server { return testkit.Postgres(&lifetime, "fsync=off", "max_connections=200") }),
		"mysql": sync.OnceValue(func() *testkit.Server {
			return testkit.MariaDB(&lifetime, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--binlog-format=MIXED", "--max-connections=200")
		}),
	}
)

// sqlServer is a kind of server, by the scheme of its URLs, and a database there.
type sqlServer struct {
	scheme   string
	start    func(t testing.TB, settings ...string) *testkit.Server
	database string
}

var sqlServers = map[string]sqlServer{
	"PostgreSQL": {"postgres", testkit.Postgres, testkit.SQLDatabase},
	"MariaDB":    {"mysql", testkit.MariaDB, testkit.SQLDatabase},
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

// own makes a database on a server that others use, too.
func (s sqlServer) own(t *testing.T, shared map[string]func() *testkit.Server) (sqlServer, *testkit.Server) {
	t.Helper()
	server, name := shared[s.scheme](), fmt.Sprint("own", databases.Add(1))
	do(t, s.administer(t, server), "CREATE DATABASE "+name)
	s.database = name
	return s, server
}

// url names the database at addresses, with a query such as "durable=true".
func (s sqlServer) url(query string, addresses ...string) string {
	return s.urlOf(testkit.SQLUser, query, addresses...)
}

// urlOf is url for another user.
func (s sqlServer) urlOf(user, query string, addresses ...string) string {
	return s.scheme + "://" + url.UserPassword(user, testkit.SQLPassword).String() + "@" +
		strings.Join(addresses, ",") + "/" + s.database + "?" + query
}

// clerk makes a user who has the rights given, and SELECT, INSERT and UPDATE on
// the tables that there are.
func (s sqlServer) clerk(t *testing.T, server *testkit.Server, rights ...string) string {
	t.Helper()
	db, user := s.administer(t, server), "clerk_"+s.database
	if s.scheme == "mysql" {
		do(t, db, "CREATE USER "+user+" IDENTIFIED BY '"+testkit.SQLPassword+"'",
			"GRANT "+strings.Join(append(rights, "SELECT", "INSERT", "UPDATE"), ", ")+" ON "+s.database+".* TO "+user)
		return user
	}
	do(t, db, "CREATE USER "+user+" PASSWORD '"+testkit.SQLPassword+"'",
		"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO "+user)
	for _, right := range rights {
		do(t, db, "GRANT "+right+" ON SCHEMA public TO "+user)
	}
	return user
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
func (s sqlServer) administer(t testing.TB, server *testkit.Server) *sql.DB {
	t.Helper()
	return s.connect(t, testkit.SQLUser, server.Addr())
}

// connect returns a pool of a user, by way of an address.
func (s sqlServer) connect(t testing.TB, user, address string) *sql.DB {
	t.Helper()
	driver, source := "pgx", s.urlOf(user, "sslmode=disable", address)
	if s.scheme == "mysql" {
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?multiStatements=true", user, testkit.SQLPassword, address, s.database)
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// pooled returns what opens stores of one pool, and the pool: pgx prepares and
// caches statements, go-sql-driver prepares each, and counts found rows.
func (s sqlServer) pooled(t *testing.T, server *testkit.Server, config sqlstore.Config) (func(context.Context) (store.Store, error), *sql.DB) {
	t.Helper()
	config.Dialect = sqlstore.PostgreSQL
	driver, source := "pgx", s.url("sslmode=disable", server.Addr())
	if s.scheme == "mysql" {
		config.Dialect, config.Driver.Duplicate = sqlstore.MySQL, duplicateKey
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?clientFoundRows=true&parseTime=true&loc=Asia%%2FKathmandu&charset=latin1",
			testkit.SQLUser, testkit.SQLPassword, server.Addr(), s.database)
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxIdleConns(8)
	config.DB = db
	return func(ctx context.Context) (store.Store, error) {
		client, err := sqlstore.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		return client, nil
	}, db
}

// refused opens a store, and wants a *sqlstore.ServerError that says why not,
// or none if want is empty.
func (s sqlServer) refused(t *testing.T, storeURL, want string) {
	t.Helper()
	client, err := openstore.Open(t.Context(), storeURL)
	if err == nil {
		_ = client.Close()
	}
	var unfit *sqlstore.ServerError
	switch {
	case want == "" && err != nil:
		t.Errorf("a server that is fit: %v", err)
	case want != "" && (!errors.As(err, &unfit) || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}

// opens opens clients for a harness.
func opens(storeURL string) func(context.Context) (store.Store, error) {
	return func(ctx context.Context) (store.Store, error) { return openstore.Open(ctx, storeURL) }
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

// duplicateKey reports whether an error is MySQL's for a row whose key exists.
func duplicateKey(err error) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == 1062
}
