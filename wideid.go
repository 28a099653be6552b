package snowfence

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// WideID is a unique number of up to 128 bits, for a wide [Layout]. Its bytes stand with the
// highest first, so they sort as the numbers do. Under the preset uuid8 it is a UUID of version 8:
//
//	 127                  80 79  76 75       64 63 62 61      42 41       0
//	+----------------------+------+------------+-----+----------+----------+
//	| time: 48 bits of ms  | 1000 | sequence:12| 10  |worker: 20|random: 42|
//	+----------------------+------+------------+-----+----------+----------+
//
// Under the preset objectid the low 96 bits are an ObjectID of MongoDB:
//
//	 127       96 95            64 63              24 23        0
//	+------------+----------------+------------------+-----------+
//	|     0      | time: 32 bits s|    worker: 40    |sequence:24|
//	+------------+----------------+------------------+-----------+
//
// Time, worker number and sequence make it unique. The random bits only make it hard to guess:
// with 42 of them, one guess in 4·10^12 is right. They are no secret, see [GeneratorConfig].
//
// A WideID is a plain value, and converts to and from the [16]byte types of UUID packages. Text,
// JSON and databases have it as a UUID; see [Layout.Text] for the other spelling.
type WideID [16]byte

// uuidWidth is the length of a UUID's text.
const uuidWidth = 36

// id returns the number as bytes.
func (w uint128) id() (id WideID) {
	binary.BigEndian.PutUint64(id[:8], w.high)
	binary.BigEndian.PutUint64(id[8:], w.low)
	return id
}

func (id WideID) number() uint128 {
	return uint128{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])}
}

// ParseWide reads a WideID: 32 hexadecimal digits with the hyphens of a UUID, or up to 32 digits
// without, in either case. An *[IDError] is returned for anything else.
func ParseWide(s string) (id WideID, err error) {
	const form = "wide"
	digits := s
	if len(s) == uuidWidth {
		for _, i := range [...]int{8, 13, 18, 23} {
			if s[i] != '-' {
				return WideID{}, badByte(form, s, i, "hyphen")
			}
		}
		digits = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(digits) == 0 || len(digits) > 2*len(id) {
		return WideID{}, newIDError(form, s, -1, "must be a UUID, or 1 to 32 hexadecimal digits")
	}
	digits = strings.Repeat("0", 2*len(id)-len(digits)) + digits
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return WideID{}, newIDError(form, s, -1, "has a byte that is no hexadecimal digit")
	}
	return id, nil
}

// Text returns an id of the layout as its readers expect it: a UUID for a layout with a version,
// otherwise as many hexadecimal digits as the layout's bits need, so 24 for an ObjectID. Those
// texts sort as the ids do. [ParseWide] reads both. No text has 16 bytes, which [WideID.Scan] takes
// as they are: where 16 digits are needed, there are 17.
func (l Layout) Text(id WideID) string {
	return string(l.AppendID(make([]byte, 0, uuidWidth), id))
}

// AppendID appends the form of [Layout.Text].
func (l Layout) AppendID(dst []byte, id WideID) []byte {
	if l.UUID() {
		dst, _ = id.AppendText(dst)
		return dst
	}
	var digits [2 * len(id)]byte
	hex.Encode(digits[:], id[:])
	width := (l.TotalBits() + 3) / 4
	if width == len(id) {
		width++ // databases give a text and the bytes of an id in the same way
	}
	return append(dst, digits[len(digits)-width:]...)
}

// String returns the text of a UUID: 32 lower-case hexadecimal digits with hyphens.
func (id WideID) String() string {
	text, _ := id.AppendText(make([]byte, 0, uuidWidth))
	return string(text)
}

// AppendText appends the form of [WideID.String]. It never fails.
func (id WideID) AppendText(dst []byte) ([]byte, error) {
	from := 0
	for _, to := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[from:to])
		from = to
	}
	return dst, nil
}

// MarshalText returns the form of [WideID.String]. It never fails. JSON has it as a string.
func (id WideID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText reads as [ParseWide] does, with its errors.
func (id *WideID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseWide(string(text))
	return err
}

// UnmarshalJSON reads a JSON string as [ParseWide] does, without escapes. An *[IDError] is returned
// for anything else, and for null, which only a *WideID can hold.
func (id *WideID) UnmarshalJSON(data []byte) error {
	n := len(data)
	switch {
	case string(data) == "null":
		return &IDError{"JSON", "null", -1, "null is no id; read it into a *WideID"}
	case n < 2 || data[0] != '"' || data[n-1] != '"':
		return newIDError("JSON", data, -1, "must be a string: a number would be rounded")
	}
	return id.UnmarshalText(data[1 : n-1])
}

// Value hands the id to a database as a UUID's text, for columns of type UUID or CHAR(36). It
// implements [driver.Valuer] and never fails. For a column of 16 bytes give id[:].
func (id WideID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads an id from a database: 16 bytes as they are, a text as [ParseWide] does. It
// implements [database/sql.Scanner]. An *[IDError] is returned for anything else, and for NULL;
// a sql.Null[WideID] holds that.
func (id *WideID) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		if len(v) == len(id) {
			copy(id[:], v)
			return nil
		}
		return id.UnmarshalText(v)
	case string:
		return id.UnmarshalText([]byte(v))
	case nil:
		return &IDError{"database value", "NULL", -1, "NULL is no id; scan it into a sql.Null[WideID]"}
	}
	return newIDError("database value", fmt.Sprint(src), -1, fmt.Sprintf("a %T can't hold a wide id", src))
}
