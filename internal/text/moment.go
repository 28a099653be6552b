package text

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ParseMoment reads a time as people write it: a date, which begins at midnight in UTC, an RFC 3339 instant, Unix
// milliseconds, "now", or a distance from now such as -24h or -7d. An error is returned for any other text.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if text != "" && strings.Contains("-+", text[:1]) {
		if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && strings.HasSuffix(text, "d") {
			return now.UTC().AddDate(0, 0, days), nil
		}
		if distance, err := time.ParseDuration(text); err == nil {
			return now.Add(distance), nil
		}
	} else if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Time{}, errors.New("must be a date, an RFC 3339 instant, Unix milliseconds, now, or relative to now such as -24h or -7d")
}
