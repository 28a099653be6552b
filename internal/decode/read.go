package decode

import (
	"strings"

	"snowfence.example/snowfence"
)

// Encoding is a way to write an id as text.
type Encoding string

// The encodings, as --encoding names them. [Decimal] is read in the plain form
// and in the fixed width of 19 digits, and written in the plain form.
const (
	Decimal Encoding = "decimal"
	Hex     Encoding = "hex"
	Base32  Encoding = "base32"
	Base62  Encoding = "base62"
)

// EncodingNames are the names of all encodings.
func EncodingNames() []Encoding { return []Encoding{Decimal, Hex, Base32, Base62} }

// Text writes an id: in plain decimal, or in the fixed width of the other encodings.
func (e Encoding) Text(id snowfence.ID) string {
	switch e {
	case Hex:
		return id.Hex()
	case Base32:
		return id.Base32()
	case Base62:
		return id.Base62()
	default:
		return id.String()
	}
}

// Encodings is one id in every encoding. Ids other than numbers under a layout have Hex alone.
type Encodings struct {
	Decimal      string `json:"decimal,omitempty"`
	FixedDecimal string `json:"fixed_decimal,omitempty"`
	Hex          string `json:"hex"`
	Base32       string `json:"base32,omitempty"`
	Base62       string `json:"base62,omitempty"`
}

// Encode writes an id in every encoding.
func Encode(id snowfence.ID) Encodings {
	return Encodings{id.String(), id.FixedDecimal(), id.Hex(), id.Base32(), id.Base62()}
}

// hexPrefix marks a hexadecimal number beyond doubt.
const hexPrefix = "0x"

// maxText is how much of a text an error carries, as [snowfence.IDError] has it.
const maxText = 64

// Read reads a text in one encoding, by [ReadAs], or without one in the likeliest, which it returns: decimal, then the
// encoding whose fixed width the text has (hex 16, base32 13, base62 11). With 0x in front it is hex and nothing else.
// Hex of less than 16 digits needs that: a short text of such letters is more often a word.
// An error that wraps [snowfence.ErrInvalidID] is returned for any other text.
func Read(s string, e Encoding) (snowfence.ID, Encoding, error) {
	if e == "" && hasHexPrefix(s) {
		e = Hex
	}
	if e != "" {
		id, err := ReadAs(s, e)
		return id, e, err
	}
	for _, e := range EncodingNames() {
		if id, err := ReadAs(s, e); err == nil && (e != Hex || len(s) == hexWidth) {
			return id, e, nil
		}
	}
	reason := "is neither decimal nor hex, nor base32 of 13 or base62 of 11 digits"
	if s != "" && strings.Trim(s, "0123456789") == "" {
		_, err := ReadAs(s, Decimal) // for its error
		return 0, "", err
	}
	if _, err := readHex(s); err == nil {
		reason = "may be hex, but has less than 16 digits: write 0x" + s + ", or say the encoding"
	}
	return 0, "", &snowfence.IDError{Form: "any encoding", Text: s[:min(len(s), maxText)], Position: -1, Reason: reason}
}

// hexWidth is how many digits hex has when nothing is left out.
const hexWidth = 16

// ReadAs reads a text in one encoding: decimal plain or in 19 digits; hex in 1 to 16
// digits, with or without 0x; base32 and base62 in their fixed widths. Numbers may have
// 64 bits. All else is an error that wraps [snowfence.ErrInvalidID].
func ReadAs(s string, e Encoding) (snowfence.ID, error) {
	switch e {
	case Hex:
		return readHex(s)
	case Base32:
		return snowfence.ParseBase32(s)
	case Base62:
		return snowfence.ParseBase62(s)
	}
	return readDecimal(s)
}

// readDecimal takes the fixed width only where the plain form fails, for its
// leading zeros: the error of the plain form is the one that people expect.
func readDecimal(s string) (snowfence.ID, error) {
	id, err := snowfence.ParseUnsigned(s)
	if err == nil {
		return id, nil
	}
	if fixed, fixedErr := snowfence.ParseFixedDecimal(s); fixedErr == nil {
		return fixed, nil
	}
	return 0, err
}

// readHex fills up to the fixed width.
func readHex(s string) (snowfence.ID, error) {
	digits := s
	if hasHexPrefix(s) {
		digits = s[len(hexPrefix):]
	}
	if digits == "" {
		return 0, &snowfence.IDError{Form: "hex", Text: s, Position: -1, Reason: "has no digits"}
	}
	return snowfence.ParseHex(strings.Repeat("0", max(0, hexWidth-len(digits))) + digits)
}

// hasHexPrefix reports a leading 0x or 0X.
func hasHexPrefix(s string) bool {
	return len(s) >= len(hexPrefix) && strings.EqualFold(s[:len(hexPrefix)], hexPrefix)
}
