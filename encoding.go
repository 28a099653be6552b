package snowfence

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
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

	decimalDigits = "0123456789"
	hexDigits     = "0123456789abcdef"
	base32Digits  = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	base62Digits  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
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
func (id ID) AppendHex(dst []byte) []byte { return appendDigits(dst, uint64(id), hexDigits, hexWidth) }

// AppendBase32 appends the form of [ID.Base32].
func (id ID) AppendBase32(dst []byte) []byte {
	return appendDigits(dst, uint64(id), base32Digits, base32Width)
}

// AppendBase62 appends the form of [ID.Base62].
func (id ID) AppendBase62(dst []byte) []byte {
	return appendDigits(dst, uint64(id), base62Digits, base62Width)
}

// appendDigits appends the last digits of n. The compiler inlines it, and so divides by a constant.
func appendDigits(dst []byte, n uint64, digits string, width int) []byte {
	var buf [hexWidth]byte // hex is the widest
	base := uint64(len(digits))
	for i := width - 1; i >= 0; i-- {
		buf[i] = digits[n%base]
		n /= base
	}
	return append(dst, buf[:width]...)
}

// ParseFixedDecimal reads the form of [ID.FixedDecimal]: exactly 19 digits, at most
// 9223372036854775807. An *[IDError] is returned for anything else.
func ParseFixedDecimal(s string) (ID, error) {
	return fixedForm{"fixed-width decimal", decimalWidth, decimalDigits, math.MaxInt64, nil}.parse(s)
}

// ParseHex reads the form of [ID.Hex], exactly 16 digits, in either case. An
// *[IDError] is returned for anything else.
func ParseHex(s string) (ID, error) {
	return fixedForm{"hex", hexWidth, hexDigits, math.MaxUint64, foldHex}.parse(s)
}

// ParseBase32 reads the form of [ID.Base32], exactly 13 digits. As in Crockford's specification,
// case does not matter, and I and L are read as 1, O as 0. Hyphens and check symbols are refused.
// An *[IDError] is returned for anything else and for a number of more than 64 bits.
func ParseBase32(s string) (ID, error) {
	return fixedForm{"base32", base32Width, base32Digits, math.MaxUint64, foldBase32}.parse(s)
}

// ParseBase62 reads the form of [ID.Base62], exactly 11 digits; case matters. An *[IDError] is
// returned for anything else and for a number of more than 64 bits.
func ParseBase62(s string) (ID, error) {
	return fixedForm{"base62", base62Width, base62Digits, math.MaxUint64, nil}.parse(s)
}

// fixedForm is how a text of fixed width is read.
type fixedForm struct {
	name   string
	width  int
	digits string            // in order of value
	limit  uint64            // the largest number
	fold   func(c byte) byte // the digit that another byte is read as; nil for none
}

func (f fixedForm) parse(s string) (ID, error) {
	if len(s) != f.width {
		return 0, newIDError(f.name, s, -1, fmt.Sprintf("has %d bytes, not %d", len(s), f.width))
	}
	var n uint64
	for i := range len(s) {
		digit := strings.IndexByte(f.digits, s[i])
		if digit < 0 && f.fold != nil {
			digit = strings.IndexByte(f.digits, f.fold(s[i]))
		}
		if digit < 0 {
			return 0, badByte(f.name, s, i, f.name+" digit")
		}
		high, low := bits.Mul64(n, uint64(len(f.digits)))
		low, carry := bits.Add64(low, uint64(digit), 0)
		if high+carry != 0 || low > f.limit {
			return 0, newIDError(f.name, s, -1, fmt.Sprintf("is above %d", f.limit))
		}
		n = low
	}
	return ID(n), nil
}

func foldHex(c byte) byte {
	if 'A' <= c && c <= 'F' {
		c += 'a' - 'A'
	}
	return c
}

func foldBase32(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch c {
	case 'I', 'L':
		return '1'
	case 'O':
		return '0'
	}
	return c
}
