package snowfence

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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

// ParseLayout reads a layout as people, configuration files, command lines and URLs write
// it: the name of a preset, or the fields from the highest bits to the lowest. An @ and an
// epoch may follow. Without them the epoch is the preset's or the default one.
//
//	twitter
//	baidu@2026-01-01
//	ms41-worker10-seq12@2026-01-01T00:00:00Z
//	ms 41 · worker 10 · seq 12 @ 1767225600000
//	10 ms 39, seq 8, machine 16
//	unsigned ms 42 + node 10 + counter 12
//
// A field is a word and its bits. For the time the word is the unit, one of us, ms, s, min and h,
// after a count if it is not one. The other words are datacenter (dc, region), worker (host,
// instance, machine, node, process, server, shard) and sequence (seq, counter, increment, random,
// step). Blanks may stand anywhere between words and numbers, and one of - , + · | between fields;
// case does not matter. The word unsigned, in a field's place, marks a layout of 64 bits. The word
// wide marks one of up to 128 bits, with three more words: version, variant and random. An epoch is
// a date, an RFC 3339 instant, or Unix milliseconds.
//
// A *[LayoutSyntaxError] is returned when the text can't be read. A *[LayoutError] is
// returned for an invalid layout, together with the layout as it was read.
func ParseLayout(s string) (Layout, error) {
	fields, epoch, hasEpoch := strings.Cut(s, "@")
	var l Layout
	var err error
	if row, ok := presetNamed(strings.ToLower(strings.TrimSpace(fields))); ok {
		l = row.preset().Layout
	} else if l, err = (&layoutParser{text: s, rest: fields}).parse(); err != nil {
		return Layout{}, err
	}
	if hasEpoch {
		if l.Epoch, err = parseEpoch(s, epoch); err != nil {
			return Layout{}, err
		}
	}
	return l, l.Validate()
}

// earliestMS is the first number above 0 that is read as Unix milliseconds: it has twelve digits. Seconds of this
// time have ten.
const earliestMS = 100_000_000_000

// parseEpoch reads the epoch after the @, the tail of a layout's text.
func parseEpoch(text, epoch string) (time.Time, error) {
	token := strings.TrimSpace(epoch)
	offset := len(text) - len(strings.TrimLeftFunc(epoch, unicode.IsSpace))
	if ms, err := strconv.ParseInt(token, 10, 64); err == nil {
		if ms > 0 && ms < earliestMS { // a year, or seconds
			return time.Time{}, newLayoutSyntaxError(text, offset, token, "is Unix milliseconds, and so an epoch before 1973: write a date, such as 2026-01-01, or a number of 12 digits or more")
		}
		return time.UnixMilli(ms).UTC(), nil
	}
	for _, format := range [...]string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(format, token); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, newLayoutSyntaxError(text, offset, token, "is no epoch: neither a date, nor an RFC 3339 instant, nor Unix milliseconds")
}

// tokenKind is the kind of a token of a layout's text.
type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	numberToken
	separatorToken
	otherToken
)

// layoutToken is a token and where it begins.
type layoutToken struct {
	kind   tokenKind
	text   string
	offset int
}

// layoutParser reads the fields of a layout, one token ahead.
type layoutParser struct {
	text  string // the whole text, for errors
	rest  string // the fields that are not read yet
	at    int    // the offset of rest in text
	token layoutToken
}

// advance steps to the next token; blanks are skipped.
func (p *layoutParser) advance() {
	trimmed := strings.TrimLeftFunc(p.rest, unicode.IsSpace)
	p.at += len(p.rest) - len(trimmed)
	first, size := utf8.DecodeRuneInString(trimmed)
	var kind tokenKind
	switch {
	case size == 0:
		kind = endToken
	case unicode.IsLetter(first):
		kind, size = wordToken, runLength(trimmed, unicode.IsLetter)
	case isDigit(first):
		kind, size = numberToken, runLength(trimmed, isDigit)
	case strings.ContainsRune("-,+·|", first):
		kind = separatorToken
	default:
		kind = otherToken
	}
	p.token = layoutToken{kind, trimmed[:size], p.at}
	p.rest, p.at = trimmed[size:], p.at+size
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// runLength returns how many bytes of s, from its start, are in a class.
func runLength(s string, in func(rune) bool) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !in(r) }); n >= 0 {
		return n
	}
	return len(s)
}

// fail names a token as the one at fault.
func (p *layoutParser) fail(at layoutToken, reason string) error {
	return newLayoutSyntaxError(p.text, at.offset, at.text, reason)
}

// parse reads fields up to the end.
func (p *layoutParser) parse() (Layout, error) {
	l := newLayout(0, defaultEpoch)
	p.advance()
	for {
		if err := p.parseField(&l); err != nil {
			return Layout{}, err
		}
		if p.token.kind == endToken {
			return l, nil
		}
		if p.token.kind == separatorToken {
			p.advance()
		}
	}
}

// parseField reads [count] word bits, or unsigned, into l.
func (p *layoutParser) parseField(l *Layout) (err error) {
	start, count := p.token, 1
	counted := start.kind == numberToken
	if counted {
		if count, err = p.parseNumber(); err != nil {
			return err
		}
	}
	if p.token.kind != wordToken {
		return p.fail(p.token, "a field or a preset is expected")
	}
	word := strings.ToLower(p.token.text)
	if mark := l.mark(word); mark != nil && !counted {
		*mark = true
		p.advance()
		return nil
	}
	field, unit, ok := fieldNamed(word, l.Wide)
	switch {
	case !ok:
		return p.fail(p.token, "is neither a field ("+fieldWords+") nor a preset ("+presetNames()+")")
	case field.Kind == Time:
		most := int64(maxUnit / unit)
		if count < 1 || int64(count) > most {
			return p.fail(start, fmt.Sprintf("the unit must be at most 1h, that is from 1 to %d%s", most, word))
		}
		l.Unit = time.Duration(count) * unit
	case counted:
		return p.fail(start, "a count can stand only before a unit of time; bits follow their field")
	}
	p.advance()
	if p.token.kind != numberToken {
		return p.fail(p.token, "the bits of "+word+" are expected")
	}
	if field.Bits, err = p.parseNumber(); err != nil {
		return err
	}
	l.Fields = append(l.Fields, field)
	return nil
}

// parseNumber reads the current token as a number and steps on.
func (p *layoutParser) parseNumber() (int, error) {
	n, err := strconv.ParseInt(p.token.text, 10, 32)
	if err != nil {
		return 0, p.fail(p.token, "is too large a number")
	}
	p.advance()
	return int(n), nil
}

// fieldWords are the words that an error suggests.
const fieldWords = "us, ms, s, min, h, datacenter, worker, seq, unsigned, wide"

// mark returns what a word in a field's place marks; nil for another word.
func (l *Layout) mark(word string) *bool {
	switch word {
	case unsignedWord:
		return &l.Unsigned
	case wideWord:
		return &l.Wide
	}
	return nil
}

// fieldNamed returns the field of a lower-case word, without its bits, and for a time the
// unit. Another system's own word is kept as the field's name.
func fieldNamed(word string, wide bool) (f Field, unit time.Duration, ok bool) {
	switch word {
	case "µs", "μs": // micro sign, Greek mu
		word = "us"
	}
	for _, u := range timeUnits() {
		if word == u.word {
			return Field{Kind: Time}, u.unit, true
		}
	}
	for _, kind := range [...]FieldKind{Version, Variant, Random} {
		if wide && word == kind.String() {
			return Field{Kind: kind}, 0, true
		}
	}
	switch word {
	case "datacenter", "dc":
		return Field{Kind: Datacenter}, 0, true
	case "region":
		return Field{Kind: Datacenter, Name: word}, 0, true
	case "worker":
		return Field{Kind: Worker}, 0, true
	case "host", "instance", "machine", "node", "process", "server", "shard":
		return Field{Kind: Worker, Name: word}, 0, true
	case "sequence", "seq":
		return Field{Kind: Sequence}, 0, true
	case "counter", "increment", "random", "step":
		return Field{Kind: Sequence, Name: word}, 0, true
	}
	return Field{}, 0, false
}
