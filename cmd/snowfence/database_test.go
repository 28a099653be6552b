package main

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
)

// The servers that tests share, each test with a database of its own. A server starts when a test first asks for it.
var (
	lifetime   testkit.Lifetime
	databases  atomic.Int64
	sqlServers = map[string]func() *testkit.Server{
		"postgres": sync.OnceValue(func() *testkit.Server { return testkit.Postgres(&lifetime) }),
		"mysql":    sync.OnceValue(func() *testkit.Server { return testkit.MariaDB(&lifetime) }),
	}
)

// database makes a database on the shared server of a scheme, "postgres" or "mysql", and runs statements in it. It
// returns its URL, and a pool of its connections.
func database(t *testing.T, scheme string, statements ...string) (at string, db *sql.DB) {
	t.Helper()
	server, name := sqlServers[scheme]().Addr(), fmt.Sprint("own", databases.Add(1))
	execute(t, testkit.SQLURL(scheme, server, testkit.SQLDatabase), "CREATE DATABASE "+name)
	at = testkit.SQLURL(scheme, server, name)
	return at, execute(t, at, statements...)
}

// execute runs statements in a database, and returns a pool of its connections.
func execute(t *testing.T, at string, statements ...string) *sql.DB {
	t.Helper()
	db, err := openstore.OpenDatabase(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return db.DB
}

// emptyStore returns the URL of a new store of an engine. A lossy engine declares the loss.
func emptyStore(t *testing.T, engine string, loss time.Duration) (at string, lossy bool) {
	t.Helper()
	if sqlServers[engine] == nil {
		e := testkit.StartEngine(t, engine)
		return e.URL("", loss), e.Lossy
	}
	at, _ = database(t, engine)
	return at + "?durable=true", false
}
