package builtin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/daemon/kind"
)

// setting reads the text of one setting. Its error describes a valid text.
type setting func(text string) error

// read gives each text to its setting. A [*kind.SettingError] is returned for one that the kind
// does not have, or can't use.
func read(name string, settings map[string]setting, texts map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		set, ok := settings[key]
		if !ok {
			known := cmp.Or(strings.Join(slices.Sorted(maps.Keys(settings)), ", "), "none")
			return &kind.SettingError{Key: key, Limit: fmt.Sprintf("is no setting of kind %s; known are %s", name, known)}
		}
		if err := set(texts[key]); err != nil {
			return &kind.SettingError{Key: key, Limit: err.Error()}
		}
	}
	return nil
}

func text(at *string) setting {
	return func(s string) error { *at = s; return nil }
}

// number is a whole number, at least least.
func number[N int | int64](at *N, least N) setting {
	return func(s string) error {
		n, err := strconv.ParseInt(s, 10, strconv.IntSize)
		if err != nil || N(n) < least {
			return fmt.Errorf("must be a whole number, %d or more", least)
		}
		*at = N(n)
		return nil
	}
}

func duration(at *time.Duration) setting {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return fmt.Errorf("must be a duration above 0 such as 500ms, 10s or 1h30m")
		}
		*at = d
		return nil
	}
}

// within is a duration with bounds.
func within(at *time.Duration, least, most time.Duration) setting {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < least || d > most {
			return fmt.Errorf("must be a duration from %s to %s", least, most)
		}
		*at = d
		return nil
	}
}

// zone is a name of the time zone database.
func zone(at **time.Location) setting {
	return func(s string) error {
		z, err := time.LoadLocation(s)
		if err != nil || s == "Local" || s == "" {
			return fmt.Errorf("must be a time zone such as UTC, Asia/Shanghai or America/New_York")
		}
		*at = z
		return nil
	}
}
