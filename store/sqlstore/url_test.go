//go:build unix

package sqlstore_test

import (
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/store/sqlstore"
)

func TestURLSaysWhereAndHow(t *testing.T) {
	postgres := func(change func(*sqlstore.Config), endpoints ...string) sqlstore.Config {
		c := sqlstore.Config{Dialect: sqlstore.PostgreSQL, Endpoints: endpoints, Database: "db", User: "me"}
		change(&c)
		return c
	}
	mysql := func(change func(*sqlstore.Config), endpoints ...string) sqlstore.Config {
		c := postgres(change, endpoints...)
		c.Dialect = sqlstore.MySQL
		return c
	}
	plain := func(*sqlstore.Config) {}
	for u, want := range map[string]sqlstore.Config{
		"postgres://me@a/db":                      postgres(plain, "a:5432"),
		"postgresql://me@a:1,b,[::1]:3,[::2]/db":  postgres(plain, "a:1", "b:5432", "[::1]:3", "[::2]:5432"),
		"mysql://me@a/d%20b?loss=1m":              mysql(func(c *sqlstore.Config) { c.Database, c.Loss = "d b", time.Minute }, "a:3306"),
		"mariadb://a/db?user=m%40e&durable=true":  mysql(func(c *sqlstore.Config) { c.User, c.Durable = "m@e", true }, "a:3306"),
		"mysql://me@a/db?loss=1m":                 mysql(func(c *sqlstore.Config) { c.Loss = time.Minute }, "a:3306"),
		"postgres://me@a/db?table=x.y_1&tls=true": postgres(func(c *sqlstore.Config) { c.Table, c.TLS = "x.y_1", &sqlstore.TLS{} }, "a:5432"),
		"postgres://me@a/db?password-file=/no/x":  postgres(func(c *sqlstore.Config) { c.PasswordFile = "/no/x" }, "a:5432"),
	} {
		if c, err := sqlstore.ParseURL(u); err != nil || shown(c) != shown(want) {
			t.Errorf("%s: %v (%v), want %v", u, c, err, want)
		}
	}
}

// shown shows all that a URL can set, the password and the files of TLS too.
func shown(c sqlstore.Config) string {
	tls := c.TLS
	c.TLS = nil
	return fmt.Sprintf("%+v %q %+v", c, string(c.Password), tls)
}

func TestURLThatIsWrongIsRefusedByTheNameOfWhatIsWrong(t *testing.T) {
	for u, want := range map[string]string{
		"":                                     "must begin with postgres://",
		"postgres://me@a":                      "must name one database",
		"postgres://me@a/":                     "must name one database",
		"postgres://me@a/b/c":                  "must name one database",
		"postgres://a/db":                      "must name a user",
		"postgres://me@a:s3cret/db":            "host number 1",
		"postgres://me:s3cret%00@a/db":         "byte 0",
		"postgres://me@a/db?Table=x":           `"Table": is not a key`,
		"postgres://me@a/db?table=X":           `table "X"`,
		"postgres://me@a/db?loss=1s&durable=1": "loss 1s: must not be given",
	} {
		if c, err := sqlstore.ParseURL(u); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v (%v), want %q", u, c, err, want)
		}
	}
}

func TestPasswordFileIsReadForEachConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	c, err := sqlstore.ParseURL("postgres://me@a,b:1/db?password-file=" + path)
	if err != nil {
		t.Fatal(err)
	}
	var servers []sqlstore.Server
	c.Driver.Connector = func(server sqlstore.Server) (driver.Connector, error) {
		servers = append(servers, server)
		return nil, nil
	}
	if _, err := c.Connectors(); err == nil || !strings.Contains(err.Error(), "password-file: stat "+path) {
		t.Errorf("a file that is missing: %v", err)
	}
	for _, want := range []string{"one", "two"} {
		if err := os.WriteFile(path, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if len(servers) == 0 {
			if _, err := c.Connectors(); err != nil || len(servers) != 2 || servers[0].Host != "a" || servers[1].Port != 1 {
				t.Fatalf("%v, %v", servers, err)
			}
		}
		if got, err := servers[1].Password(); got != want || err != nil {
			t.Errorf("password is %q (%v), want %q", got, err, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	servertest.FuzzURLs(f, sqlstore.ParseURL, "postgres://me:s3cret@a:1,[::1]:2/db?table=x.y&loss=1s",
		"mysql://a/db?user=me&password-file=/x&durable=true", "mariadb://me:p%40@a/d%20b")
}
