package series_test

import (
	"errors"
	"fmt"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
)

func TestRefusedTextIsHeldAgainstItsOwnRule(t *testing.T) {
	const rest = " 64 bytes of visible ASCII without quotes and \\"
	for _, test := range []struct {
		c                   series.Config
		field, value, limit string
	}{
		{series.Config{Name: "invoices", Tenant: "a b"}, "tenant", "a b", "must be at most" + rest},
		{series.Config{}, "name", "", "must be 1 to" + rest},
		{series.Config{Name: "invoices", Prefix: "'"}, "prefix", "'", "must be at most" + rest},
	} {
		test.c.Dialect = series.MySQL
		_, err := series.New(test.c)
		var wrong *counter.ConfigError
		if !errors.As(err, &wrong) || *wrong != (counter.ConfigError{Field: test.field, Value: test.value, Limit: test.limit}) {
			t.Errorf("%s: %v", test.field, err)
		}
	}
	s, err := series.New(series.Config{Dialect: series.MySQL, Name: "invoices"})
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{" ", "", "\x1b[2Jspoilt\r\nINV-7  7  confirmed", "a\x00b", "\u009b2J", "\xff"} {
		err = s.Void(t.Context(), nil, 1, "", reason)
		want := fmt.Sprintf("snowfence: reason is %q: must be a text of 1 to 1000 bytes in UTF-8 without control characters, and not be blank", reason)
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
