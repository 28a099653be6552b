package decode

import (
	"cmp"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// ReadWide reads an id of a wide layout: a UUID or hexadecimal digits. A [*snowfence.IDError] is
// returned for a text that is none, or is no id of the layout.
func ReadWide(s string, l snowfence.Layout) (*Document, error) {
	id, err := snowfence.ParseWide(s)
	if err != nil {
		return nil, err
	}
	parts, err := l.DecomposeWide(id)
	if err != nil {
		return nil, err
	}
	d := &Document{ID: l.Text(id), Format: "wide", Fields: cut(FieldsOf(l), id[:]), Encodings: Encodings{Hex: hex.EncodeToString(id[:])}}
	if l.UUID() {
		d.Format, d.Version = "uuid", int(id[6]>>4)
	}
	d.stamp(l, parts)
	return d, nil
}

// ReadForeign reads a UUID (32 hex digits, with or without hyphens; with them also in braces or
// after urn:uuid:), a ULID (26 Crockford digits) or an ObjectID (24 hex digits), in either case.
// It returns nil and no error for a text of another length, which no such id has. A
// [*snowfence.IDError] is returned for any other text that is none.
func ReadForeign(s string) (d *Document, err error) {
	switch len(s) {
	case 24:
		d, err = readObjectID(s)
	case 26:
		d, err = readULID(s)
	case 32, 36, 38, 45:
		d, err = readUUID(s)
	}
	if d == nil || err != nil {
		return nil, err
	}
	if d.At = d.At.UTC(); !d.At.IsZero() {
		d.Time = FormatTime(d.At, d.Unit)
	}
	return d, nil
}

// readObjectID reads the format that MongoDB specifies.
func readObjectID(s string) (*Document, error) {
	id, err := hex.DecodeString(s)
	if err != nil {
		return nil, &snowfence.IDError{Form: "ObjectID", Text: s, Position: -1, Reason: "must have 24 hexadecimal digits"}
	}
	return &Document{
		ID: strings.ToLower(s), Format: "objectid", About: "time, five bytes of the process, counter",
		At: time.Unix(int64(binary.BigEndian.Uint32(id)), 0), Unit: time.Second,
		Fields: cut(fieldsIn("time:time:32 process:random:40 counter:sequence:24"), id), Encodings: Encodings{Hex: hex.EncodeToString(id)},
	}, nil
}

// readULID reads the format of github.com/ulid/spec.
func readULID(s string) (*Document, error) {
	// With six zeros in front these are 20 whole bytes.
	id, err := base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").DecodeString("000000" + strings.ToUpper(s))
	if err != nil || len(id) != 20 || s[0] > '7' {
		return nil, &snowfence.IDError{Form: "ULID", Text: s, Position: -1, Reason: "must have 26 digits of 0 to 9 and A to Z without I, L, O and U, the first of them at most 7"}
	}
	id = id[4:]
	return &Document{
		ID: strings.ToUpper(s), Format: "ulid", About: "time and random bits",
		At: time.UnixMilli(int64(binary.BigEndian.Uint64(id) >> 16)), Unit: time.Millisecond,
		Fields: cut(fieldsIn("time:time:48 random:random:80"), id), Encodings: Encodings{Hex: hex.EncodeToString(id)},
	}, nil
}

// readUUID reads the formats of RFC 9562. The version is in the upper bits of the seventh byte,
// the variant in the ninth's.
func readUUID(s string) (*Document, error) {
	lower := strings.ToLower(s)
	id, err := hex.DecodeString(strings.NewReplacer("urn:uuid:", "", "{", "", "-", "", "}", "").Replace(lower))
	d := &Document{Format: "uuid", Encodings: Encodings{Hex: hex.EncodeToString(id)}}
	if err == nil && len(id) == 16 {
		d.ID = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	if d.ID == "" || !slices.Contains([]string{d.ID, d.Encodings.Hex, "{" + d.ID + "}", "urn:uuid:" + d.ID}, lower) {
		return nil, &snowfence.IDError{Form: "UUID", Text: s, Position: -1, Reason: "must have 32 hexadecimal digits, in groups of 8-4-4-4-12 or in one"}
	}
	table := "data:random:128"
	if variant := strings.Fields("NCS NCS NCS NCS . . Microsoft future")[id[8]>>5]; variant == "." {
		table = d.readVersion(id)
	} else {
		special := map[string]string{strings.Repeat("0", 32): "nil: every bit is 0", strings.Repeat("f", 32): "max: every bit is 1"}
		d.About = cmp.Or(special[d.Encodings.Hex], "not of RFC 9562 but of variant "+variant+", no known fields")
	}
	d.Fields = cut(fieldsIn(table), id)
	return d, nil
}

// readVersion reads the version and the time, and returns the fields. The time of version 2 is not whole.
func (d *Document) readVersion(id []byte) (table string) {
	d.Version = int(id[6] >> 4)
	d.About = cmp.Or([16]string{
		1: "Gregorian time, clock sequence, node", 2: "DCE security, no whole time", 3: "MD5 of a name, no time", 4: "random bits, no time",
		5: "SHA-1 of a name, no time", 6: "Gregorian time, clock sequence, node", 7: "Unix time, random bits", 8: "custom, no known time",
	}[d.Version], "unknown version")
	upper := binary.BigEndian.Uint64(id)
	const gregorian = " variant:variant:2 clock_seq:sequence:14 node:random:48"
	switch d.Version {
	case 1:
		upper = upper&0xfff<<48 | upper>>16&0xffff<<32 | upper>>32
		table = "time_low:time:32 time_mid:time:16 version:version:4 time_high:time:12" + gregorian
	case 6:
		upper = upper>>32<<28 | upper>>16&0xffff<<12 | upper&0xfff
		table = "time_high:time:32 time_mid:time:16 version:version:4 time_low:time:12" + gregorian
	case 7:
		d.At, d.Unit = time.UnixMilli(int64(upper>>16)), time.Millisecond
		return "time:time:48 version:version:4 random:random:12 variant:variant:2 random:random:62"
	default:
		name := cmp.Or([16]string{3: "hash", 4: "random", 5: "hash"}[d.Version], "data")
		return name + ":random:48 version:version:4 " + name + ":random:12 variant:variant:2 " + name + ":random:62"
	}
	// Units of 100 ns since 1582-10-15, when the Gregorian calendar began.
	const second, unix = 10_000_000, 12_219_292_800
	d.At, d.Unit = time.Unix(int64(upper/second)-unix, int64(upper%second)*100), 100*time.Nanosecond
	return table
}
