package snowfence

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// AppendText appends the form of [ID.String]. An *[IDError] is returned, and
// nothing appended, for a negative ID, which UnmarshalText would refuse.
func (id ID) AppendText(dst []byte) ([]byte, error) {
	if id < 0 {
		return dst, &IDError{"text", id.String(), -1, "has the 64th bit set; the limit is 63 bits"}
	}
	return strconv.AppendInt(dst, int64(id), 10), nil
}

// MarshalText returns the form of [ID.AppendText], with its errors.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, decimalWidth))
}

// UnmarshalText reads as [Parse] does, with its errors.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := parseNumber(text, math.MaxInt64)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MarshalJSON writes the id as a JSON string of decimal digits: JSON numbers
// above 2^53 are rounded by JavaScript and by many other readers. An *[IDError]
// is returned for a negative ID.
func (id ID) MarshalJSON() ([]byte, error) {
	dst := append(make([]byte, 0, decimalWidth+2), '"')
	dst, err := id.AppendText(dst)
	if err != nil {
		return nil, err
	}
	return append(dst, '"'), nil
}

// UnmarshalJSON reads a JSON string as [Parse] does, without escapes, or a JSON
// integer, exactly: 9007199254740993 stays 2^53 + 1. An *[IDError] is returned
// for anything else, a fraction or an exponent included, and for null, which
// only a [NullID] can hold.
func (id *ID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return &IDError{"JSON", "null", -1, "null is no id; read it into a NullID"}
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	return id.UnmarshalText(data)
}

// binaryWidth is the length of the binary form in bytes.
const binaryWidth = 8

// AppendBinary appends the id's 8 bytes, the highest first, so that binary keys
// sort as the numbers do. It never fails.
func (id ID) AppendBinary(dst []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(id)), nil
}

// MarshalBinary returns the form of [ID.AppendBinary]. It never fails.
func (id ID) MarshalBinary() ([]byte, error) {
	return id.AppendBinary(make([]byte, 0, binaryWidth))
}

// UnmarshalBinary reads the form of MarshalBinary. An *[IDError] is returned
// when there are not exactly 8 bytes.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != binaryWidth {
		return newIDError("binary", data, -1, fmt.Sprintf("has %d bytes, not %d", len(data), binaryWidth))
	}
	*id = ID(binary.BigEndian.Uint64(data))
	return nil
}
