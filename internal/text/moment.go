package text

import (
	"errors"
	"time"
)

// ParseMoment reads a date, which begins at midnight in UTC, or an RFC 3339 instant. An error is returned for any
// other text.
func ParseMoment(text string) (time.Time, error) {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a date, or an RFC 3339 instant such as 2026-11-21T10:00:00Z")
}
