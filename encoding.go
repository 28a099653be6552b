package snowfence

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// The fixed-width forms of an [ID] are for keys, file names and URLs. All texts of a form
// have one length, and their byte order is the order of the numbers.
//
//	form     width  alphabet in order of value
//	decimal  19     0-9
//	hex      16     0-9 a-f
//	base 32  13     0-9 A-Z without I L O U (Crockford)
//	base 62  11     0-9 A-Z a-z (ASCII order)
//
// Hex, base 32 and base 62 hold all 64 bits. Decimal holds 63. A negative ID takes 20
// digits: they sort wrongly, and [ParseFixedDecimal] refuses them.
const (
	decimalWidth = 19
	hexWidth     = 16
	base32Width  = 13
	base62Width  = 11

	hexDigits    = "0123456789abcdef"
	base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// FixedDecimal writes the id in 19 decimal digits, with leading zeros. A negative ID
// is written as its unsigned number, in 20 digits or 19.
func (id ID) FixedDecimal() string {
	return string(id.AppendFixedDecimal(make([]byte, 0, decimalWidth+1)))
}

// Hex writes the id in 16 lower-case hexadecimal digits.
func (id ID) Hex() string { return string(id.AppendHex(make([]byte, 0, hexWidth))) }

// Base32 writes the id in 13 digits of Crockford's base 32, upper-case
// (https://www.crockford.com/base32.html).
func (id ID) Base32() string { return string(id.AppendBase32(make([]byte, 0, base32Width))) }

// Base62 writes the id in 11 digits of base 62 in ASCII order: 0-9, A-Z, a-z.
func (id ID) Base62() string { return string(id.AppendBase62(make([]byte, 0, base62Width))) }

// AppendFixedDecimal appends the form of [ID.FixedDecimal].
func (id ID) AppendFixedDecimal(dst []byte) []byte {
	const zeros = "0000000000000000000"
	var buf [decimalWidth + 1]byte
	digits := strconv.AppendUint(buf[:0], uint64(id), 10)
	if len(digits) < decimalWidth {
		dst = append(dst, zeros[len(digits):]...)
	}
	return append(dst, digits...)
}

// AppendHex appends the form of [ID.Hex].
func (id ID) AppendHex(dst []byte) []byte {
	var buf [hexWidth]byte
	n := uint64(id)
	for i := hexWidth - 1; i >= 0; i-- {
		buf[i] = hexDigits[n&15]
		n >>= 4
	}
	return append(dst, buf[:]...)
}

// AppendBase32 appends the form of [ID.Base32].
func (id ID) AppendBase32(dst []byte) []byte {
	var buf [base32Width]byte
	n := uint64(id)
	for i := base32Width - 1; i >= 0; i-- {
		buf[i] = base32Digits[n&31]
		n >>= 5
	}
	return append(dst, buf[:]...)
}

// AppendBase62 appends the form of [ID.Base62].
func (id ID) AppendBase62(dst []byte) []byte {
	var buf [base62Width]byte
	n := uint64(id)
	for i := base62Width - 1; i >= 0; i-- {
		buf[i] = base62Digits[n%62]
		n /= 62
	}
	return append(dst, buf[:]...)
}

// ParseFixedDecimal reads the form of [ID.FixedDecimal]: exactly 19 digits, at most
// 9223372036854775807. An *[IDError] is returned for anything else.
func ParseFixedDecimal(s string) (ID, error) {
	return fixedForm{"fixed-width decimal", decimalWidth, 10, math.MaxInt64, decimalValue}.parse(s)
}

// ParseHex reads the form of [ID.Hex], exactly 16 digits, in either case. An
// *[IDError] is returned for anything else.
func ParseHex(s string) (ID, error) {
	return fixedForm{"hex", hexWidth, 16, math.MaxUint64, hexValue}.parse(s)
}

// ParseBase32 reads the form of [ID.Base32], exactly 13 digits. As Crockford's specification
// says, case does not matter, and I and L are read as 1, O as 0. Hyphens and check symbols
// are refused. An *[IDError] is returned for anything else and for a number of more than 64
// bits.
func ParseBase32(s string) (ID, error) {
	return fixedForm{"base32", base32Width, 32, math.MaxUint64, base32Value}.parse(s)
}

// ParseBase62 reads the form of [ID.Base62], exactly 11 digits; case matters.
// An *[IDError] is returned for anything else and for a number of more than 64
// bits.
func ParseBase62(s string) (ID, error) {
	return fixedForm{"base62", base62Width, 62, math.MaxUint64, base62Value}.parse(s)
}

// fixedForm is how a text of fixed width is read.
type fixedForm struct {
	name  string
	width int
	base  uint64
	limit uint64             // the largest number
	value func(c byte) uint8 // a digit's value, or noDigit
}

// noDigit is the value of a byte outside a form's alphabet.
const noDigit = math.MaxUint8

func (f fixedForm) parse(s string) (ID, error) {
	if len(s) != f.width {
		return 0, newIDError(f.name, s, -1, fmt.Sprintf("has %d bytes, not %d", len(s), f.width))
	}
	var n uint64
	for i := range len(s) {
		digit := f.value(s[i])
		if digit == noDigit {
			return 0, badByte(f.name, s, i, f.name+" digit")
		}
		high, low := bits.Mul64(n, f.base)
		low, carry := bits.Add64(low, uint64(digit), 0)
		if high+carry != 0 || low > f.limit {
			return 0, newIDError(f.name, s, -1, fmt.Sprintf("is above %d", f.limit))
		}
		n = low
	}
	return ID(n), nil
}

func decimalValue(c byte) uint8 {
	if '0' <= c && c <= '9' {
		return c - '0'
	}
	return noDigit
}

func hexValue(c byte) uint8 {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return noDigit
}

func base32Value(c byte) uint8 {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'H':
		return c - 'A' + 10
	case c == 'I' || c == 'L':
		return 1
	case c == 'J' || c == 'K':
		return c - 'J' + 18
	case c == 'M' || c == 'N':
		return c - 'M' + 20
	case c == 'O':
		return 0
	case 'P' <= c && c <= 'T':
		return c - 'P' + 22
	case 'V' <= c && c <= 'Z':
		return c - 'V' + 27
	}
	return noDigit
}

func base62Value(c byte) uint8 {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'Z':
		return c - 'A' + 10
	case 'a' <= c && c <= 'z':
		return c - 'a' + 36
	}
	return noDigit
}
