package decode

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Span is a field of an id, for a drawing of its bits.
type Span struct {
	Name    string `json:"name"`              // the word of the id's own system
	Kind    string `json:"kind"`              // time, datacenter, worker, sequence, version, variant, random or unused
	First   int    `json:"first"`             // its highest bit, counted from the highest of the id, which is 0
	Bits    int    `json:"bits"`              // how many there are; 0 for a field of a text
	Value   string `json:"value"`             // decimal, or hexadecimal of a random one
	Meaning string `json:"meaning,omitempty"` // for people
}

// Stamp is when and by whom an id of a layout was minted. Its Layout is zero for an id without.
type Stamp struct {
	Layout snowfence.Layout
	Worker int64 // with the datacenter
	Tick   snowfence.Tick
	At     time.Time
}

// SpansOf returns the fields of a layout, which need not fit an id, without values.
func SpansOf(l snowfence.Layout) []Span {
	total, width := l.TotalBits(), 64
	if l.Wide || total > width {
		width = total
	}
	var spans []Span
	if total < width {
		spans = append(spans, Span{Name: unused, Kind: unused, Bits: width - total})
	}
	for _, s := range l.Spans() {
		spans = append(spans, Span{Name: s.Field.Word(), Kind: s.Field.Kind.String(), First: width - 1 - s.High, Bits: s.Field.Bits})
	}
	return spans
}

// Stamp returns when and by whom the id was minted.
func (d Document) Stamp() Stamp { return stampOf(d.layout, d.parts) }

// Spans returns all 64 bits.
func (d Document) Spans() []Span {
	spans := SpansOf(d.layout)
	for i, f := range d.Fields {
		spans[i].Value = strconv.FormatUint(f.Value, 10)
	}
	explain(spans, d.Stamp(), d.Time)
	return spans
}

// Stamp returns when and by whom the id was minted.
func (f *Foreign) Stamp() Stamp { return stampOf(f.layout, f.parts) }

// Spans returns all bits of the id. The fields of a text have none.
func (f *Foreign) Spans() []Span {
	var spans []Span
	number := new(big.Int).SetBytes(f.Bytes)
	switch {
	case f.layout.Wide:
		spans = SpansOf(f.layout)
	case len(f.Bytes) > 0:
		spans = spansIn(f.bits())
	case f.Format == string(Number):
		spans = spansIn("unused:unused:1 number:sequence:63")
		number.SetString(f.Hex, 16)
	default:
		for _, field := range f.Fields {
			spans = append(spans, Span{Name: field.Name, Value: field.Value})
		}
		return spans
	}
	for i := len(spans) - 1; i >= 0; i-- {
		s := &spans[i]
		value := new(big.Int).And(number, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(s.Bits)), big.NewInt(1)))
		number.Rsh(number, uint(s.Bits))
		if s.Value = value.String(); s.Kind == "random" {
			s.Value = fmt.Sprintf("%0*x", (s.Bits+3)/4, value)
		}
	}
	explain(spans, f.Stamp(), f.Time)
	return spans
}

// bits are the fields by the format's specification: name, kind and width of each.
func (f *Foreign) bits() string {
	switch f.Format {
	case string(ObjectID):
		return "time:time:32 process:random:40 counter:sequence:24"
	case string(ULID):
		return "time:time:48 random:random:80"
	}
	first, middle, last := "data:random:48", "data:random:12", "data:random:62"
	const gregorian = "clock_seq:sequence:14 node:random:48"
	switch f.Version {
	case 0:
		return "data:random:128"
	case 1:
		first, middle, last = "time_low:time:32 time_mid:time:16", "time_high:time:12", gregorian
	case 3, 5:
		first, middle, last = "hash:random:48", "hash:random:12", "hash:random:62"
	case 4:
		first, middle, last = "random:random:48", "random:random:12", "random:random:62"
	case 6:
		first, middle, last = "time_high:time:32 time_mid:time:16", "time_low:time:12", gregorian
	case 7:
		first, middle, last = "time:time:48", "random:random:12", "random:random:62"
	}
	return first + " version:version:4 " + middle + " variant:variant:2 " + last
}

// spansIn reads fields as [Foreign.bits] writes them.
func spansIn(text string) (spans []Span) {
	first := 0
	for field := range strings.FieldsSeq(text) {
		name, rest, _ := strings.Cut(field, ":")
		kind, width, _ := strings.Cut(rest, ":")
		bits, _ := strconv.Atoi(width)
		spans = append(spans, Span{Name: name, Kind: kind, First: first, Bits: bits})
		first += bits
	}
	return spans
}

func stampOf(l snowfence.Layout, p snowfence.Parts) Stamp {
	s := Stamp{Layout: l, Worker: p.Datacenter<<l.Bits(snowfence.Worker) | p.Worker, Tick: p.Tick}
	if !l.IsZero() {
		s.At = l.TimeOf(p.Tick).UTC()
	}
	return s
}

// explain says what the values mean. A time that has several fields is said once.
func explain(spans []Span, s Stamp, at string) {
	for i := range spans {
		switch spans[i].Kind {
		case "time":
			spans[i].Meaning, at = at, ""
		case "datacenter", "worker":
			if !s.Layout.IsZero() {
				spans[i].Meaning = fmt.Sprintf("of worker id %d", s.Worker)
			}
		}
	}
}
