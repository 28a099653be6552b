package idsource

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
)

// reading is how a source reads its texts, and what it does about what is no id.
//
// A text may be an id in several encodings: 16 digits are decimal, and hex too. It is
// read as the likeliest, and that must be the same for all of a source, but for what
// 0x marks as hex: else the source is refused, since one of them may be misread.
type reading struct {
	source   string          // its name
	unit     string          // what it consists of: "line", "row"
	encoding decode.Encoding // given; empty: any
	taken    decode.Encoding // what the first text was read as, if none is given
	first    uint64          // where that stood

	skip    bool
	skipped atomic.Uint64
	invalid atomic.Pointer[InvalidError] // the first that was skipped
}

func newReading(source, unit string, o Options) *reading {
	return &reading{source: source, unit: unit, encoding: o.Encoding, skip: o.SkipInvalid}
}

func (r *reading) Name() string { return r.source }

func (r *reading) Place(at uint64) string { return fmt.Sprintf("%s %d", r.unit, at) }

// read reads a text that stood at a place. The error is an *[OptionError] where
// encodings meet, else one of package decode.
func (r *reading) read(text []byte, at uint64) (snowfence.ID, error) {
	if v, length := r.decimal(text); length > 0 && length == len(text) {
		return snowfence.ID(v), r.agree(decode.Decimal, at)
	}
	readings, err := decode.Readings(string(text), r.encoding)
	if err != nil {
		return 0, err
	}
	if len(text) > 1 && text[1]|0x20 == 'x' && readings[0].Encoding == decode.Hex {
		return readings[0].ID, nil // it says what it is
	}
	return readings[0].ID, r.agree(readings[0].Encoding, at)
}

// agree returns an error if a text was read as another encoding than the first.
func (r *reading) agree(e decode.Encoding, at uint64) error {
	switch {
	case r.taken == e || r.encoding != "":
		return nil
	case r.taken != "":
		return &OptionError{"encoding", fmt.Sprintf("%s: %s looks like %s, and %s like %s: must be said, as all of a source are read in one encoding",
			r.source, r.Place(r.first), r.taken, r.Place(at), e)}
	}
	r.taken, r.first = e, at
	return nil
}

// decimal reads the digits that a text begins with, and returns how many they are: 0
// where they may be no plain decimal, or more than 64 bits always hold.
func (r *reading) decimal(text []byte) (v uint64, length int) {
	const most = 19
	if r.encoding != "" && r.encoding != decode.Decimal || len(text) == 0 || text[0] == '0' {
		return 0, 0
	}
	for length < len(text) && text[length]-'0' <= 9 {
		if length == most {
			return 0, 0
		}
		v = v*10 + uint64(text[length]-'0')
		length++
	}
	return v, length
}

// refuse returns the error, or counts it if it may be skipped, as wrong options may not.
func (r *reading) refuse(err *InvalidError) error {
	if wrong, ok := errors.AsType[*OptionError](err.Reason); ok {
		return wrong
	}
	if !r.skip {
		return err
	}
	r.skipped.Add(1)
	r.invalid.CompareAndSwap(nil, err)
	return nil
}

func (r *reading) Skipped() (n uint64, first error) {
	if e := r.invalid.Load(); e != nil {
		first = e
	}
	return r.skipped.Load(), first
}

// maxText is how much of a text an error carries, in bytes.
const maxText = 64

// clip cuts a text for an error.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// hintOf guesses what a line is that is no id.
func hintOf(line string, at uint64) string {
	switch foreign, err := decode.ReadForeign(strings.TrimSpace(line)); {
	case err == nil && foreign != nil:
		return "it looks like one of more than 64 bits, a UUID for one: those are texts, and 'sort FILE | uniq -d' shows equal ones"
	case endsLine([]byte(strings.TrimSpace(line))):
		return "lines must end in LF or CR LF: tr '\\r' '\\n' converts lines that end in CR"
	case strings.ContainsFunc(line, unprintable):
		return "it looks like no text: --format binary reads 8 bytes an id"
	case ofSpreadsheet.MatchString(strings.TrimSpace(line)):
		return "it looks like a number as a spreadsheet shows it, which may be rounded: let it export the column as text"
	case strings.ContainsAny(line, ",;\t|"):
		return "it looks like CSV: --column NAME or --column N reads a column of it, --separator CHAR where it is no comma"
	case at == 1 && strings.ContainsFunc(line, letter):
		return "if it is a header, --column NAME reads the column under it"
	}
	return ""
}

// ofSpreadsheet is a number with an exponent, groups of digits, a fraction or an apostrophe in front.
var ofSpreadsheet = regexp.MustCompile(`^('[0-9]+|[0-9]+([.,][0-9]+)?[eE]\+?[0-9]+|[0-9]{1,3}([.,' \x{a0}\x{202f}][0-9]{3}){2,}|[0-9]+[.,]0+)$`)

// endsLine reports whether a line has a line end within that other programs know: CR, VT, FF, NEL, LS or PS.
func endsLine(text []byte) bool {
	return bytes.ContainsAny(text, "\r\v\f\u0085\u2028\u2029")
}

func unprintable(r rune) bool { return r < ' ' && r != '\t' || r == utf8.RuneError }

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 0x7f }
