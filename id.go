package snowfence

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
)

// ID is a unique 64-bit number. The [Layout] of its namespace gives its bits their meaning:
//
//	 63 62                                     0
//	+--+----------------------------------------+
//	| 0| time · datacenter · worker · sequence  |   one order of many
//	+--+----------------------------------------+
//
// Ids are minted in 63 bits, so they are never negative and order as signed and
// as unsigned numbers alike. A few other systems number with the 64th bit too
// (see [Layout.Unsigned]); their late ids are negative as an int64. Every form
// takes such an ID as its unsigned number:
//
//   - [ID.String] and the hex, base 32, base 62 and binary forms write it, and
//     the last four read it back and keep the order.
//   - [Parse], text and JSON are for ids of 63 bits: they refuse it in both
//     directions, so that a stray negative number is noticed where it leaves
//     or enters a program. [ParseUnsigned] reads it.
//   - A database's signed 64-bit column stores and returns its bits unchanged.
//
// The zero ID is an id like any other. An ID is a plain value: copy, compare
// and convert it freely.
type ID int64

// MaxID is the largest ID that is ever minted, 2^63 - 1.
const MaxID ID = math.MaxInt64

// ErrInvalidID is wrapped by every *[IDError]: a text or value is not an id, or not an id of
// the layout.
var ErrInvalidID = NewError(ClassInvalidID, "snowfence: invalid id")

// IDError says why a text or value is not an [ID]. It wraps [ErrInvalidID].
type IDError struct {
	// Form is the expected form: "decimal", "hex", "JSON" …
	Form string
	// Text is what was read, cut to its first 64 bytes.
	Text string
	// Position is the offset of the first byte at fault, or -1 for the whole text.
	Position int
	// Reason says what is wrong, with the limit where there is one.
	Reason string
}

// maxErrorText bounds how much of a foreign text an error carries.
const maxErrorText = 64

// Error names the form, the text, the position and the reason.
func (e *IDError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("%v %q: %s: %s", ErrInvalidID, e.Text, e.Form, e.Reason)
	}
	return fmt.Sprintf("%v %q: %s: position %d: %s", ErrInvalidID, e.Text, e.Form, e.Position, e.Reason)
}

// Unwrap returns [ErrInvalidID].
func (e *IDError) Unwrap() error { return ErrInvalidID }

// Parse reads an id as [ID.String] writes it: decimal digits, 0 to 9223372036854775807,
// without sign, leading zero or blank. So an id has one spelling only. An *[IDError] is
// returned for anything else.
func Parse(s string) (ID, error) { return parseNumber(s, math.MaxInt64) }

// ParseUnsigned is [Parse] for the ids of systems with a 64th bit: it reads 0 to
// 18446744073709551615. A number above [MaxID] becomes a negative ID. An *[IDError] is
// returned for anything else.
func ParseUnsigned(s string) (ID, error) { return parseNumber(s, math.MaxUint64) }

// text is what the parsers read: strings and byte slices without a copy.
type text interface{ ~string | ~[]byte }

// parseNumber reads canonical decimal digits up to limit.
func parseNumber[T text](s T, limit uint64) (ID, error) {
	const form = "decimal"
	if len(s) == 0 {
		return 0, &IDError{form, "", -1, "is empty"}
	}
	var n uint64
	for i := 0; i < len(s); i++ {
		digit := uint64(s[i] - '0')
		if digit > 9 {
			return 0, badByte(form, s, i, "decimal digit")
		}
		// n*10 + digit <= limit, without overflowing on the way.
		if n > (limit-digit)/10 {
			return 0, newIDError(form, s, -1, fmt.Sprintf("is above %d", limit))
		}
		n = n*10 + digit
	}
	if s[0] == '0' && len(s) > 1 {
		return 0, newIDError(form, s, 0, "has a leading zero")
	}
	return ID(n), nil
}

func newIDError[T text](form string, s T, position int, reason string) error {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	return &IDError{form, string(s), position, reason}
}

func badByte[T text](form string, s T, position int, want string) error {
	return newIDError(form, s, position, fmt.Sprintf("%q is no %s", s[position], want))
}

// String writes the id in decimal, as [Parse] reads it. A negative ID is
// written as its unsigned number, which only [ParseUnsigned] reads.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// LogValue logs the id as a string, so that no reader of JSON logs rounds it.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }
