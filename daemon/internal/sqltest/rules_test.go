//go:build servers

package sqltest

import (
	"context"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/sqlstore"
)

// TestSQLKeepsEveryRule has the table of differences. All rules but the one of TLS share a server.
func TestSQLKeepsEveryRule(t *testing.T) {
	for _, s := range []sqlServer{postgreSQL, mariaDB} {
		t.Run(s.name, func(t *testing.T) {
			s := s.on(s.careful())
			do(t, s.admin(t), "CREATE DATABASE other")
			servertest.Run(t, servertest.Engine{
				Name:         s.scheme,
				Beside:       true,
				Start:        func(testing.TB) *testkit.Server { return s.server },
				Open:         openstore.Open,
				OpenExisting: openstore.OpenExisting,
				URL:          s.place,
				Wire:         func(text string) string { return hex.EncodeToString([]byte(text)) },
				Snapshot: func(t *testing.T, _ *testkit.Server) func(context.Context) (func(context.Context) error, error) {
					db := s.admin(t)
					run := func(ctx context.Context, statements string) error {
						_, err := db.ExecContext(ctx, statements)
						return err
					}
					return func(ctx context.Context) (func(context.Context) error, error) {
						err := run(ctx, "DROP TABLE IF EXISTS backup; CREATE TABLE backup AS SELECT * FROM conformance")
						return func(ctx context.Context) error {
							return run(ctx, "DELETE FROM conformance; INSERT INTO conformance SELECT * FROM backup")
						}, err
					}
				},
				Apart:   []servertest.Place{{}, {Prefix: "a"}, {Prefix: "ab"}, {Space: "other"}, {Space: "other", Prefix: "a"}},
				Damage:  map[string]func(*testing.T, *testkit.Server, string, string){"of a value that is too long": s.lengthen},
				Spoiled: store.ErrConflict, // the token is another one, too
				Login: func(t *testing.T) (*testkit.Server, servertest.Place, map[string]servertest.Place) {
					ddl, err := sqlstore.DDL(s.dialect, "by_hand")
					if err != nil {
						t.Fatal(err)
					}
					do(t, s.admin(t), ddl)
					own := servertest.Place{User: s.clerk(t), Password: testkit.SQLPassword, Prefix: "by_hand"}
					return s.server, own, map[string]servertest.Place{
						"wrong password":    {User: own.User, Password: "hunter2", Prefix: "by_hand"},
						"nobody":            {User: "nobody", Password: "hunter2", Prefix: "by_hand"},
						"another database":  {User: own.User, Password: testkit.SQLPassword, Space: "absent"},
						"table not granted": {User: own.User, Password: testkit.SQLPassword, Prefix: "others"},
					}
				},
				SetPassword: s.setPassword,
				TLS:         s.startTLS,
				Traits: map[string]store.Traits{
					"durable=true":  {Engine: s.dialect.String(), Durable: true},
					"durable=false": {Engine: s.dialect.String(), Loss: sqlstore.DefaultLoss},
					"loss=20s":      {Engine: s.dialect.String(), Loss: 20 * time.Second},
				},
				URLs: servertest.URLs{Parse: servertest.Parser(sqlstore.ParseURL)}, // store/sqlstore tests the meaning of URLs
			})
		})
	}
}

// place names a store. It is durable unless the query sets durable or loss.
func (s sqlServer) place(p servertest.Place) string {
	if strings.Contains(p.Addresses[0], "://") { // the environment names a whole URL
		return p.Addresses[0]
	}
	u := url.URL{Scheme: s.scheme, Host: strings.Join(p.Addresses, ","), Path: "/" + testkit.SQLDatabase}
	if p.Space != "" {
		u.Path = "/" + p.Space
	}
	switch {
	case p.User != "":
		u.User = url.UserPassword(p.User, p.Password)
	case !strings.Contains(p.Query, "user="):
		u.User = url.UserPassword(testkit.SQLUser, testkit.SQLPassword)
	}
	query := []string{p.Query}
	if p.Prefix != "" {
		query = append(query, "table="+p.Prefix)
	}
	if !strings.Contains(p.Query, "durable=") && !strings.Contains(p.Query, "loss=") {
		query = append(query, "durable=true")
	}
	u.RawQuery = strings.Trim(strings.Join(query, "&"), "&")
	return u.String()
}

// lengthen makes a register's value longer than any value may be.
func (s sqlServer) lengthen(t *testing.T, _ *testkit.Server, table, key string) {
	if s.scheme == "mysql" {
		do(t, s.admin(t), "ALTER TABLE "+table+" MODIFY value longblob NOT NULL",
			"UPDATE "+table+" SET token = REPEAT('t', 16), value = REPEAT('v', 4097) WHERE `key` = '"+key+"'")
		return
	}
	do(t, s.admin(t), "ALTER TABLE "+table+" DROP CONSTRAINT "+table+"_value_check",
		"UPDATE "+table+" SET token = convert_to(repeat('t', 16), 'UTF8'), value = convert_to(repeat('v', 4097), 'UTF8') WHERE key = '"+key+"'")
}

func (s sqlServer) setPassword(t *testing.T, _ *testkit.Server, user, password string) {
	if s.scheme == "mysql" {
		do(t, s.admin(t), "CREATE USER IF NOT EXISTS "+user, "ALTER USER "+user+" IDENTIFIED BY '"+password+"'", "GRANT ALL ON *.* TO "+user, "KILL USER "+user)
		return
	}
	do(t, s.admin(t), "DO $$ BEGIN CREATE USER "+user+" SUPERUSER; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
		"ALTER USER "+user+" PASSWORD '"+password+"'", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+user+"'")
}

// startTLS starts a server that wants a certificate of each client, except on the socket.
func (s sqlServer) startTLS(t *testing.T, authority, certificate, key string) string {
	s = s.on(s.start(t))
	for name, file := range map[string]string{"server.ca": authority, "server.crt": certificate, "server.key": key} {
		s.server.Give(file, name)
	}
	if s.scheme == "mysql" {
		do(t, s.admin(t), "ALTER USER "+testkit.SQLUser+" REQUIRE X509")
	} else {
		rules := filepath.Join(t.TempDir(), "rules")
		if err := os.WriteFile(rules, []byte("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		do(t, s.admin(t), "ALTER SYSTEM SET hba_file = '"+s.server.Give(rules, "rules")+"'")
	}
	s.server.Stop()
	s.server.Start()
	return s.server.Addr()
}
