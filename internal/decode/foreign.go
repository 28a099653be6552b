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

// Foreign is the reading of a UUID, a ULID or an ObjectID, without a layout, or a wide id
// under its layout, or the number of a kind without layouts. It is the JSON form, too, by the rules
// of [Document].
type Foreign struct {
	ID     string `json:"id"`     // as its system writes it
	Format string `json:"format"` // "uuid", "ulid", "objectid", "number", "text", or "wide" under a layout
	// Version is that of a UUID, if it is one of RFC 9562, which has 1 to 8.
	Version int `json:"version,omitempty"`
	// About describes in words the id's making, or its layout.
	About string `json:"about"`
	// Time is RFC 3339 in UTC, by [FormatTime], and absent if the id has none.
	Time string `json:"time,omitempty"`
	// Fields are its other bits: numbers in decimal, the rest in hexadecimal. That
	// of a UUID's variant is "ncs", "rfc9562", "microsoft" or "future".
	Fields []ForeignField `json:"fields"`
	Hex    string         `json:"hex"`
	// Generator is the one whose id it is, if it was named.
	Generator string `json:"generator,omitempty"`

	Bytes []byte        `json:"-"` // 12 of an ObjectID without a layout, else 16; none of a number or a text
	At    time.Time     `json:"-"` // zero if the id has no time
	Unit  time.Duration `json:"-"` // of the time

	layout snowfence.Layout // of a wide id, else zero
	parts  snowfence.Parts  // by the layout
}

// ForeignField is a field of an id, by its name in the specification.
type ForeignField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ReadWide reads an id of a wide layout: a UUID or hexadecimal digits. A [*snowfence.IDError] is
// returned for a text that is none, or is no id of the layout.
func ReadWide(s string, l snowfence.Layout) (*Foreign, error) {
	id, err := snowfence.ParseWide(s)
	if err != nil {
		return nil, err
	}
	parts, err := l.DecomposeWide(id)
	if err != nil {
		return nil, err
	}
	f := &Foreign{ID: l.Text(id), Format: "wide", About: l.String(), Bytes: id[:], Hex: hex.EncodeToString(id[:]), At: l.TimeOf(parts.Tick), Unit: l.Unit, layout: l, parts: parts}
	f.Time = FormatTime(f.At, f.Unit)
	if l.UUID() {
		f.Format, f.Version = "uuid", int(id[6]>>4)
	}
	for _, field := range l.Fields {
		switch field.Kind {
		case snowfence.Time, snowfence.Version, snowfence.Variant:
		default:
			f.Fields = append(f.Fields, ForeignField{field.Word(), fmt.Sprint(parts.Value(field.Kind))})
		}
	}
	return f, nil
}

// ReadForeign reads a UUID (32 hex digits, with or without hyphens; with them also in braces or
// after urn:uuid:), a ULID (26 Crockford digits) or an ObjectID (24 hex digits), in either case.
// It returns nil and no error for a text of another length, which no such id has. A
// [*snowfence.IDError] is returned for any other text that is none.
func ReadForeign(s string) (f *Foreign, err error) {
	switch len(s) {
	case 24:
		f, err = readObjectID(s)
	case 26:
		f, err = readULID(s)
	case 32, 36, 38, 45:
		f, err = readUUID(s)
	}
	if f == nil || err != nil {
		return nil, err
	}
	f.Hex = hex.EncodeToString(f.Bytes)
	if f.At = f.At.UTC(); !f.At.IsZero() {
		f.Time = FormatTime(f.At, f.Unit)
	}
	return f, nil
}

// readObjectID reads the format that MongoDB specifies.
//
//	time in s 32 · random 40 · counter 24
func readObjectID(s string) (*Foreign, error) {
	id, err := hex.DecodeString(s)
	if err != nil {
		return nil, &snowfence.IDError{Form: "ObjectID", Text: s, Position: -1, Reason: "must have 24 hexadecimal digits"}
	}
	return &Foreign{
		ID: strings.ToLower(s), Format: "objectid", About: "time, five bytes of the process, counter",
		At: time.Unix(int64(binary.BigEndian.Uint32(id)), 0), Unit: time.Second, Bytes: id,
		Fields: []ForeignField{{"random", hex.EncodeToString(id[4:9])}, {"counter", fmt.Sprint(binary.BigEndian.Uint32(id[8:]) & (1<<24 - 1))}},
	}, nil
}

// readULID reads the format of github.com/ulid/spec.
//
//	time in ms 48 · random 80
func readULID(s string) (*Foreign, error) {
	// With six zeros in front these are 20 whole bytes.
	id, err := base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").DecodeString("000000" + strings.ToUpper(s))
	if err != nil || len(id) != 20 || s[0] > '7' {
		return nil, &snowfence.IDError{Form: "ULID", Text: s, Position: -1, Reason: "must have 26 digits of 0 to 9 and A to Z without I, L, O and U, the first of them at most 7"}
	}
	id = id[4:]
	return &Foreign{
		ID: strings.ToUpper(s), Format: "ulid", About: "time and random bits", Bytes: id,
		At: time.UnixMilli(int64(binary.BigEndian.Uint64(id) >> 16)), Unit: time.Millisecond,
		Fields: []ForeignField{{"random", hex.EncodeToString(id[6:])}},
	}, nil
}

// readUUID reads the formats of RFC 9562. The version is in the upper bits of the seventh byte,
// the variant in the ninth's.
func readUUID(s string) (*Foreign, error) {
	lower := strings.ToLower(s)
	id, err := hex.DecodeString(strings.NewReplacer("urn:uuid:", "", "{", "", "-", "", "}", "").Replace(lower))
	f := &Foreign{Format: "uuid", Bytes: id}
	if err == nil && len(id) == 16 {
		f.ID = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	if f.ID == "" || !slices.Contains([]string{f.ID, hex.EncodeToString(id), "{" + f.ID + "}", "urn:uuid:" + f.ID}, lower) {
		return nil, &snowfence.IDError{Form: "UUID", Text: s, Position: -1, Reason: "must have 32 hexadecimal digits, in groups of 8-4-4-4-12 or in one"}
	}
	variant := strings.Fields("ncs ncs ncs ncs rfc9562 rfc9562 microsoft future")[id[8]>>5]
	f.Fields = []ForeignField{{"variant", variant}}
	if variant == "rfc9562" {
		f.readVersion()
		return f, nil
	}
	special := map[string]string{strings.Repeat("0", 32): "nil: every bit is 0", strings.Repeat("f", 32): "max: every bit is 1"}
	f.About = cmp.Or(special[hex.EncodeToString(id)], "not of RFC 9562, no known fields")
	return f, nil
}

// readVersion reads the version and its fields. The time of version 2 is not whole.
//
//	1: time low 32 · middle 16 · version 4 · high 12 · variant 2 · clock sequence 14 · node 48
//	6: time high 32 · middle 16 · version 4 · low 12 · variant 2 · clock sequence 14 · node 48
//	7: time in ms 48 · version 4 · random 12 · variant 2 · random 62
func (f *Foreign) readVersion() {
	f.Version = int(f.Bytes[6] >> 4)
	f.About = cmp.Or([16]string{
		1: "Gregorian time, clock sequence, node", 2: "DCE security, no whole time", 3: "MD5 of a name, no time", 4: "random bits, no time",
		5: "SHA-1 of a name, no time", 6: "Gregorian time, clock sequence, node", 7: "Unix time, random bits", 8: "custom, no known time",
	}[f.Version], "unknown version")
	upper := binary.BigEndian.Uint64(f.Bytes)
	first, middle, last := upper>>32, upper>>16&0xffff, upper&0xfff
	switch f.Version {
	case 1:
		upper = last<<48 | middle<<32 | first
	case 6:
		upper = first<<28 | middle<<12 | last
	case 7:
		f.At, f.Unit = time.UnixMilli(int64(upper>>16)), time.Millisecond
		return
	default:
		return
	}
	// Units of 100 ns since 1582-10-15, when the Gregorian calendar began.
	const second, unix = 10_000_000, 12_219_292_800
	f.At, f.Unit = time.Unix(int64(upper/second)-unix, int64(upper%second)*100), 100*time.Nanosecond
	clock := fmt.Sprint(binary.BigEndian.Uint16(f.Bytes[8:]) & (1<<14 - 1))
	f.Fields = append(f.Fields, ForeignField{"clock_seq", clock}, ForeignField{"node", hex.EncodeToString(f.Bytes[10:])})
}
