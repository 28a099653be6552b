package decode

import (
	"time"

	"snowfence.example/snowfence"
)

// Document is the JSON form of a decoded id. Keys may be added; none is renamed or
// dropped. Ids are strings, because many JSON readers round numbers above 2^53.
type Document struct {
	// ID is the plain decimal form.
	ID string `json:"id"`
	// Preset names the preset that has this layout, if one has.
	Preset string `json:"preset,omitempty"`
	// Layout is the layout's text form, as --layout takes it.
	Layout string `json:"layout"`
	// Time is when the tick began, RFC 3339 in UTC, by [FormatTime].
	Time string `json:"time"`
	// Tick counts whole units since the layout's epoch.
	Tick int64 `json:"tick"`
	// Datacenter, Worker and Sequence are absent if the layout lacks them.
	Datacenter *int64 `json:"datacenter,omitempty"`
	Worker     *int64 `json:"worker,omitempty"`
	Sequence   *int64 `json:"sequence,omitempty"`
	// Fields are all 64 bits, high to low, in the words of the layout's system.
	Fields    []Field   `json:"fields"`
	Encodings Encodings `json:"encodings"`
	// Guessed is true when no layout was named and this one is the best guess.
	Guessed bool `json:"guessed"`
	// Generator is the one whose id it is, if it was named.
	Generator string `json:"generator,omitempty"`
	// Candidates are the other plausible presets, when guessed, best first.
	Candidates []CandidateDocument `json:"candidates,omitempty"`

	layout snowfence.Layout
	parts  snowfence.Parts
}

// CandidateDocument is the JSON form of a guess that was not taken.
type CandidateDocument struct {
	Preset string `json:"preset"`
	Layout string `json:"layout"`
	Time   string `json:"time"`
}

// Document is the result's JSON form.
func (r Result) Document() Document {
	d := Document{
		ID:        r.ID.String(),
		Preset:    r.Preset,
		Layout:    r.Layout.String(),
		Time:      FormatTime(r.Time, r.Layout.Unit),
		Tick:      int64(r.Parts.Tick),
		Fields:    r.Fields,
		Encodings: Encode(r.ID),
		Generator: r.Generator,
		layout:    r.Layout,
		parts:     r.Parts,
	}
	for _, f := range r.Layout.Fields {
		switch f.Kind {
		case snowfence.Datacenter:
			d.Datacenter = &r.Parts.Datacenter
		case snowfence.Worker:
			d.Worker = &r.Parts.Worker
		case snowfence.Sequence:
			d.Sequence = &r.Parts.Sequence
		}
	}
	return d
}

// GuessedDocument is the JSON form of the best of several candidates, which
// must not be empty; the other plausible ones are listed in it.
func GuessedDocument(candidates []Candidate) Document {
	d := candidates[0].Result.Document()
	d.Guessed = true
	for _, c := range candidates[1:] {
		if c.Plausible {
			d.Candidates = append(d.Candidates, CandidateDocument{c.Preset, c.Layout.String(), FormatTime(c.Time, c.Layout.Unit)})
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
