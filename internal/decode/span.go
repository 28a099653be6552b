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

// Strip is an id of any form, bit by bit.
type Strip struct {
	ID        string      `json:"id"`     // as its system writes it
	Format    string      `json:"format"` // that of a [Foreign], or "id" for a number under a layout
	About     string      `json:"about"`  // in words, or the layout
	Generator string      `json:"generator,omitempty"`
	Time      string      `json:"time,omitempty"` // RFC 3339 in UTC
	Tick      string      `json:"tick,omitempty"`
	Worker    *int64      `json:"worker,omitempty"` // with the datacenter
	Bits      int         `json:"bits"`             // of all fields; 0 for a text
	Fields    []Span      `json:"fields"`           // from the highest bit to the lowest; a text's are without bits
	Written   [][2]string `json:"written"`          // the same id in other encodings: name and text

	Stamp Stamp     `json:"-"`
	At    time.Time `json:"-"` // zero if the id has no time
}

// Strip returns the bits of the id.
func (d Document) Strip() Strip {
	e := d.Encodings
	s := Strip{
		ID: d.ID, Format: "id", About: d.Layout, Generator: d.Generator, Time: d.Time, Fields: SpansOf(d.layout),
		Written: [][2]string{{"decimal", e.Decimal}, {"19 digits", e.FixedDecimal}, {"hex", e.Hex}, {"base32", e.Base32}, {"base62", e.Base62}},
	}
	for i, f := range d.Fields {
		s.Fields[i].Value = strconv.FormatUint(f.Value, 10)
	}
	s.finish(d.layout, d.parts)
	return s
}

// Strip returns the bits of the id. The fields of a text have none.
func (f *Foreign) Strip() Strip {
	s := Strip{
		ID: f.ID, Format: f.Format, About: f.About, Generator: f.Generator, Time: f.Time, At: f.At, Fields: f.spans(), Written: [][2]string{{"hex", f.Hex}},
	}
	s.finish(f.layout, f.parts)
	return s
}

// finish adds what follows from the layout, which is zero for an id without.
func (s *Strip) finish(l snowfence.Layout, p snowfence.Parts) {
	if !l.IsZero() {
		s.At = l.TimeOf(p.Tick).UTC()
		s.Stamp = Stamp{Layout: l, Worker: p.Datacenter<<l.Bits(snowfence.Worker) | p.Worker, Tick: p.Tick}
		s.Worker, s.Tick = &s.Stamp.Worker, strconv.FormatInt(int64(p.Tick), 10)
	}
	at := s.Time // a time that has several fields is said once
	for i := range s.Fields {
		f := &s.Fields[i]
		switch s.Bits += f.Bits; f.Kind {
		case "time":
			f.Meaning, at = at, ""
		case "datacenter", "worker":
			f.Meaning = fmt.Sprintf("of worker id %d", s.Stamp.Worker)
		}
	}
}

// spans returns all bits of the id. The fields of a text have none.
func (f *Foreign) spans() []Span {
	spans := []Span{}
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
