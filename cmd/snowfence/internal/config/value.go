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

// value is a place in a configuration that reads and writes its own text. Other
// places are plain pointers, which [set] and [show] know.
type value interface {
	set(text string) error
	show() string
}

// completer is a value that knows its own default and range. They hold for a
// [Config] that is written by hand, too.
type completer interface {
	// complete puts the default in the place of a zero, and returns an error
	// for a value that is out of range.
	complete() error
}

// set reads a text into a place. Its error says what the text must be.
func set(place any, text string) (err error) {
	switch at := place.(type) {
	case value:
		return at.set(text)
	case *string:
		*at = text
	case *bool:
		if *at = text == "true"; !*at && text != "false" {
			return errors.New("must be true or false")
		}
	case **int64:
		*at = new(int64)
		**at, err = parseNumber(text)
	case *[]string:
		*at = split(text)
	case *[]int64:
		*at = nil
		for _, part := range split(text) {
			n, err := parseNumber(part)
			if err != nil {
				return fmt.Errorf("each number %w", err)
			}
			*at = append(*at, n)
		}
	case *time.Duration: // of which zero stands for the default
		if *at, err = time.ParseDuration(text); err != nil || *at <= 0 {
			return errors.New("must be a duration above 0 such as 500ms, 10s or 1h30m")
		}
	case *snowfence.Layout:
		*at, err = snowfence.ParseLayout(text)
	case *slog.Level:
		i := slices.Index(LogLevels(), text)
		if i < 0 {
			return errors.New("must be " + either(LogLevels()))
		}
		*at = slog.LevelDebug + slog.Level(i)*(slog.LevelInfo-slog.LevelDebug)
	}
	return err
}

// show writes what is at a place as [set] reads it.
func show(place any) string {
	switch at := place.(type) {
	case value:
		return at.show()
	case *string:
		return *at
	case *bool:
		return strconv.FormatBool(*at)
	case **int64:
		if *at == nil {
			return ""
		}
		return strconv.FormatInt(**at, 10)
	case *[]string:
		return strings.Join(*at, ",")
	case *[]int64:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(*at), " ", ","), "[]")
	case *slog.Level:
		return strings.ToLower(at.String())
	}
	return fmt.Sprint(place) // a duration or a layout
}

// split splits a list at its commas.
func split(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
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

// word is one of a few texts, the first being the default.
type word struct {
	at    *string
	words []string
}

func (w word) set(text string) error { return set(w.at, text) }
func (w word) show() string          { return *w.at }

func (w word) complete() error {
	*w.at = cmp.Or(*w.at, w.words[0])
	if !slices.Contains(w.words, *w.at) {
		return errors.New("must be " + either(w.words))
	}
	return nil
}

// limit is a number or a duration within a range.
type limit[V int | time.Duration] struct {
	at                    *V
	fallback, least, most V
	form                  string
	parse                 func(string) (V, error)
	text                  func(V) string
}

func count(at *int, fallback, least, most int) any {
	return limit[int]{at, fallback, least, most, "a whole number", func(s string) (int, error) {
		n, err := parseNumber(s)
		return int(min(n, math.MaxInt32)), err
	}, strconv.Itoa}
}

func size(at *int, fallback, least, most int) any {
	return limit[int]{at, fallback, least, most, "a number of bytes such as 4096, 64KiB or 1MiB", parseSize, showSize}
}

func timeout(at *time.Duration, fallback, least, most time.Duration) any {
	return limit[time.Duration]{at, fallback, least, most, "a duration such as 500ms, 10s or 1m30s", time.ParseDuration, time.Duration.String}
}

// set refuses zero, which in a [Config] stands for the default.
func (l limit[V]) set(text string) error {
	v, err := l.parse(text)
	if err != nil || v == 0 {
		return fmt.Errorf("must be %s, %s", l.form, l.span())
	}
	*l.at = v
	return nil
}

func (l limit[V]) show() string { return l.text(*l.at) }

func (l limit[V]) complete() error {
	*l.at = cmp.Or(*l.at, l.fallback)
	if *l.at < l.least || *l.at > l.most {
		return errors.New("must be " + l.span())
	}
	return nil
}

func (l limit[V]) span() string { return "from " + l.text(l.least) + " to " + l.text(l.most) }

// preset sets a generator's layout and policy.
type preset struct{ *Generator }

func (p preset) set(text string) error {
	preset, err := snowfence.PresetByName(text)
	if err == nil {
		p.Preset, p.Layout, p.Policy = text, preset.Layout, preset.Policy
	}
	return err
}

func (p preset) show() string { return p.Preset }

// policy is a duration of a generator's policy, shown with its default.
type policy struct {
	of *Generator
	at func(*snowfence.Policy) *time.Duration
}

func (p policy) set(text string) error {
	if err := set(p.at(&p.of.Policy), text); err != nil {
		return fmt.Errorf("%w; none is 1ns", err)
	}
	return nil
}

func (p policy) show() string {
	complete := p.of.Policy.WithDefaults(p.of.Layout)
	return p.at(&complete).String()
}

// start is where a tick's sequence begins: a rule's word, with its bound where
// the rule has one, as "random:99".
type start struct{ *snowfence.SequenceStart }

func (s start) set(text string) (err error) {
	word, bound, hasBound := strings.Cut(text, ":")
	for rule := snowfence.StartQuarter; rule <= snowfence.StartCarry; rule++ {
		if word != rule.String() || hasBound != bounded(rule) {
			continue
		}
		*s.SequenceStart = snowfence.SequenceStart{Rule: rule}
		if hasBound {
			s.Max, err = parseNumber(bound)
		}
		return err
	}
	return errors.New("must be quarter, zero, random:MAX, vibration:MAX or carry:MAX")
}

func (s start) show() string {
	if bounded(s.Rule) {
		return fmt.Sprintf("%s:%d", s.Rule, s.Max)
	}
	return s.Rule.String()
}

func bounded(rule snowfence.StartRule) bool {
	return rule != snowfence.StartQuarter && rule != snowfence.StartZero
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
