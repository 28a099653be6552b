//go:build servers

package sqltest

import (
	"cmp"
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

// The servers that tests share. A server starts when a test first asks for it.
var (
	lifetime  testkit.Lifetime
	databases atomic.Int64
)

// sqlServer is a database on a server. The careful server syncs each commit. The hasty one does not
// sync: rules about concurrency are not about crashes. Tests that change the settings of a whole
// server, and set them back, run alone.
type sqlServer struct {
	name, scheme   string // the scheme of its URLs
	dialect        sqlstore.Dialect
	start          func(t testing.TB, settings ...string) *testkit.Server
	careful, hasty func() *testkit.Server

	server   *testkit.Server
	database string
}

var (
	postgreSQL = sqlServer{
		name: "PostgreSQL", scheme: "postgres", dialect: sqlstore.PostgreSQL, start: testkit.Postgres, database: testkit.SQLDatabase,
		careful: sync.OnceValue(func() *testkit.Server { return testkit.Postgres(&lifetime, "max_connections=200") }),
		hasty:   sync.OnceValue(func() *testkit.Server { return testkit.Postgres(&lifetime, "fsync=off", "max_connections=200") }),
	}
	mariaDB = sqlServer{
		name: "MariaDB", scheme: "mysql", dialect: sqlstore.MySQL, start: testkit.MariaDB, database: testkit.SQLDatabase,
		careful: sync.OnceValue(func() *testkit.Server { return testkit.MariaDB(&lifetime, "--max-connections=200") }),
		hasty: sync.OnceValue(func() *testkit.Server {
			return testkit.MariaDB(&lifetime, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--binlog-format=MIXED", "--max-connections=300")
		}),
	}
)

// eachSQL runs a test on both kinds of server, at the same time.
func eachSQL(t *testing.T, test func(*testing.T, sqlServer)) {
	t.Helper()
	for _, s := range []sqlServer{postgreSQL, mariaDB} {
		t.Run(s.name, func(t *testing.T) { t.Parallel(); test(t, s) })
	}
}

// onCareful runs a test in a database of the careful server of each kind.
func onCareful(t *testing.T, test func(*testing.T, sqlServer)) {
	t.Helper()
	eachSQL(t, func(t *testing.T, s sqlServer) { test(t, s.within(t, s.careful())) })
}

// on is the database that every server has.
func (s sqlServer) on(server *testkit.Server) sqlServer {
	s.server = server
	return s
}

// within is a new database of a server.
func (s sqlServer) within(t testing.TB, server *testkit.Server) sqlServer {
	t.Helper()
	s.server = server
	name := fmt.Sprint("own", databases.Add(1))
	do(t, s.admin(t), "CREATE DATABASE "+name)
	s.database = name
	return s
}

// url names the database, with a query such as "durable=true".
func (s sqlServer) url(query string) string { return s.urlOf(testkit.SQLUser, query, s.server.Addr()) }

// urlOf is url for another user, and other addresses of the server.
func (s sqlServer) urlOf(user, query string, addresses ...string) string {
	return s.scheme + "://" + url.UserPassword(user, testkit.SQLPassword).String() + "@" +
		strings.Join(addresses, ",") + "/" + s.database + "?" + query
}

// login is who connects, and how. The zero value is the user who may do anything.
type login struct {
	user, address string
	query         string // settings of the driver and of each session
}

// admin is a pool beside the stores, of the user who may do anything.
func (s sqlServer) admin(t testing.TB) *sql.DB {
	t.Helper()
	return s.connect(t, login{})
}

// connect opens a pool, as a process of its own does.
func (s sqlServer) connect(t testing.TB, l login) *sql.DB {
	t.Helper()
	user, address := cmp.Or(l.user, testkit.SQLUser), cmp.Or(l.address, s.server.Addr())
	var db *sql.DB
	var err error
	if s.scheme == "postgres" {
		db, err = sql.Open("pgx", s.urlOf(user, "sslmode=disable&"+l.query, address))
	} else {
		const whole = "interpolateParams=true&multiStatements=true"
		db, err = sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?%s&%s", user, testkit.SQLPassword, address, s.database, whole, l.query))
	}
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(writers)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// clerk makes a user who has the rights given, and SELECT, INSERT and UPDATE on the tables that there are.
func (s sqlServer) clerk(t *testing.T, rights ...string) string {
	t.Helper()
	db, user := s.admin(t), fmt.Sprint("clerk_", s.database)
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

// opens opens clients for a harness.
func opens(storeURL string) func(context.Context) (store.Store, error) {
	return func(ctx context.Context) (store.Store, error) { return openstore.Open(ctx, storeURL) }
}

// refused opens a store, and wants a *sqlstore.ServerError with the text, or success if want is empty.
func refused(t *testing.T, storeURL, want string) {
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

// duplicateKey reports whether an error is MySQL's for a row whose key exists.
func duplicateKey(err error) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == 1062
}

// do runs statements.
func do(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// read returns the value of a query for one row.
func read[V any](t testing.TB, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, arguments ...any) (value V) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, arguments...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}
