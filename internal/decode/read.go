package decode

import (
	"slices"
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

// Encodings is one id in every encoding.
type Encodings struct {
	Decimal      string `json:"decimal"`
	FixedDecimal string `json:"fixed_decimal"`
	Hex          string `json:"hex"`
	Base32       string `json:"base32"`
	Base62       string `json:"base62"`
}

// Encode writes an id in every encoding.
func Encode(id snowfence.ID) Encodings {
	return Encodings{id.String(), id.FixedDecimal(), id.Hex(), id.Base32(), id.Base62()}
}

// Reading is one number that a text may stand for.
type Reading struct {
	ID       snowfence.ID `json:"-"`
	Text     string       `json:"id"` // the ID in plain decimal
	Encoding Encoding     `json:"encoding"`
}

// hexPrefix marks a hexadecimal number beyond doubt.
const hexPrefix = "0x"

// maxText is how much of a text an error carries, as [snowfence.IDError] has it.
const maxText = 64

// Read returns the ids that a text may stand for, the likeliest first: decimal, then
// the encoding whose fixed width the text has (hex 16, base32 13, base62 11), then hex
// of another length, if it has a letter. With 0x in front it is hex and nothing else.
// An error that wraps [snowfence.ErrInvalidID] is returned for any other text.
func Read(s string) ([]Reading, error) {
	if hasHexPrefix(s) {
		return Readings(s, Hex)
	}
	var readings []Reading
	for _, e := range EncodingNames() {
		if e == Hex && len(s) != hexWidth {
			continue
		}
		if r, err := ReadAs(s, e); err == nil && !slices.ContainsFunc(readings, func(x Reading) bool { return x.ID == r.ID }) {
			readings = append(readings, r)
		}
	}
	if len(readings) > 0 {
		return readings, nil
	}
	if strings.ContainsAny(s, "abcdefABCDEF") {
		if r, err := ReadAs(s, Hex); err == nil {
			return []Reading{r}, nil
		}
	}
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return Readings(s, Decimal) // for its error
	}
	return nil, &snowfence.IDError{
		Form: "any encoding", Text: s[:min(len(s), maxText)], Position: -1,
		Reason: "is neither decimal nor hex, nor base32 of 13 or base62 of 11 digits",
	}
}

// Readings reads a text in one encoding, by [ReadAs], or without one in any, by [Read]. Then hex of less
// than 16 digits needs 0x in front: a short text of such letters is more often a word.
func Readings(s string, e Encoding) ([]Reading, error) {
	if e == "" {
		readings, err := Read(s)
		if err == nil && readings[0].Encoding == Hex && len(s) < hexWidth && !hasHexPrefix(s) {
			err = &snowfence.IDError{Form: "any encoding", Text: s, Position: -1, Reason: "may be hex, but has less than 16 digits: write 0x" + s + ", or say the encoding"}
		}
		return readings, err
	}
	r, err := ReadAs(s, e)
	if err != nil {
		return nil, err
	}
	return []Reading{r}, nil
}

// hexWidth is how many digits hex has when nothing is left out.
const hexWidth = 16

// ReadAs reads a text in one encoding: decimal plain or in 19 digits; hex in 1 to 16
// digits, with or without 0x; base32 and base62 in their fixed widths. Numbers may have
// 64 bits. All else is an error that wraps [snowfence.ErrInvalidID].
func ReadAs(s string, e Encoding) (Reading, error) {
	var id snowfence.ID
	var err error
	switch e {
	case Hex:
		id, err = readHex(s)
	case Base32:
		id, err = snowfence.ParseBase32(s)
	case Base62:
		id, err = snowfence.ParseBase62(s)
	default:
		id, err = readDecimal(s)
	}
	if err != nil {
		return Reading{}, err
	}
	return Reading{ID: id, Text: id.String(), Encoding: e}, nil
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
