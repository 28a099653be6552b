package opaque

import (
	"strings"

	"snowfence.example/snowfence"
)

// Checked writes an id for people who read it aloud or type it: 13 digits of Crockford's base 32
// and a check character, the id modulo 37 (https://www.crockford.com/base32.html). Decode reads
// lower case too, I and L as 1, O as 0, and hyphens anywhere.
//
//	1ASD13XH1F800   B
//	|               +- a digit or one of *~$=U
//	+----------------- the form of snowfence.ID.Base32
//
// One wrong character is refused, and so is a swap of two neighbours: 37 is a prime, and neither
// changes the id by a multiple of it. Of other changes 1 in 37 passes.
//
// Security: none. The text is the id in other digits, and anyone can compute the check.
//
// The zero Checked is ready to use.
type Checked struct{}

const (
	checkedWidth = 14
	checkSymbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U" // in order of value
)

// Encode writes the 14 characters. A *[snowfence.IDError] is returned for a negative id.
func (Checked) Encode(id snowfence.ID) (string, error) {
	if err := checkID("checked", true, id); err != nil {
		return "", err
	}
	text := id.AppendBase32(make([]byte, 0, checkedWidth))
	return string(append(text, checkSymbols[id%snowfence.ID(len(checkSymbols))])), nil
}

// Decode reads the 14 characters, in each of the spellings. A *[snowfence.IDError] is returned for
// anything else. Its text and position are those of the text without hyphens.
func (c Checked) Decode(text string) (snowfence.ID, error) {
	text = strings.ReplaceAll(text, "-", "")
	if len(text) != checkedWidth {
		return 0, invalid("checked", text, -1, "has %d bytes without hyphens, not %d", len(text), checkedWidth)
	}
	const last = checkedWidth - 1
	id, err := snowfence.ParseBase32(text[:last])
	if err != nil {
		return 0, err
	}
	check := strings.ToUpper(text[last:])
	if i := strings.Index("ILO", check); i >= 0 {
		check = "110"[i : i+1]
	}
	if written, err := c.Encode(id); err != nil {
		return 0, err
	} else if written[last:] != check {
		return 0, invalid("checked", text, last, "the check character does not fit the digits")
	}
	return id, nil
}
