package decode

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Format is how a kind without layouts writes ids. Ids of any other format are only texts.
type Format string

// The formats. That of a UUID, a ULID or an ObjectID is the one that its [Document] has.
const (
	Number   Format = "number"  // decimal, up to 63 bits
	Counted  Format = "counted" // the setting prefix, and a number
	Dated    Format = "dated"   // the setting prefix, a date of 8 digits, and a number of as many digits as the setting gives
	UUID     Format = "uuid"
	ULID     Format = "ulid"
	ObjectID Format = "objectid"
)

// Source is a generator, or a layout alone: the knowledge of ids before they are read.
type Source struct {
	Generator string            // its name; the answer repeats it
	Layout    snowfence.Layout  // zero for a kind without layouts, whose format counts
	Kind      string            // for people
	Format    Format            // of the kind
	Settings  map[string]string // of the generator
}

// Of reads an id of a source. A [*snowfence.IDError] is returned for a text that is no id of the source.
func Of(text string, e Encoding, s Source) (d *Document, err error) {
	switch {
	case s.Layout.Wide:
		d, err = ReadWide(text, s.Layout)
	case s.Layout.IsZero():
		d, err = s.read(text)
	default:
		d, err = Under(text, e, s.Layout)
	}
	if err != nil {
		return nil, err
	}
	d.Generator = s.Generator
	return d, nil
}

// Under reads an id of a layout that is not wide, by [Read]. A text's other readings are greater, as they have the same
// digits in a greater base: a layout that has no place for the likeliest has none for them. A [*snowfence.IDError] is
// returned for a text that is no id of the layout.
func Under(text string, e Encoding, l snowfence.Layout) (*Document, error) {
	id, as, err := Read(text, e)
	if err != nil {
		return nil, err
	}
	d, err := Decode(id, l)
	if err == nil {
		d.ReadAs = as
	}
	return d, err
}

// read reads an id of a kind without layouts.
func (s Source) read(text string) (*Document, error) {
	d := &Document{ID: text, Format: "text", About: "of kind " + s.Kind, Fields: []Field{}, Encodings: Encodings{Hex: hex.EncodeToString([]byte(text))}}
	wrong := &snowfence.IDError{Form: s.Kind, Text: text, Position: -1, Reason: "is no id of this kind"}
	number, ok := strings.CutPrefix(text, s.Settings["prefix"])
	digits := number
	switch s.Format {
	case UUID, ULID, ObjectID:
		d, err := ReadForeign(text)
		if err == nil && (d == nil || d.Format != string(s.Format)) {
			err = wrong
		}
		return d, err
	case Number:
		id, err := snowfence.Parse(text)
		d.Format, d.Encodings.Hex = string(Number), id.Hex()
		d.Fields = cut(fieldsIn("unused:unused:1 number:sequence:63"), binary.BigEndian.AppendUint64(nil, uint64(id)))
		return d, err
	case Dated:
		width, _ := strconv.Atoi(cmp.Or(s.Settings["digits"], "6")) // as counter.DailyConfig has it
		date := number[:min(8, len(number))]
		at, err := time.Parse("20060102", date)
		number = number[len(date):]
		ok = ok && err == nil && len(number) == width
		d.Fields = append(d.Fields, Field{Name: "date", Kind: "text", Value: at.Format(time.DateOnly)})
		digits = cmp.Or(strings.TrimLeft(number, "0"), "0")
	case Counted:
	default:
		return d, nil
	}
	if _, err := snowfence.Parse(digits); err != nil || !ok {
		return nil, wrong
	}
	d.Fields = append(d.Fields, Field{Name: "number", Kind: "text", Value: number})
	return d, nil
}
