package snowfence

import (
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
		switch f.Kind {
		case Time:
			b.WriteString(unitText(l.Unit))
		case Sequence:
			b.WriteString("seq")
		default:
			b.WriteString(f.Kind.String())
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
