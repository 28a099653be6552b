//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"testing"

	"snowfence.example/snowfence/store/sqlstore"
)

// TestCallThatGotNoConnectionSaysThatThePoolIsEmpty lends the only connection of a pool to somebody else.
func TestCallThatGotNoConnectionSaysThatThePoolIsEmpty(t *testing.T) {
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		s, server := s.own(t, careful)
		db := s.administer(t, server)
		db.SetMaxOpenConns(1)
		config := sqlstore.Config{Dialect: sqlstore.PostgreSQL, DB: db}
		if s.scheme == "mysql" {
			config.Dialect, config.Driver.Duplicate = sqlstore.MySQL, func(error) bool { return false }
		}
		client, err := sqlstore.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		lent, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer lent.Close() //nolint:errcheck // the test is over
		for name, call := range map[string]func(context.Context) error{
			"get":  func(ctx context.Context) error { _, err := client.Get(ctx, "key"); return err },
			"swap": func(ctx context.Context) error { _, err := client.Swap(ctx, "key", "", nil); return err },
			"now":  func(ctx context.Context) error { _, err := client.Now(ctx); return err },
			"list": func(ctx context.Context) (err error) {
				for _, err = range client.List(ctx, "") {
					break
				}
				return err
			},
			"open": func(ctx context.Context) error { _, err := sqlstore.Open(ctx, config); return err },
		} {
			err := whenItWaits(t, db, call)
			if !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "all 1 connections of the pool are in use: give it a pool of its own, or a larger one") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// whenItWaits makes a call, and ends its context once it waits for a connection.
func whenItWaits(t *testing.T, db *sql.DB, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	before, result := db.Stats().WaitCount, make(chan error, 1)
	go func() { result <- call(ctx) }()
	for db.Stats().WaitCount == before {
		runtime.Gosched()
	}
	cancel()
	return <-result
}
