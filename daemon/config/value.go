package config

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/text"
)

// in returns the field's place in a *[Config] or *[Generator].
func (f field) in(of any) reflect.Value { return reflect.ValueOf(of).Elem().FieldByIndex(f.index) }

// set reads a text. If it can't, it changes nothing and says what the text must be.
func (f field) set(of any, s string) error {
	v, err := f.parse(s)
	if err != nil {
		return err
	}
	f.in(of).Set(reflect.ValueOf(v).Convert(f.kind))
	return nil
}

// parse reads a text as a value of the field's type.
func (f field) parse(s string) (any, error) {
	switch f.kind {
	case reflect.TypeFor[int](), reflect.TypeFor[time.Duration]():
		return f.parseQuantity(s)
	case reflect.TypeFor[bool]():
		return s == "true", oneOf(s, []string{"true", "false"})
	case reflect.TypeFor[[]string]():
		return split(s), nil
	case reflect.TypeFor[[]int64]():
		return parseNumbers(s)
	case reflect.TypeFor[*int64]():
		n, err := parseNumber(s)
		return &n, err
	case reflect.TypeFor[*fence.WorkerRange]():
		return parseWorkers(s)
	case reflect.TypeFor[snowfence.Layout]():
		return ParseLayout(s)
	case reflect.TypeFor[slog.Level]():
		i := slog.Level(slices.Index(LogLevels(), s))
		return slog.LevelDebug + i*(slog.LevelInfo-slog.LevelDebug), oneOf(s, LogLevels())
	case reflect.TypeFor[snowfence.SequenceStart]():
		return parseStart(s)
	}
	return s, nil
}

// show writes the value as set reads it.
func (f field) show(of any) string {
	switch v := f.in(of).Interface().(type) {
	case int:
		return f.quantity().write(int64(v))
	case []string:
		return strings.Join(v, ",")
	case []int64:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]")
	case *int64:
		if v == nil {
			return ""
		}
		return strconv.FormatInt(*v, 10)
	case *fence.WorkerRange:
		if v == nil {
			return ""
		}
		return v.String()
	case slog.Level:
		return strings.ToLower(v.String())
	case snowfence.SequenceStart:
		if bounded(v.Rule) {
			return fmt.Sprintf("%s:%d", v.Rule, v.Max)
		}
		return v.Rule.String()
	default:
		return fmt.Sprint(v)
	}
}

// complete puts the default in the place of a zero, unless zero means something, and returns an error for a value that
// is out of range. It holds for a [Config] that is written by hand, too.
func (f field) complete(of any) error {
	words := f.words()
	if v := f.in(of); v.IsZero() && f.tag.Get("empty") == "" {
		if fallback := f.fallback; fallback != "" {
			return f.set(of, fallback)
		} else if len(words) > 0 {
			v.SetString(words[0])
		}
	}
	switch v := f.in(of); {
	case len(words) > 0:
		return oneOf(v.String(), words)
	case v.CanInt() && f.tag.Get("max") != "":
		return f.inRange(v.Int())
	}
	return nil
}

// words are what a field can be, the first being the default. None means any text.
func (f field) words() []string { return split(f.tag.Get("words")) }

// quantity is how a field's number is read and written.
type quantity struct {
	form  string
	parse func(string) (int64, error)
	write func(int64) string
}

func (f field) quantity() quantity {
	switch {
	case f.kind == reflect.TypeFor[time.Duration]():
		parse := func(s string) (int64, error) { d, err := time.ParseDuration(s); return int64(d), err }
		return quantity{"a duration such as 500ms, 10s or 1m30s", parse, func(n int64) string { return time.Duration(n).String() }}
	case f.tag.Get("unit") == "bytes":
		return quantity{"a number of bytes such as 4096, 64KiB or 1MiB", text.ParseBytes, writeBytes}
	}
	return quantity{"a whole number", parseNumber, func(n int64) string { return strconv.FormatInt(n, 10) }}
}

// parseQuantity reads a number within the field's range. With a least number a text must not be zero, which is the
// default in a [Config].
func (f field) parseQuantity(s string) (int64, error) {
	q := f.quantity()
	n, err := q.parse(s)
	switch least, most := f.bounds(); {
	case least > 0 && (err != nil || n == 0):
		return 0, fmt.Errorf("must be %s, from %s to %s", q.form, q.write(least), q.write(most))
	case most > 0 && err != nil:
		return 0, f.inRange(-1)
	case most > 0:
		return n, f.inRange(n)
	case err != nil || n <= 0:
		hint := "must be a duration above 0 such as 500ms, 10s or 1h30m"
		if none := f.tag.Get("none"); none != "" {
			hint += "; none is " + none
		}
		return 0, errors.New(hint)
	}
	return n, nil
}

// bounds are the least and the greatest number that a field can have. Zero means none.
func (f field) bounds() (least, most int64) {
	q := f.quantity()
	least, _ = q.parse(f.tag.Get("min"))
	most, _ = q.parse(f.tag.Get("max"))
	return least, most
}

// inRange returns an error that says the range unless it has the number.
func (f field) inRange(n int64) error {
	least, most := f.bounds()
	limit := f.quantity().write(most)
	switch {
	case n >= least && n <= most:
		return nil
	case least > 0:
		return errors.New("must be from " + f.quantity().write(least) + " to " + limit)
	case f.kind == reflect.TypeFor[time.Duration]():
		return errors.New("must be a duration such as 10s, up to " + limit + ", or 0s for none")
	}
	return errors.New("must be a whole number from 1 to " + limit + ", or 0 for no limit")
}

func writeBytes(n int64) string {
	const kiB, miB = 1 << 10, 1 << 20
	switch {
	case n%miB == 0 && n > 0:
		return strconv.FormatInt(n/miB, 10) + "MiB"
	case n%kiB == 0 && n > 0:
		return strconv.FormatInt(n/kiB, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10)
}

// parseNumber reads 0 or more, without leading zeros, which YAML would read as octal.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, errors.New("must be a whole number, 0 or more, without leading zeros")
	}
	return n, nil
}

// parseNumbers reads whole numbers with commas between them.
func parseNumbers(s string) (all []int64, err error) {
	for _, part := range split(s) {
		n, err := parseNumber(part)
		if err != nil {
			return nil, fmt.Errorf("each number %w", err)
		}
		all = append(all, n)
	}
	return all, nil
}

// parseWorkers reads two whole numbers with a hyphen between them.
func parseWorkers(s string) (*fence.WorkerRange, error) {
	ranges, err := text.ParseRanges(s)
	if err != nil || len(ranges) != 1 {
		return nil, errors.New("must be a range of worker ids such as 0-31")
	}
	return &fence.WorkerRange{First: ranges[0].First, Last: ranges[0].Last}, nil
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

// parseStart reads where a tick's sequence begins: a word, with its bound if it has one: "random:99".
func parseStart(s string) (v snowfence.SequenceStart, err error) {
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

// bounded reports whether a rule for the start of a sequence has a bound.
func bounded(rule snowfence.StartRule) bool {
	return rule != snowfence.StartQuarter && rule != snowfence.StartZero
}

// LogLevels returns what log.level can be, the least first.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormats returns what log.format can be.
func LogFormats() []string { return fieldAt("log.format").words() }

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
