package decode

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Format is how a kind without layouts writes ids. Ids of any other format are only texts.
type Format string

// The formats. That of a UUID, a ULID or an ObjectID is the one that its [Foreign] has.
const (
	Number   Format = "number"  // decimal, up to 63 bits
	Counted  Format = "counted" // the setting prefix, and a number
	Dated    Format = "dated"   // the setting prefix, a date of 8 digits, and a number of as many digits as the setting says
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

// Of reads an id of a source. It returns a [Foreign] for a wide layout and for a kind without
// layouts, otherwise what [Under] returns. A [*snowfence.IDError] is returned for a text that is no
// id of the source.
func Of(text string, e Encoding, s Source) (r Result, f *Foreign, err error) {
	switch {
	case s.Layout.Wide:
		f, err = ReadWide(text, s.Layout)
	case s.Layout.IsZero():
		f, err = s.read(text)
	default:
		r, err = Under(text, e, s.Layout)
		r.Generator = s.Generator
	}
	if err != nil {
		return Result{}, nil, err
	}
	if f != nil {
		f.Generator = s.Generator
	}
	return r, f, nil
}

// Under reads an id of a layout that is not wide, by [Read]. A text's other readings are greater, as they have the same
// digits in a greater base: a layout that has no place for the likeliest has none for them. A [*snowfence.IDError] is
// returned for a text that is no id of the layout.
func Under(text string, e Encoding, l snowfence.Layout) (Result, error) {
	id, as, err := Read(text, e)
	if err != nil {
		return Result{}, err
	}
	r, err := Decode(id, l)
	r.ReadAs = as
	return r, err
}

// read reads an id of a kind without layouts.
func (s Source) read(text string) (*Foreign, error) {
	f := &Foreign{ID: text, Format: "text", About: "of kind " + s.Kind, Fields: []ForeignField{}, Hex: hex.EncodeToString([]byte(text))}
	wrong := &snowfence.IDError{Form: s.Kind, Text: text, Position: -1, Reason: "is no id of this kind"}
	number, ok := strings.CutPrefix(text, s.Settings["prefix"])
	digits := number
	switch s.Format {
	case UUID, ULID, ObjectID:
		f, err := ReadForeign(text)
		if err == nil && (f == nil || f.Format != string(s.Format)) {
			err = wrong
		}
		return f, err
	case Number:
		id, err := snowfence.Parse(text)
		f.Format, f.Hex = string(Number), id.Hex()
		return f, err
	case Dated:
		width, _ := strconv.Atoi(cmp.Or(s.Settings["digits"], "6")) // as counter.DailyConfig has it
		date := number[:min(8, len(number))]
		at, err := time.Parse("20060102", date)
		number = number[len(date):]
		ok = ok && err == nil && len(number) == width
		f.Fields = append(f.Fields, ForeignField{"date", at.Format(time.DateOnly)})
		digits = cmp.Or(strings.TrimLeft(number, "0"), "0")
	case Counted:
	default:
		return f, nil
	}
	if _, err := snowfence.Parse(digits); err != nil || !ok {
		return nil, wrong
	}
	f.Fields = append(f.Fields, ForeignField{"number", number})
	return f, nil
}
