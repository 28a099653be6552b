package config

import (
	"cmp"
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

// codec reads and writes the values of one type.
type codec struct {
	parse func(string) (any, error)
	show  func(reflect.Value) string
}

// codec is that of the field's type. The text of another type is its value.
func (f *field) codec() codec {
	switch f.kind {
	case reflect.TypeFor[int](), reflect.TypeFor[time.Duration]():
		return codec{func(s string) (any, error) { return f.parseQuantity(s) }, func(v reflect.Value) string { return f.quantity().write(v.Int()) }}
	case reflect.TypeFor[bool]():
		return codecOf(func(s string) (bool, error) { return s == "true", oneOf(s, []string{"true", "false"}) }, strconv.FormatBool)
	case reflect.TypeFor[[]string]():
		return codecOf(func(s string) ([]string, error) { return split(s), nil }, func(v []string) string { return strings.Join(v, ",") })
	case reflect.TypeFor[[]int64]():
		return codecOf(parseNumbers, func(v []int64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]") })
	case reflect.TypeFor[*int64]():
		return optional(parseNumber, writeNumber)
	case reflect.TypeFor[*fence.WorkerRange]():
		return optional(parseWorkers, fence.WorkerRange.String)
	case reflect.TypeFor[snowfence.Layout]():
		return codecOf(ParseLayout, snowfence.Layout.String)
	case reflect.TypeFor[slog.Level]():
		parse := func(s string) (level slog.Level, err error) {
			return level, cmp.Or(oneOf(s, f.Words), level.UnmarshalText([]byte(s)))
		}
		return codecOf(parse, func(v slog.Level) string { return strings.ToLower(v.String()) })
	case reflect.TypeFor[snowfence.SequenceStart]():
		return codecOf(parseStart, showStart)
	}
	return codec{func(s string) (any, error) { return s, nil }, func(v reflect.Value) string { return v.String() }}
}

func codecOf[T any](parse func(string) (T, error), show func(T) string) codec {
	return codec{
		func(s string) (any, error) { return parse(s) },
		func(v reflect.Value) string { return show(v.Interface().(T)) },
	}
}

// optional is the codec of a pointer. Nil's text is empty.
func optional[T any](parse func(string) (T, error), show func(T) string) codec {
	return codecOf(
		func(s string) (*T, error) { v, err := parse(s); return &v, err },
		func(v *T) string {
			if v == nil {
				return ""
			}
			return show(*v)
		},
	)
}

// quantity is how a field's number is read and written.
type quantity struct {
	form  string
	parse func(string) (int64, error)
	write func(int64) string
}

func (f *field) quantity() quantity {
	switch {
	case f.kind == reflect.TypeFor[time.Duration]():
		parse := func(s string) (int64, error) { d, err := time.ParseDuration(s); return int64(d), err }
		return quantity{"a duration such as 500ms, 10s or 1h30m", parse, func(n int64) string { return time.Duration(n).String() }}
	case f.tag.Get("unit") == "bytes":
		return quantity{"a number of bytes such as 4096, 64KiB or 1MiB", text.ParseBytes, writeBytes}
	}
	return quantity{"a whole number", parseNumber, writeNumber}
}

// parseQuantity reads a number within the field's range.
func (f *field) parseQuantity(s string) (int64, error) {
	n, err := f.quantity().parse(s)
	if err != nil {
		n = -1
	}
	return n, f.inRange(n)
}

// inRange returns an error that names the range unless it has the number. A range without a least number has 0.
func (f *field) inRange(n int64) error {
	q := f.quantity()
	switch least, most := q.write(f.least), q.write(f.most); {
	case f.most == 0 && n > 0, f.most > 0 && f.least <= n && n <= f.most:
		return nil
	case f.most == 0:
		return fmt.Errorf("must be %s, %s", q.form, cmp.Or(f.tag.Get("above"), "above 0"))
	default:
		return fmt.Errorf("must be %s, from %s to %s", q.form, least, most)
	}
}

func writeBytes(n int64) string {
	units := []string{"", "KiB", "MiB"}
	for ; len(units) > 1 && n > 0 && n%(1<<10) == 0; units = units[1:] {
		n >>= 10
	}
	return writeNumber(n) + units[0]
}

func writeNumber(n int64) string { return strconv.FormatInt(n, 10) }

// parseNumber reads 0 or more, without leading zeros, which YAML would read as octal.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || writeNumber(n) != s {
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
func parseWorkers(s string) (fence.WorkerRange, error) {
	ranges, err := text.ParseRanges(s)
	if err != nil || len(ranges) != 1 {
		return fence.WorkerRange{}, errors.New("must be a range of worker ids such as 0-31")
	}
	return fence.WorkerRange{First: ranges[0].First, Last: ranges[0].Last}, nil
}

// ParseLayout is [snowfence.ParseLayout], with a shorter error for a single word: it offers the preset that
// may be meant.
func ParseLayout(s string) (snowfence.Layout, error) {
	l, err := snowfence.ParseLayout(s)
	if wrong, ok := errors.AsType[*snowfence.LayoutError](err); !ok || wrong.Field != "part" || wrong.Value != strconv.Quote(s) {
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
		if word == v.Rule.String() && hasBound == strings.Contains(showStart(v), ":") {
			if hasBound {
				v.Max, err = parseNumber(bound)
			}
			return v, err
		}
	}
	return v, errors.New("must be quarter, zero, random:MAX, vibration:MAX or carry:MAX")
}

func showStart(v snowfence.SequenceStart) string {
	if v.Rule == snowfence.StartQuarter || v.Rule == snowfence.StartZero {
		return v.Rule.String()
	}
	return fmt.Sprintf("%s:%d", v.Rule, v.Max)
}

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
