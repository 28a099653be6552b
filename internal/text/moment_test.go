package text

import (
	"testing"
	"time"
)

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	now := time.Date(2026, time.March, 8, 12, 30, 0, 0, time.FixedZone("", -5*60*60))
	for text, want := range map[string]string{
		"now":                         "2026-03-08T17:30:00Z",
		"-90m":                        "2026-03-08T16:00:00Z",
		"+1h":                         "2026-03-08T18:30:00Z",
		"-7d":                         "2026-03-01T17:30:00Z",
		"2026-11-01":                  "2026-11-01T00:00:00Z",
		"2026-11-01T00:00:00.5+08:00": "2026-10-31T16:00:00.5Z",
		"1767225600001":               "2026-01-01T00:00:00.001Z",
	} {
		if got, err := ParseMoment(text, now); err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "+", "-d", "7d", "24h", "-1.5d", "yesterday", "2026-11", "2026-11-01T00:00:00", "9223372036854775808", "-9223372036854775808h"} {
		if got, err := ParseMoment(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
