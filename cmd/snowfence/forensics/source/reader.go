package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
)

// reader is the [Source] for all kinds of sources: it reads texts as ids, and refuses others.
//
// A text may be an id in several encodings: 16 digits are decimal, and hex too. So it is
// decimal, or hex that 0x marks, unless an encoding is given.
type reader struct {
	scanner
	name     string
	unit     string          // of its places: "line", "row"
	encoding decode.Encoding // given; empty: decimal, or hex that 0x marks
}

// scanner finds the ids of one kind of source.
type scanner interface {
	// next returns the next id: [io.EOF] at the end, or an error of [reader.refuse] for an invalid text.
	next(r *reader) (Item, error)
	// ready reports whether next does not wait.
	ready() bool
	// abort ends a next that waits, and all later ones.
	abort(cause error)
	Close() error
}

func newReader(name, unit string, o Options, s scanner) *reader {
	return &reader{scanner: s, name: name, unit: unit, encoding: o.Encoding}
}

func (r *reader) Name() string { return r.name }

func (r *reader) Place(at uint64) string { return fmt.Sprintf("%s %d", r.unit, at) }

// Read waits for the first id alone.
func (r *reader) Read(ctx context.Context, items []Item) (n int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	defer context.AfterFunc(ctx, func() { r.abort(context.Cause(ctx)) })()
	text, isText := r.scanner.(*lines)
	for n < len(items) && (n == 0 || r.ready()) {
		if isText {
			if filled := text.fill(r, items[n:]); filled > 0 {
				n += filled
				continue
			}
		}
		item, err := r.next(r)
		switch {
		case err == nil:
			items[n] = item
			n++
		case n > 0 && errors.Is(err, io.EOF):
			return n, nil // the end is for the next call
		case ctx.Err() != nil:
			return n, context.Cause(ctx)
		default:
			return n, err
		}
	}
	return n, nil
}

// read reads a text that stood at a place.
func (r *reader) read(text []byte, at uint64) (Item, error) {
	if v, length := plain(text); length > 0 && length == len(text) && r.decimal() {
		return Item{snowfence.ID(v), at}, nil
	}
	id, as, err := decode.Read(string(text), r.encoding)
	marked := as == decode.Hex && len(text) > 1 && text[1]|0x20 == 'x' // which is no digit
	if err == nil && r.encoding == "" && as != decode.Decimal && !marked {
		err = fault("decimal", string(text), "may be %s: name it by --encoding %s", as, as)
	}
	if err != nil {
		return Item{}, r.refuse(at, err, hintOf(string(text), at))
	}
	return Item{id, at}, nil
}

// decimal reports whether plain decimals are ids.
func (r *reader) decimal() bool { return r.encoding == "" || r.encoding == decode.Decimal }

// plain reads the decimal that a text begins with, and returns how many digits it has: 0 where
// it begins with a zero, or has more digits than surely fit 64 bits.
func plain(text []byte) (v uint64, length int) {
	for length < len(text) && text[length]-'0' <= 9 {
		v = v*10 + uint64(text[length]-'0')
		length++
	}
	if length == 0 || length > 19 || text[0] == '0' {
		return 0, 0
	}
	return v, length
}

// refuse returns the error for an invalid text.
func (r *reader) refuse(at uint64, reason error, hint string) *InvalidError {
	return &InvalidError{Source: r.name, Place: r.Place(at), Reason: reason, Hint: hint}
}

// fault is a reason why a text is refused that is not about its encoding.
func fault(form, text, reason string, args ...any) error {
	return &snowfence.IDError{Form: form, Text: clip(text), Position: -1, Reason: fmt.Sprintf(reason, args...)}
}

// clip cuts a text for an error.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// hintOf guesses the origin of an invalid text.
func hintOf(line string, at uint64) string {
	switch foreign, err := decode.ReadForeign(line); {
	case err == nil && foreign != nil:
		return "it looks like one of more than 64 bits, a UUID for one: those are texts, and 'sort FILE | uniq -d' shows equal ones"
	case strings.ContainsFunc(line, endsLine):
		return "lines must end in LF or CR LF: tr '\\r' '\\n' converts lines that end in CR"
	case strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == utf8.RuneError }):
		return "it looks like no text in UTF-8: unpack or convert it, and check standard input"
	case ofSpreadsheet.MatchString(line):
		return "it looks like a number as a spreadsheet shows it, which may be rounded: let it export the column as text"
	case strings.ContainsAny(line, ",;\t|"):
		return "it looks like CSV: --column NAME or --column N reads a column of it"
	case at == 1 && strings.ContainsFunc(line, func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' || r > 0x7f }):
		return "if it is a header, --column NAME reads the column under it"
	}
	return ""
}

// ofSpreadsheet is a number with an exponent, groups of digits, a fraction or an apostrophe in front.
var ofSpreadsheet = regexp.MustCompile(`^('[0-9]+|[0-9]+([.,][0-9]+)?[eE]\+?[0-9]+|[0-9]{1,3}([.,' \x{a0}\x{202f}][0-9]{3}){2,}|[0-9]+[.,]0+)$`)

// endsLine reports whether a line ends there in other programs: at CR, VT, FF, NEL, LS and PS.
func endsLine(r rune) bool {
	return r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029
}
