package snowfence

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// These words mark the text form of an Unsigned and of a Wide layout.
const (
	unsignedWord = "unsigned"
	wideWord     = "wide"
)

// timeUnit is a unit of the text form.
type timeUnit struct {
	word string
	unit time.Duration
}

// timeUnits returns the units of the text form, the longest first.
func timeUnits() [5]timeUnit {
	return [...]timeUnit{
		{"h", time.Hour},
		{"min", time.Minute},
		{"s", time.Second},
		{"ms", time.Millisecond},
		{"us", time.Microsecond},
	}
}

// String writes the layout in its canonical text form. [ParseLayout] reads it, and shells,
// URLs and YAML need no quotes around it:
//
//	ms41-worker10-seq12@2026-01-01T00:00:00Z
//	10ms39-seq8-worker16@2014-09-01T00:00:00Z
//	unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z
//	wide-ms48-version4-seq12-variant2-worker20-random42@1970-01-01T00:00:00Z
//
// Equal layouts have equal text forms, and layouts with equal text forms are
// equal: it serves as a fingerprint.
func (l Layout) String() string {
	var b strings.Builder
	if l.Unsigned {
		b.WriteString(unsignedWord + "-")
	}
	if l.Wide {
		b.WriteString(wideWord + "-")
	}
	for i, f := range l.Fields {
		if i > 0 {
			b.WriteByte('-')
		}
		if f.Kind == Time {
			b.WriteString(unitText(l.Unit))
		} else {
			b.WriteString(kindWord(f.Kind))
		}
		b.WriteString(strconv.Itoa(f.Bits))
	}
	b.WriteByte('@')
	b.WriteString(l.Epoch.UTC().Format(time.RFC3339Nano))
	return b.String()
}

// unitText writes a unit as a count of the longest unit that divides it.
func unitText(d time.Duration) string {
	for _, u := range timeUnits() {
		switch {
		case d == u.unit:
			return u.word
		case d > 0 && d%u.unit == 0:
			return strconv.FormatInt(int64(d/u.unit), 10) + u.word
		}
	}
	return d.String()
}

// MarshalText returns the form of [Layout.String]. A *[LayoutError] is returned for an
// invalid layout.
func (l Layout) MarshalText() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads as [ParseLayout] does, with its errors.
func (l *Layout) UnmarshalText(text []byte) error {
	parsed, err := ParseLayout(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}

// ParseLayout reads the name of a preset, or the form of [Layout.String]: the fields from the
// highest bits to the lowest. The epoch may be left out, or be a date. Without it the preset's or
// the default one counts.
//
//	twitter
//	baidu@2026-01-01
//	ms41-worker10-seq12
//	10ms39-seq8-worker16@2014-09-01T00:00:00Z
//
// A field is a word and its bits. For the time the word is the unit, one of us, ms, s, min and h,
// after a count if it is not one. The others are datacenter, worker and seq. The word unsigned in
// front marks a layout of 64 bits, the word wide one of up to 128 bits, with three more fields:
// version, variant and random.
//
// A *[LayoutError] is returned for a text that can't be read, with the part at fault. It is also
// returned for an invalid layout, together with the layout as it was read.
func ParseLayout(s string) (Layout, error) {
	fields, epoch, hasEpoch := strings.Cut(s, "@")
	var l Layout
	var err error
	if row, ok := presetNamed(fields); ok {
		l = row.preset().Layout
	} else if l, err = parseFields(fields); err != nil {
		return Layout{}, err
	}
	if hasEpoch {
		if l.Epoch, err = parseEpoch(epoch); err != nil {
			return Layout{}, err
		}
	}
	return l, l.Validate()
}

// parseEpoch reads the epoch after the @.
func parseEpoch(s string) (time.Time, error) {
	for _, format := range [...]string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(format, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, &LayoutError{"epoch", quoted(s), "a date or an RFC 3339 instant, such as 2026-01-01T00:00:00Z", ""}
}

// parseFields reads what stands before the @.
func parseFields(s string) (Layout, error) {
	l := newLayout(0, defaultEpoch)
	for part := range strings.SplitSeq(s, "-") {
		switch {
		case part == unsignedWord:
			l.Unsigned = true
		case part == wideWord:
			l.Wide = true
		case !l.parseField(part):
			return Layout{}, &LayoutError{"part", quoted(part), "a word and its bits, such as in ms41-worker10-seq12",
				"the words are us, ms, s, min, h, datacenter, worker and seq, and a preset is a name such as twitter"}
		}
	}
	if canonical, _, _ := strings.Cut(l.String(), "@"); canonical != s && l.Validate() == nil {
		return Layout{}, &LayoutError{"layout", quoted(s), canonical, "there is one spelling"}
	}
	return l, nil
}

// parseField reads a count, a word and its bits into l, and reports whether it could.
func (l *Layout) parseField(part string) bool {
	const digits = "0123456789"
	counted := strings.TrimRight(part, digits)
	word := strings.TrimLeft(counted, digits)
	bits, err := strconv.ParseInt(part[len(counted):], 10, 32)
	if err != nil {
		return false
	}
	field := Field{Bits: int(bits)}
	for _, u := range timeUnits() {
		if word == u.word {
			count, err := strconv.ParseInt(cmp.Or(strings.TrimSuffix(counted, word), "1"), 10, 64)
			field.Kind, l.Unit = Time, time.Duration(count)*u.unit
			if err != nil || count < 1 || count > int64(maxUnit/u.unit) {
				return false
			}
		}
	}
	for kind := Datacenter; kind <= Random; kind++ {
		if counted == kindWord(kind) && (kind <= Sequence || l.Wide) {
			field.Kind = kind
		}
	}
	l.Fields = append(l.Fields, field)
	return field.Kind != 0
}

// kindWord returns the word of a kind other than Time.
func kindWord(k FieldKind) string {
	if k == Sequence {
		return "seq"
	}
	return k.String()
}

// quoted is how an error shows a text: its first 64 bytes.
func quoted(s string) string { return strconv.Quote(s[:min(len(s), maxErrorText)]) }
