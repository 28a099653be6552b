package series_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
)

func TestSettingsOfASeriesThatCantBeUsedAreRefused(t *testing.T) {
	const rest = " 64 bytes of visible ASCII without quotes and \\"
	fit := series.Config{Dialect: series.MySQL, Tenant: strings.Repeat("~", 64), Name: "a", Prefix: "RE/2026-"}
	s, err := series.New(fit)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change       func(*series.Config)
		field, limit string
	}{
		{func(c *series.Config) { c.Dialect = 0 }, "dialect", "must be PostgreSQL or MySQL"},
		{func(c *series.Config) { c.Dialect = 3 }, "dialect", "must be PostgreSQL or MySQL"},
		{func(c *series.Config) { c.Tenant += "~" }, "tenant", "must be at most" + rest},
		{func(c *series.Config) { c.Tenant = "a b" }, "tenant", "must be at most" + rest},
		{func(c *series.Config) { c.Tenant = "ä" }, "tenant", "must be at most" + rest},
		{func(c *series.Config) { c.Name = "" }, "name", "must be 1 to" + rest},
		{func(c *series.Config) { c.Name = "a\x00" }, "name", "must be 1 to" + rest},
		{func(c *series.Config) { c.Name = "'" }, "name", "must be 1 to" + rest},
		{func(c *series.Config) { c.Prefix = `\` }, "prefix", "must be at most" + rest},
		{func(c *series.Config) { c.First = -1 }, "first", "must not be negative"},
	} {
		c := fit
		test.change(&c)
		_, err := series.New(c)
		if wrong := new(counter.ConfigError); !errors.As(err, &wrong) || wrong.Field != test.field || wrong.Limit != test.limit {
			t.Errorf("%+v: %v, want that %s %s", c, err, test.field, test.limit)
		}
	}
	for _, timeout := range []time.Duration{-1, 0, time.Millisecond - 1, 366*24*time.Hour + 1} {
		if _, err := s.Reserve(t.Context(), nil, timeout); snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("timeout %v: %v", timeout, err)
		}
	}
	for _, reason := range []string{"", " \n", "\xff", "\x1b[2Jspoilt\r\nINV-7  7  confirmed", "a\x00b", "\u009b2J", strings.Repeat("x", 1001)} {
		err := s.Void(t.Context(), nil, 1, "", reason)
		want := fmt.Sprintf("snowfence: reason is %.130q: must be a text of 1 to 1000 bytes in UTF-8 without control characters, and not be blank", reason)
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
