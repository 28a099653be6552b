package decode

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/text"
)

// day and year are the units of [Relative]; a year is the mean Gregorian one.
const (
	day  = 24 * time.Hour
	year = 31_556_952 * time.Second
)

// Relative returns how far an instant lies from now, in its two largest units:
// "4 years 145 days ago", "in 3 h 20 min", "now" within a second.
func Relative(t, now time.Time) string {
	// Not time.Time.Sub, which stops at 292 years.
	seconds := t.Unix() - now.Unix()
	if d := t.Sub(now); -time.Second < d && d < time.Second {
		return "now"
	}
	if seconds < 0 {
		return span(-seconds) + " ago"
	}
	return "in " + span(seconds)
}

// span writes a number of seconds in its two largest units.
func span(seconds int64) string {
	units := []struct {
		length time.Duration
		one    string
		many   string
	}{
		{year, "year", "years"}, {day, "day", "days"}, {time.Hour, "h", "h"},
		{time.Minute, "min", "min"}, {time.Second, "s", "s"},
	}
	for i, u := range units {
		length := int64(u.length / time.Second)
		n := seconds / length
		if n == 0 && u.length > time.Second {
			continue
		}
		words := fmt.Sprintf("%d %s", n, text.Plural(n, u.one, u.many))
		if i+1 < len(units) {
			next := units[i+1]
			if m := seconds % length / int64(next.length/time.Second); m > 0 {
				words += " " + fmt.Sprintf("%d %s", m, text.Plural(m, next.one, next.many))
			}
		}
		return words
	}
	return ""
}
