package decode

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
)

// unused is the name and kind of the bits above a layout.
const unused = "unused"

// Decode takes an id apart. A [*snowfence.IDError] is returned when the id
// cannot be one of this layout: a bit above the layout's fields is set.
func Decode(id snowfence.ID, l snowfence.Layout) (*Document, error) {
	parts, err := l.Decompose(id)
	if err != nil {
		return nil, err
	}
	d := &Document{ID: id.String(), Format: "id", Preset: cmp.Or(append(PresetsOf(l), "")...), Fields: FieldsOf(l), Encodings: Encode(id)}
	for i := range d.Fields {
		f := &d.Fields[i]
		f.Value = uint64(id) >> f.Shift & (1<<f.Bits - 1)
	}
	d.stamp(l, parts)
	return d, nil
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

// FieldsOf returns the fields of a layout, which need not fit an id, without values.
func FieldsOf(l snowfence.Layout) (fields []Field) {
	if total := l.TotalBits(); !l.Wide && total < 64 {
		fields = append(fields, Field{Name: unused, Kind: unused, Bits: 64 - total, Shift: total})
	}
	for _, s := range l.Spans() {
		kind := s.Field.Kind.String()
		fields = append(fields, Field{Name: kind, Kind: kind, Bits: s.Field.Bits, Shift: s.Low})
	}
	return fields
}

// fieldsIn returns fields without values from the name, kind and width of each.
func fieldsIn(table string) []Field {
	all := strings.Fields(table)
	fields, shift := make([]Field, len(all)), 0
	for i, text := range slices.Backward(all) {
		part := strings.Split(text, ":")
		width, _ := strconv.Atoi(part[2])
		fields[i] = Field{Name: part[0], Kind: part[1], Bits: width, Shift: shift}
		shift += width
	}
	return fields
}

// cut reads the values of fields out of an id's bytes, as texts.
func cut(fields []Field, id []byte) []Field {
	number := new(big.Int).SetBytes(id)
	for i := range fields {
		f := &fields[i]
		end := new(big.Int).Lsh(big.NewInt(1), uint(f.Bits))
		value := end.Mod(new(big.Int).Rsh(number, uint(f.Shift)), end)
		if f.Value = value.String(); f.Kind == "random" {
			f.Value = fmt.Sprintf("%0*x", (f.Bits+3)/4, value)
		}
	}
	return fields
}
