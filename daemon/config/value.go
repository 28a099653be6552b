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
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/text"
)

// place is where a setting stands in a configuration.
type place struct {
	// set reads a text. If it can't, it changes nothing and says what the text must be.
	set func(s string) error
	// show writes what is there as set reads it.
	show func() string
	// complete puts the default in the place of a zero, and returns an error for a
	// value that is out of range. It holds for a [Config] that is written by hand, too.
	complete func() error
}

// field is a place of some type, where every value is complete.
func field[V any](at *V, parse func(string) (V, error), write func(V) string) place {
	set := func(s string) error {
		v, err := parse(s)
		if err == nil {
			*at = v
		}
		return err
	}
	return place{set, func() string { return write(*at) }, func() error { return nil }}
}

func verbatim(s string) string        { return s }
func accept(s string) (string, error) { return s, nil }
func str(at *string) place            { return field(at, accept, verbatim) }
func layout(at *snowfence.Layout) place {
	return field(at, ParseLayout, snowfence.Layout.String)
}

// ParseLayout is [snowfence.ParseLayout], with a shorter error for a single word: it offers the preset that
// may be meant.
func ParseLayout(s string) (snowfence.Layout, error) {
	l, err := snowfence.ParseLayout(s)
	var syntax *snowfence.LayoutSyntaxError
	if !errors.As(err, &syntax) || syntax.Token != s {
		return l, err
	}
	var known []string
	for _, p := range append(snowfence.Presets(), snowfence.WidePresets()...) {
		known = append(known, p.Name)
	}
	if hint := text.DidYouMean(s, known); hint != "" {
		return l, errors.New("is no layout" + hint)
	}
	return l, errors.New("is no layout: must be fields such as ms41-worker10-seq12, or a preset: " + text.Or(known))
}

func toggle(at *bool) place {
	parse := func(s string) (bool, error) { return s == "true", oneOf(s, []string{"true", "false"}) }
	return field(at, parse, strconv.FormatBool)
}

// list is words with commas between them.
func list(at *[]string) place {
	return field(at, func(s string) ([]string, error) { return split(s), nil }, func(words []string) string { return strings.Join(words, ",") })
}

// numbers are whole numbers with commas between them.
func numbers(at *[]int64) place {
	parse := func(s string) (all []int64, err error) {
		for _, part := range split(s) {
			n, err := parseNumber(part)
			if err != nil {
				return nil, fmt.Errorf("each number %w", err)
			}
			all = append(all, n)
		}
		return all, nil
	}
	return field(at, parse, func(all []int64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]") })
}

// number is a whole number, or none.
func number(at **int64) place {
	write := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	return field(at, func(s string) (*int64, error) { n, err := parseNumber(s); return &n, err }, write)
}

// workerRange is two whole numbers with a hyphen between them, or none.
func workerRange(at **fence.WorkerRange) place {
	write := func(r *fence.WorkerRange) string {
		if r == nil {
			return ""
		}
		return r.String()
	}
	return field(at, func(s string) (*fence.WorkerRange, error) {
		ranges, err := text.ParseRanges(s)
		if err != nil || len(ranges) != 1 {
			return nil, errors.New("must be a range of worker ids such as 0-31")
		}
		return &fence.WorkerRange{First: ranges[0].First, Last: ranges[0].Last}, nil
	}, write)
}

// duration is one of which zero stands for the default.
func duration(at *time.Duration, hint string) place {
	parse := func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, errors.New("must be a duration above 0 such as 500ms, 10s or 1h30m" + hint)
		}
		return d, nil
	}
	return field(at, parse, time.Duration.String)
}

// word is one of a few texts, the first being the default.
func word(at *string, words []string) place {
	p := str(at)
	p.complete = func() error {
		*at = cmp.Or(*at, words[0])
		return oneOf(*at, words)
	}
	return p
}

func level(at *slog.Level) place {
	parse := func(s string) (slog.Level, error) {
		i := slog.Level(slices.Index(LogLevels(), s))
		return slog.LevelDebug + i*(slog.LevelInfo-slog.LevelDebug), oneOf(s, LogLevels())
	}
	return field(at, parse, func(l slog.Level) string { return strings.ToLower(l.String()) })
}

// preset sets a generator's layout and policy, too.
func preset(g *Generator) place {
	parse := func(s string) (string, error) {
		preset, err := snowfence.PresetByName(s)
		if err == nil {
			g.Layout, g.Policy = preset.Layout, preset.Policy
		}
		return s, err
	}
	return field(&g.Preset, parse, verbatim)
}

// start is where a tick's sequence begins: a word, with its bound if it has one: "random:99".
func start(at *snowfence.SequenceStart) place {
	bounded := func(rule snowfence.StartRule) bool {
		return rule != snowfence.StartQuarter && rule != snowfence.StartZero
	}
	parse := func(s string) (v snowfence.SequenceStart, err error) {
		word, bound, hasBound := strings.Cut(s, ":")
		for v.Rule = snowfence.StartQuarter; v.Rule <= snowfence.StartCarry; v.Rule++ {
			if word == v.Rule.String() && hasBound == bounded(v.Rule) {
				if hasBound {
					v.Max, err = parseNumber(bound)
				}
				return v, err
			}
		}
		return v, errors.New("must be quarter, zero, random:MAX, vibration:MAX or carry:MAX")
	}
	write := func(v snowfence.SequenceStart) string {
		if bounded(v.Rule) {
			return fmt.Sprintf("%s:%d", v.Rule, v.Max)
		}
		return v.Rule.String()
	}
	return field(at, parse, write)
}

func count(at *int, fallback, least, most int) place {
	parse := func(s string) (int, error) {
		n, err := parseNumber(s)
		return int(min(n, math.MaxInt32)), err
	}
	return limit(at, fallback, least, most, "a whole number", parse, strconv.Itoa)
}

// optional is a number up to a greatest one, 0 standing for no limit.
func optional(at *int, most int) place {
	outOfRange := fmt.Errorf("must be a whole number from 1 to %d, or 0 for no limit", most)
	p := field(at, func(s string) (int, error) {
		n, err := parseNumber(s)
		if err != nil || n > int64(most) {
			return 0, outOfRange
		}
		return int(n), nil
	}, strconv.Itoa)
	p.complete = func() error {
		if *at < 0 || *at > most {
			return outOfRange
		}
		return nil
	}
	return p
}

// pause is a duration up to a longest one, 0 standing for none, or for a default.
func pause(at *time.Duration, most time.Duration) place {
	outOfRange := fmt.Errorf("must be a duration such as 10s, up to %s, or 0s for none", most)
	inRange := func(d time.Duration) error {
		if d < 0 || d > most {
			return outOfRange
		}
		return nil
	}
	p := field(at, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, outOfRange
		}
		return d, inRange(d)
	}, time.Duration.String)
	p.complete = func() error { return inRange(*at) }
	return p
}

func size(at *int, fallback, least, most int) place {
	parse := func(s string) (int, error) {
		n, err := text.ParseBytes(s)
		return int(min(n, math.MaxInt32)), err
	}
	write := func(n int) string {
		switch {
		case n%miB == 0 && n > 0:
			return strconv.Itoa(n/miB) + "MiB"
		case n%kiB == 0 && n > 0:
			return strconv.Itoa(n/kiB) + "KiB"
		}
		return strconv.Itoa(n)
	}
	return limit(at, fallback, least, most, "a number of bytes such as 4096, 64KiB or 1MiB", parse, write)
}

func timeout(at *time.Duration, fallback, least, most time.Duration) place {
	return limit(at, fallback, least, most, "a duration such as 500ms, 10s or 1m30s", time.ParseDuration, time.Duration.String)
}

// limit is a value within a range. A text must not be zero, which is the default in a [Config].
func limit[V int | time.Duration](at *V, fallback, least, most V, form string, parse func(string) (V, error), write func(V) string) place {
	span := "from " + write(least) + " to " + write(most)
	inRange := func(v V) error {
		if v < least || v > most {
			return errors.New("must be " + span)
		}
		return nil
	}
	set := func(s string) (V, error) {
		v, err := parse(s)
		if err != nil || v == 0 {
			return 0, fmt.Errorf("must be %s, %s", form, span)
		}
		return v, inRange(v)
	}
	p := field(at, set, write)
	p.complete = func() error {
		*at = cmp.Or(*at, fallback)
		return inRange(*at)
	}
	return p
}

// LogLevels returns what log.level can be, the least first.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormats returns what log.format can be.
func LogFormats() []string { return []string{"text", "json"} }

// oneOf returns an error unless a word is one of some.
func oneOf(word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return errors.New("must be " + text.Or(words))
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

// parseNumber reads 0 or more, without leading zeros, which YAML would read as octal.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, errors.New("must be a whole number, 0 or more, without leading zeros")
	}
	return n, nil
}

const kiB, miB = 1 << 10, 1 << 20
