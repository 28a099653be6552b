package text

import (
	"testing"
	"time"
)

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-01":                  "2026-11-01T00:00:00Z",
		"2026-11-01T00:00:00.5+08:00": "2026-10-31T16:00:00.5Z",
	} {
		if got, err := ParseMoment(text); err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-7d", "now", "1767225600001", "2026-11", "2026-11-01T00:00:00"} {
		if got, err := ParseMoment(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
