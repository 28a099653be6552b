//go:build servers

package sqltest

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/internal/testkit"
)

// TestSeriesLastsInASessionThatAnotherClientChanged shares the sessions of a series with a client of PgBouncer that ends
// their syncs, or hides the tables. What was reserved must be there after a crash, in the tables that were created.
func TestSeriesLastsInASessionThatAnotherClientChanged(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]string{
		"commits that are not synced": {"SET synchronous_commit = off"},
		"temporary tables": {
			"CREATE TEMPORARY TABLE snowfence_series (LIKE public.snowfence_series INCLUDING ALL)",
			"CREATE TEMPORARY TABLE snowfence_series_number (LIKE public.snowfence_series_number INCLUDING ALL)",
		},
		"another schema": {"SET search_path = other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server := sqlServers["PostgreSQL"], testkit.Postgres(t, "wal_writer_delay=10s")
			db := s.administer(t, server)
			if err := series.Create(t.Context(), db, series.PostgreSQL); err != nil {
				t.Fatal(err)
			}
			do(t, db, "CREATE SCHEMA other", "CREATE TABLE other.snowfence_series (LIKE public.snowfence_series INCLUDING ALL)",
				"CREATE TABLE other.snowfence_series_number (LIKE public.snowfence_series_number INCLUDING ALL)")
			shared := s.share(t, server)
			shared.each(t, set...)
			invoices, err := series.New(series.Config{Dialect: series.PostgreSQL, Name: "invoices"})
			if err != nil {
				t.Fatal(err)
			}
			r, err := invoices.Reserve(t.Context(), shared.sessions, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			server.Kill()
			server.Start()
			var stored string // the hash of the token
			if err := s.administer(t, server).QueryRowContext(t.Context(), "SELECT max(token) FROM public.snowfence_series_number").Scan(&stored); err != nil || stored != fmt.Sprintf("%x", sha256.Sum256([]byte(r.Token))) {
				t.Errorf("after the crash the number has the token %q, want the hash of %q: %v", stored, r.Token, err)
			}
		})
	}
}
