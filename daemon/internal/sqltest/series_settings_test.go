//go:build servers

package sqltest

import (
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
)

func TestSettingsOfASeriesThatCantBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	fit := series.Config{Dialect: series.MySQL, Tenant: strings.Repeat("~", 64), Name: "a", Prefix: "RE/2026-"}
	if _, err := series.New(fit); err != nil {
		t.Error(err)
	}
	for field, change := range map[string][]func(*series.Config){
		"dialect": {func(c *series.Config) { c.Dialect = 0 }, func(c *series.Config) { c.Dialect = 3 }},
		"tenant":  {func(c *series.Config) { c.Tenant += "~" }, func(c *series.Config) { c.Tenant = "a b" }, func(c *series.Config) { c.Tenant = "ä" }},
		"name":    {func(c *series.Config) { c.Name = "" }, func(c *series.Config) { c.Name = "a\x00" }, func(c *series.Config) { c.Name = "'" }},
		"prefix":  {func(c *series.Config) { c.Prefix = `\` }, func(c *series.Config) { c.Prefix = strings.Repeat("x", 65) }},
		"first":   {func(c *series.Config) { c.First = -1 }},
	} {
		for _, f := range change {
			c := fit
			f(&c)
			_, err := series.New(c)
			if refused := (*counter.ConfigError)(nil); !errors.As(err, &refused) || refused.Field != field {
				t.Errorf("%+v: %v, want a refusal of %s", c, err, field)
			}
		}
	}
	s, err := series.New(fit)
	if err != nil {
		t.Fatal(err)
	}
	for _, timeout := range []time.Duration{-1, 0, time.Millisecond - 1, 366*24*time.Hour + 1} {
		if _, err := s.Reserve(t.Context(), (*sql.Tx)(nil), timeout); snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("timeout %v: %v", timeout, err)
		}
	}
	for _, reason := range []string{"", " \n", "\xff", "a\x00", strings.Repeat("x", 1001)} {
		if err := s.Void(t.Context(), (*sql.Tx)(nil), 1, "", reason); snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("reason %q: %v", reason, err)
		}
	}
}

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
	if !reflect.DeepEqual(series.DDL(series.MySQL), series.DDL(series.MySQL)) || slices.Equal(series.DDL(series.MySQL), series.DDL(series.PostgreSQL)) {
		t.Error("the statements of the dialects are equal")
	}
}
