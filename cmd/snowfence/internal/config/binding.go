package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// binding ties a key to a place in a T: how text is put there, and how what
// stands there is shown. Set's error says what the text must be; the key and
// the place it came from are added by its caller. What is shown, set again,
// makes the same value.
type binding[T any] struct {
	set  func(*T, string) error
	show func(T) string
	list bool // whether the text is a list, its parts separated by commas
}

// bind makes a binding of a place, a way to read it and a way to write it.
func bind[T, V any](place func(*T) *V, parse func(string) (V, error), format func(V) string) binding[T] {
	return binding[T]{
		set: func(t *T, s string) error {
			v, err := parse(s)
			if err == nil {
				*place(t) = v
			}
			return err
		},
		show: func(t T) string { return format(*place(&t)) },
	}
}

func text[T any](place func(*T) *string) binding[T] {
	same := func(s string) string { return s }
	return bind(place, func(s string) (string, error) { return s, nil }, same)
}

// list is text split at commas, each part without blanks around it.
func list[T any](place func(*T) *[]string) binding[T] {
	return listed(bind(place, func(s string) ([]string, error) {
		var parts []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		return parts, nil
	}, func(parts []string) string { return strings.Join(parts, ",") }))
}

func listed[T any](b binding[T]) binding[T] {
	b.list = true
	return b
}

func boolean[T any](place func(*T) *bool) binding[T] {
	return bind(place, func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errors.New("must be true or false")
		}
		return s == "true", nil
	}, strconv.FormatBool)
}

// limit makes a binding of a limit. What can't be read is told the range, and
// so is zero, which in a [Config] stands for the default. The range itself is
// for [Config.Complete] to hold, since a Config can be written by hand.
func limit[V cmp.Ordered](place func(*Limits) *V, form string, parse func(string) (V, error), show func(V) string) binding[Config] {
	return bind(func(c *Config) *V { return place(&c.Limits) }, func(s string) (V, error) {
		v, err := parse(s)
		var zero V
		if err != nil || v == zero {
			least, most := leastLimits(), mostLimits()
			return v, fmt.Errorf("must be %s, %s", form, fromTo(show(*place(&least)), show(*place(&most))))
		}
		return v, nil
	}, show)
}

func countLimit(place func(*Limits) *int) binding[Config] {
	return limit(place, "a whole number", func(s string) (int, error) {
		n, err := parseNumber(s)
		return int(min(n, math.MaxInt32)), err
	}, strconv.Itoa)
}

func sizeLimit(place func(*Limits) *int) binding[Config] {
	return limit(place, "a number of bytes such as 4096, 64KiB or 1MiB", parseSize, showSize)
}

func durationLimit(place func(*Limits) *time.Duration) binding[Config] {
	return limit(place, "a duration such as 500ms, 10s or 1m30s", time.ParseDuration, time.Duration.String)
}

// number is a number that may be absent.
func number[T any](place func(*T) **int64) binding[T] {
	return bind(place, func(s string) (*int64, error) {
		n, err := parseNumber(s)
		return &n, err
	}, func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	})
}

// numbers is a list of numbers.
func numbers[T any](place func(*T) *[]int64) binding[T] {
	return listed(bind(place, func(s string) ([]int64, error) {
		var all []int64
		for part := range strings.SplitSeq(s, ",") {
			n, err := parseNumber(strings.TrimSpace(part))
			if err != nil {
				return nil, fmt.Errorf("each number %w", err)
			}
			all = append(all, n)
		}
		return all, nil
	}, func(all []int64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]") }))
}

// parseNumber reads a whole number that is not negative. Leading zeros are
// refused, because YAML reads them as octal.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, errors.New("must be a whole number, 0 or more, without leading zeros")
	}
	return n, nil
}

// unit is a unit of size.
type unit struct {
	name  string
	bytes int
}

// units returns the units of size, the largest first.
func units() [2]unit { return [...]unit{{"MiB", 1 << 20}, {"KiB", 1 << 10}} }

// parseSize reads a number of bytes, such as 512, 64KiB or 1MiB. One beyond
// 1 GiB, which no limit allows, is read as that.
func parseSize(s string) (int, error) {
	const largest = 1 << 30
	digits, factor := s, 1
	for _, u := range units() {
		if before, found := strings.CutSuffix(s, u.name); found {
			digits, factor = strings.TrimSpace(before), u.bytes
		}
	}
	n, err := parseNumber(digits)
	return int(min(n, largest/int64(factor))) * factor, err
}

func showSize(n int) string {
	for _, u := range units() {
		if n > 0 && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.name
		}
	}
	return strconv.Itoa(n)
}

// duration is a span of time of which zero is not a value: in a [Config] zero
// stands for the default.
func duration[T any](place func(*T) *time.Duration) binding[T] {
	return bind(place, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, errors.New("must be a duration above 0 such as 500ms, 10s or 1h30m")
		}
		return d, nil
	}, time.Duration.String)
}

// policyDuration is a duration of a policy. There zero stands for the default, so
// it can't be written: whoever writes 0s means none.
func policyDuration(place func(*snowfence.Policy) *time.Duration) binding[Generator] {
	return binding[Generator]{
		set: func(g *Generator, s string) error {
			d, err := time.ParseDuration(s)
			if err != nil || d <= 0 {
				return errors.New("must be a duration above 0 such as 10ms or 5s; none is 1ns")
			}
			*place(&g.Policy) = d
			return nil
		},
		show: func(g Generator) string {
			policy := g.Policy.WithDefaults(g.Layout)
			return place(&policy).String()
		},
	}
}

func layout[T any](place func(*T) *snowfence.Layout) binding[T] {
	return bind(place, snowfence.ParseLayout, snowfence.Layout.String)
}

func level[T any](place func(*T) *slog.Level) binding[T] {
	return bind(place, func(s string) (slog.Level, error) {
		for _, l := range levels() {
			if s == levelName(l) {
				return l, nil
			}
		}
		return 0, errors.New("must be " + either(LogLevels()))
	}, levelName)
}

func levels() []slog.Level {
	return []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }

// LogLevels returns what log.level can be, the least first.
func LogLevels() []string {
	var names []string
	for _, l := range levels() {
		names = append(names, levelName(l))
	}
	return names
}

// LogFormats returns what log.format can be.
func LogFormats() []string { return []string{"text", "json"} }

// either lists words to choose from: "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// setPreset takes a preset's layout and policy.
func setPreset(g *Generator, s string) error {
	preset, err := snowfence.PresetByName(s)
	if err != nil {
		return err
	}
	g.Preset, g.Layout, g.Policy = s, preset.Layout, preset.Policy
	return nil
}

// bounded reports whether a rule of a sequence's start has a bound. Those that
// have are written with it: "random:99".
func bounded(rule snowfence.StartRule) bool {
	return rule != snowfence.StartQuarter && rule != snowfence.StartZero
}

func setSequenceStart(g *Generator, s string) error {
	word, bound, hasBound := strings.Cut(s, ":")
	for rule := snowfence.StartQuarter; rule <= snowfence.StartCarry; rule++ {
		if word != rule.String() || hasBound != bounded(rule) {
			continue
		}
		g.Policy.Start = snowfence.SequenceStart{Rule: rule}
		if !hasBound {
			return nil
		}
		var err error
		g.Policy.Start.Max, err = parseNumber(bound)
		return err
	}
	return errors.New("must be quarter, zero, random:MAX, vibration:MAX or carry:MAX")
}

func showSequenceStart(g Generator) string {
	start := g.Policy.Start
	if bounded(start.Rule) {
		return fmt.Sprintf("%s:%d", start.Rule, start.Max)
	}
	return start.Rule.String()
}
