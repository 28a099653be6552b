package decode

import (
	"cmp"
	"time"

	"snowfence.example/snowfence"
)

// Result is an id's reading under one layout.
type Result struct {
	// ID is negative when its 64th bit is set, which only layouts with Unsigned allow.
	ID     snowfence.ID
	Layout snowfence.Layout
	// Preset is the first preset that has exactly this layout, or empty.
	Preset string
	// Parts are the layout's numbers, zero where the field is missing.
	Parts snowfence.Parts
	// Time is when the tick began, in UTC.
	Time time.Time
	// Fields are all 64 bits, high to low; bits above the layout are called "unused".
	Fields []Field
	// ReadAs is the encoding of the text, empty if the id was given as a number.
	ReadAs Encoding
	// Generator is the one whose id it is, if it was named.
	Generator string
}

// Field is a run of bits within an id.
type Field struct {
	// Name is the word of the layout's own system: "machine", "shard".
	Name string `json:"name"`
	// Kind is "time", "datacenter", "worker", "sequence" or "unused".
	Kind string `json:"kind"`
	// Bits is the width, Shift how many bits stand below.
	Bits  int `json:"bits"`
	Shift int `json:"shift"`
	// Value is the bits as a number.
	Value uint64 `json:"value"`
}

// unused is the name and kind of the bits above a layout.
const unused = "unused"

// Decode takes an id apart. A [*snowfence.IDError] is returned when the id
// cannot be one of this layout: a bit above the layout's fields is set.
func Decode(id snowfence.ID, l snowfence.Layout) (Result, error) {
	parts, err := l.Decompose(id)
	if err != nil {
		return Result{}, err
	}
	return Result{
		ID:     id,
		Layout: l,
		Preset: cmp.Or(append(PresetsOf(l), "")...),
		Parts:  parts,
		Time:   l.TimeOf(parts.Tick).UTC(),
		Fields: fieldsOf(uint64(id), l),
	}, nil
}

// PresetsOf are the names of the presets that have a layout.
func PresetsOf(l snowfence.Layout) []string {
	names := []string{}
	for _, p := range snowfence.Presets() {
		if p.Layout.Equal(l) {
			names = append(names, p.Name)
		}
	}
	return names
}

// fieldsOf cuts 64 bits at the layout's borders.
func fieldsOf(word uint64, l snowfence.Layout) []Field {
	var fields []Field
	if total := l.TotalBits(); total < 64 {
		fields = append(fields, Field{Name: unused, Kind: unused, Bits: 64 - total, Shift: total, Value: word >> total})
	}
	for _, s := range l.Spans() {
		f := s.Field
		value := word >> s.Low & (1<<f.Bits - 1)
		fields = append(fields, Field{Name: f.Word(), Kind: f.Kind.String(), Bits: f.Bits, Shift: s.Low, Value: value})
	}
	return fields
}
