package testkit

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"
)

// What every SQL server here knows: a database, and who may do anything in it
// by which password.
const (
	SQLDatabase = "snowfence"
	SQLUser     = "snowfence"
	SQLPassword = "fence/of@snow"
)

// SQL starts the server of a scheme, "postgres" or "mysql", and returns the URL of
// its database and a connection to it. The test brings the drivers, "pgx" and
// "mysql".
func SQL(t testing.TB, scheme string) (address string, db *sql.DB) {
	t.Helper()
	var driver, source string
	if scheme == "mysql" {
		at := MariaDB(t).Addr()
		address = sqlURL(scheme, at)
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s", SQLUser, SQLPassword, at, SQLDatabase)
	} else {
		address = sqlURL(scheme, Postgres(t).Addr())
		driver, source = "pgx", address+"?sslmode=disable"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return address, db
}

// sqlURL names the database of a server to package engine and to drivers.
func sqlURL(scheme, address string) string {
	return scheme + "://" + url.UserPassword(SQLUser, SQLPassword).String() + "@" + address + "/" + SQLDatabase
}
