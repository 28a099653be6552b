//go:build servers

package sqltest

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/counter/series"
)

// TestTablesOfSeriesAreJudged makes tables by hand, which can't keep a number or may.
func TestTablesOfSeriesAreJudged(t *testing.T) {
	t.Parallel()
	eachSQL(t, func(t *testing.T, s sqlServer) {
		b := newSeriesBed(t, s.within(t, s.hasty()))
		if s.scheme == "mysql" {
			do(t, b.db, "ALTER TABLE snowfence_series_number ENGINE = MyISAM")
		} else {
			do(t, b.db, "ALTER TABLE snowfence_series_number SET UNLOGGED")
		}
		if err := series.Create(t.Context(), b.db, b.series); err == nil || !strings.Contains(err.Error(), "snowfence_series_number") {
			t.Errorf("a table that is not fit: %v", err)
		}
		do(t, b.db, "DROP TABLE snowfence_series_number")
		do(t, b.db, "DROP TABLE snowfence_series")
		statements := series.DDL(b.series)
		if len(statements) != 2 {
			t.Fatalf("%q", statements)
		}
		do(t, b.db, statements...)
		do(t, b.db, statements...) // once more
		db := b.connect(t, login{user: b.clerk(t)})
		// Who may create nothing needs SELECT, INSERT and UPDATE.
		if err := series.Create(t.Context(), db, b.series); err != nil {
			t.Errorf("tables made by hand: %v", err)
		}
		r := reserve(t, b.of(t), db, 1)
		if err := b.of(t).Void(t.Context(), db, 1, r.Token, strings.Repeat("€", 333)); err != nil {
			t.Error(err)
		}
	})
}
