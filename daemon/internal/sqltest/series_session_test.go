//go:build servers

package sqltest

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// TestSeriesLastsInASessionThatAnotherClientChanged shares the sessions of series with clients of PgBouncer that end
// their syncs, or hide the tables. Reserved numbers must be there after a crash, in the created tables.
func TestSeriesLastsInASessionThatAnotherClientChanged(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t, "wal_writer_delay=10s")
	type session struct {
		change string
		db     func() *sql.DB
		token  string
	}
	var reserved []session
	for _, set := range []string{
		"CREATE TEMPORARY TABLE snowfence_series (LIKE public.snowfence_series INCLUDING ALL);" +
			"CREATE TEMPORARY TABLE snowfence_series_number (LIKE public.snowfence_series_number INCLUDING ALL)",
		"SET search_path = other",
		"SET synchronous_commit = off", // the last one, or the next commit would sync its own
	} {
		b := newSeriesBed(t, postgreSQL.within(t, server))
		do(t, b.db, "CREATE SCHEMA other", "CREATE TABLE other.snowfence_series (LIKE public.snowfence_series INCLUDING ALL)",
			"CREATE TABLE other.snowfence_series_number (LIKE public.snowfence_series_number INCLUDING ALL)")
		shared := b.share(t)
		shared.each(t, strings.Split(set, ";")...)
		r, err := b.of(t).Reserve(t.Context(), shared.sessions, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		reserved = append(reserved, session{set, func() *sql.DB { return b.admin(t) }, r.Token})
	}
	server.Kill()
	server.Start()
	for _, r := range reserved {
		want := fmt.Sprintf("%x", sha256.Sum256([]byte(r.token)))
		var got sql.NullString
		if err := r.db().QueryRowContext(t.Context(), "SELECT max(token) FROM public.snowfence_series_number").Scan(&got); err != nil || got.String != want {
			t.Errorf("%s: after the crash the number has the token %q (%v), want the hash %q", r.change, got.String, err, want)
		}
	}
}
