package decode

import (
	"time"

	"snowfence.example/snowfence"
)

// Document is the reading of an id, and its JSON form. Keys may be added; none is renamed or
// dropped. Ids are strings, because many JSON readers round numbers above 2^53.
type Document struct {
	// ID is as its system writes it: a number under a layout in plain decimal.
	ID string `json:"id"`
	// Format is "id" for a number under a layout and "wide" for another id under one. Ids without
	// a layout are "uuid", "ulid", "objectid", "number" or "text".
	Format string `json:"format"`
	// Version is that of a UUID, if it is one of RFC 9562, which has 1 to 8.
	Version int `json:"version,omitempty"`
	// About describes in words what an id without a layout is made of.
	About string `json:"about,omitempty"`
	// Preset names the preset that has this layout, if one has.
	Preset string `json:"preset,omitempty"`
	// Layout is the layout's text form, as --layout takes it.
	Layout string `json:"layout,omitempty"`
	// Time is when the tick began, RFC 3339 in UTC, by [FormatTime]. It is absent if the id has none.
	Time string `json:"time,omitempty"`
	// Tick counts whole units since the layout's epoch.
	Tick *snowfence.Tick `json:"tick,omitempty"`
	// Datacenter, Worker and Sequence are absent if the layout lacks them.
	Datacenter *int64 `json:"datacenter,omitempty"`
	Worker     *int64 `json:"worker,omitempty"`
	Sequence   *int64 `json:"sequence,omitempty"`
	// Fields are all bits, high to low. Those of a text have none.
	Fields    []Field   `json:"fields"`
	Encodings Encodings `json:"encodings"`
	// Guessed is true when no layout was named and this one is the best guess.
	Guessed bool `json:"guessed"`
	// Generator is the one whose id it is, if it was named.
	Generator string `json:"generator,omitempty"`
	// Candidates are the other plausible presets, when guessed, best first.
	Candidates []CandidateDocument `json:"candidates,omitempty"`

	By     snowfence.Layout `json:"-"` // zero if the id has none
	Parts  snowfence.Parts  `json:"-"` // by the layout
	At     time.Time        `json:"-"` // zero if the id has no time
	Unit   time.Duration    `json:"-"` // of the time
	ReadAs Encoding         `json:"-"` // of the text of a number under a layout
}

// Field is a run of bits within an id.
type Field struct {
	// Name is the word of a UUID's or another specification, such as "clock_seq", and else the kind.
	Name string `json:"name"`
	// Kind is "time", "datacenter", "worker", "sequence", "version", "variant", "random", "unused" or "text".
	Kind string `json:"kind"`
	// Bits is the width, Shift how many bits stand below.
	Bits  int `json:"bits"`
	Shift int `json:"shift"`
	// Value is a number in format "id". Otherwise it is a text: decimal, or hexadecimal of a random field.
	Value any `json:"value,omitempty"`
	// Meaning is for people, and absent in most answers.
	Meaning string `json:"meaning,omitempty"`
}

// Bits are how many bits all fields have.
func (d *Document) Bits() int {
	if len(d.Fields) == 0 {
		return 0
	}
	return d.Fields[0].Shift + d.Fields[0].Bits
}

// CandidateDocument is the JSON form of a guess that was not taken.
type CandidateDocument struct {
	Preset string `json:"preset"`
	Layout string `json:"layout"`
	Time   string `json:"time"`
}

// stamp adds what follows from the layout.
func (d *Document) stamp(l snowfence.Layout, p snowfence.Parts) {
	d.By, d.Parts, d.Layout, d.Tick = l, p, l.String(), &d.Parts.Tick
	d.At, d.Unit = l.TimeOf(p.Tick), l.Unit
	d.Time = FormatTime(d.At, d.Unit)
	for _, f := range l.Fields {
		switch f.Kind {
		case snowfence.Datacenter:
			d.Datacenter = &d.Parts.Datacenter
		case snowfence.Worker:
			d.Worker = &d.Parts.Worker
		case snowfence.Sequence:
			d.Sequence = &d.Parts.Sequence
		}
	}
}

// GuessedDocument is the JSON form of the best of several candidates, which
// must not be empty; the other plausible ones are listed in it.
func GuessedDocument(candidates []Candidate) *Document {
	d := candidates[0].Document
	d.Guessed = true
	for _, c := range candidates[1:] {
		if c.Plausible {
			d.Candidates = append(d.Candidates, CandidateDocument{c.Preset, c.Layout, c.Time})
		}
	}
	return d
}

// FormatTime writes an instant as RFC 3339 in its own zone, with as many
// decimals as a layout's unit has: none for seconds, three down to
// milliseconds. Years beyond 9999, which some layouts reach, take five digits.
func FormatTime(t time.Time, unit time.Duration) string {
	layout := "2006-01-02T15:04:05"
	switch {
	case unit%time.Second == 0:
	case unit%time.Millisecond == 0:
		layout += ".000"
	case unit%time.Microsecond == 0:
		layout += ".000000"
	default:
		layout += ".000000000"
	}
	return t.Format(layout + "Z07:00")
}
