package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// value is a setting seen as text. Set accepts what String returns, and makes
// the same of it.
type value interface {
	// Set returns an error that says what the text must be.
	Set(text string) error
	String() string
}

// completer is a value that knows its own default and range. They hold for a
// [Config] that is written by hand, too.
type completer interface {
	// complete puts the default in the place of a zero, and returns an error
	// for a value that is out of range.
	complete() error
}

// field is a value by the two ways between it and its text.
type field[V any] struct {
	at    *V
	parse func(string) (V, error)
	show  func(V) string // nil means what fmt prints
}

func (f field[V]) Set(s string) error {
	v, err := f.parse(s)
	if err == nil {
		*f.at = v
	}
	return err
}

func (f field[V]) String() string {
	if f.show == nil {
		return fmt.Sprint(*f.at)
	}
	return f.show(*f.at)
}

func text(at *string) field[string] { return field[string]{at: at, parse: same} }

func same(s string) (string, error) { return s, nil }

func boolean(at *bool) value {
	return field[bool]{at: at, parse: func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errors.New("must be true or false")
		}
		return s == "true", nil
	}}
}

func layout(at *snowfence.Layout) value {
	return field[snowfence.Layout]{at: at, parse: snowfence.ParseLayout}
}

// optional is a number that may be absent.
func optional(at **int64) value {
	return field[*int64]{at, func(s string) (*int64, error) {
		n, err := parseNumber(s)
		return &n, err
	}, func(n *int64) string {
		if n == nil {
			return ""
		}
		return fmt.Sprint(*n)
	}}
}

// duration is a span of time of which zero stands for the default, so that it
// can't be written.
func duration(at *time.Duration, examples string) field[time.Duration] {
	return field[time.Duration]{at: at, parse: func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, errors.New("must be a duration above 0 such as " + examples)
		}
		return d, nil
	}}
}

// list is texts separated by commas.
func list[V any](at *[]V, parse func(string) (V, error)) value {
	return field[[]V]{at, func(s string) ([]V, error) {
		var all []V
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			v, err := parse(part)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}, func(all []V) string {
		parts := make([]string, len(all))
		for i, v := range all {
			parts[i] = fmt.Sprint(v)
		}
		return strings.Join(parts, ",")
	}}
}

// word is one of a few texts, the first being the default.
type word struct {
	field[string]
	words []string
}

func (w word) complete() error {
	*w.at = cmp.Or(*w.at, w.words[0])
	if !slices.Contains(w.words, *w.at) {
		return errors.New("must be " + either(w.words))
	}
	return nil
}

// limit is a number or a duration within a range.
type limit[V int | time.Duration] struct {
	field[V]
	form                  string
	fallback, least, most V
}

func count(at *int, fallback, least, most int) value {
	parse := func(s string) (int, error) {
		n, err := parseNumber(s)
		return int(min(n, math.MaxInt32)), err
	}
	return limit[int]{field[int]{at: at, parse: parse}, "a whole number", fallback, least, most}
}

func size(at *int, fallback, least, most int) value {
	return limit[int]{field[int]{at, parseSize, showSize}, "a number of bytes such as 4096, 64KiB or 1MiB", fallback, least, most}
}

func timeout(at *time.Duration, fallback, least, most time.Duration) value {
	return limit[time.Duration]{field[time.Duration]{at: at, parse: time.ParseDuration}, "a duration such as 500ms, 10s or 1m30s", fallback, least, most}
}

// Set refuses zero, which in a [Config] stands for the default.
func (l limit[V]) Set(s string) error {
	v, err := l.parse(s)
	if err != nil || v == 0 {
		return fmt.Errorf("must be %s, %s", l.form, l.span())
	}
	*l.at = v
	return nil
}

func (l limit[V]) complete() error {
	*l.at = cmp.Or(*l.at, l.fallback)
	if *l.at < l.least || *l.at > l.most {
		return errors.New("must be " + l.span())
	}
	return nil
}

func (l limit[V]) span() string {
	return "from " + field[V]{at: &l.least, show: l.show}.String() + " to " + field[V]{at: &l.most, show: l.show}.String()
}

// level is a level of the log.
func level(at *slog.Level) value {
	return field[slog.Level]{at, func(s string) (slog.Level, error) {
		i := slices.Index(LogLevels(), s)
		if i < 0 {
			return 0, errors.New("must be " + either(LogLevels()))
		}
		return slog.LevelDebug + slog.Level(i)*(slog.LevelInfo-slog.LevelDebug), nil
	}, func(l slog.Level) string { return strings.ToLower(l.String()) }}
}

// LogLevels returns what log.level can be, the least first.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormats returns what log.format can be.
func LogFormats() []string { return []string{"text", "json"} }

// either lists words to choose from: "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// preset sets a generator's layout and policy.
func preset(g *Generator) value {
	return field[string]{at: &g.Preset, parse: func(s string) (string, error) {
		preset, err := snowfence.PresetByName(s)
		if err == nil {
			g.Layout, g.Policy = preset.Layout, preset.Policy
		}
		return s, err
	}}
}

// policy is a duration of a generator's policy, shown with its default.
func policy(g *Generator, of func(*snowfence.Policy) *time.Duration) value {
	d := duration(of(&g.Policy), "10ms or 5s; none is 1ns")
	d.show = func(time.Duration) string {
		complete := g.Policy.WithDefaults(g.Layout)
		return of(&complete).String()
	}
	return d
}

// sequenceStart is a rule's word, with its bound where the rule has one:
// "random:99".
func sequenceStart(at *snowfence.SequenceStart) value {
	bounded := func(rule snowfence.StartRule) bool {
		return rule != snowfence.StartQuarter && rule != snowfence.StartZero
	}
	return field[snowfence.SequenceStart]{at, func(s string) (start snowfence.SequenceStart, err error) {
		word, bound, hasBound := strings.Cut(s, ":")
		for rule := snowfence.StartQuarter; rule <= snowfence.StartCarry; rule++ {
			if word != rule.String() || hasBound != bounded(rule) {
				continue
			}
			start.Rule = rule
			if hasBound {
				start.Max, err = parseNumber(bound)
			}
			return start, err
		}
		return start, errors.New("must be quarter, zero, random:MAX, vibration:MAX or carry:MAX")
	}, func(start snowfence.SequenceStart) string {
		if bounded(start.Rule) {
			return fmt.Sprintf("%s:%d", start.Rule, start.Max)
		}
		return start.Rule.String()
	}}
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

// parseEach reads a number of a list.
func parseEach(s string) (int64, error) {
	n, err := parseNumber(s)
	if err != nil {
		err = fmt.Errorf("each number %w", err)
	}
	return n, err
}

const kiB, miB = 1 << 10, 1 << 20

// parseSize reads a number of bytes, such as 512, 64KiB or 1MiB. One beyond
// 1 GiB, which no limit allows, is read as that.
func parseSize(s string) (int, error) {
	factor := 1
	if digits, ok := strings.CutSuffix(s, "KiB"); ok {
		s, factor = digits, kiB
	} else if digits, ok := strings.CutSuffix(s, "MiB"); ok {
		s, factor = digits, miB
	}
	n, err := parseNumber(strings.TrimSpace(s))
	return int(min(n, 1<<30/int64(factor))) * factor, err
}

func showSize(n int) string {
	switch {
	case n%miB == 0 && n > 0:
		return strconv.Itoa(n/miB) + "MiB"
	case n%kiB == 0 && n > 0:
		return strconv.Itoa(n/kiB) + "KiB"
	}
	return strconv.Itoa(n)
}
