package testkit

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"
)

// SQL starts the server of a scheme, "postgres" or "mysql", and returns the URL of
// its database and a connection to it. The test brings the drivers, "pgx" and
// "mysql".
func SQL(t testing.TB, scheme string) (address string, db *sql.DB) {
	t.Helper()
	user := url.UserPassword(SQLUser, SQLPassword).String()
	var driver, source, at string
	if scheme == "mysql" {
		at = MariaDB(t).Addr()
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s", SQLUser, SQLPassword, at, SQLDatabase)
	} else {
		at = Postgres(t).Addr()
		driver, source = "pgx", scheme+"://"+user+"@"+at+"/"+SQLDatabase+"?sslmode=disable"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return scheme + "://" + user + "@" + at + "/" + SQLDatabase, db
}
