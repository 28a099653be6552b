package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/decode"
)

// maxListed is how many other candidates the text of a guess lists.
const maxListed = 6

// decoded is an id of at most 64 bits with what is known of it, as the JSON form has it.
type decoded struct {
	decode.Document
	Input  string          `json:"input"`   // as given
	ReadAs decode.Encoding `json:"read_as"` // what it was taken for
	// OtherReadings are the numbers that the text is in other encodings.
	OtherReadings []decode.Reading `json:"other_readings,omitempty"`

	result  decode.Result      // what the likeliest reading says
	guesses []decode.Candidate // the candidates of a guess, the one taken first
}

// foreign is a UUID, a ULID or an ObjectID, or an id of a wide layout, as the JSON form has it.
type foreign struct {
	*decode.Foreign
	Input string `json:"input"` // as given
}

// idPage is the text of an id.
type idPage struct {
	page.Page
	*decodeVerb
}

// label adds a label, coloured as a kind of field, and a value.
func (p *idPage) label(kind, label, value string) {
	p.WriteString(p.paint(kind, fmt.Sprintf("%-14s", label)))
	p.Line("%s", value)
}

func (p *idPage) paint(kind, text string) string {
	if p.colour {
		return page.Paint(kind, text)
	}
	return text
}

// instant adds a time.
func (p *idPage) instant(at time.Time, unit time.Duration) {
	p.label("time", "time", decode.FormatTime(at, unit))
	p.label("time", "  local", decode.FormatTime(at.In(p.zone), unit))
	p.label("time", "  relative", decode.Relative(at, p.now))
}

// end adds the generator, if it is known, and returns the text.
func (p *idPage) end(generator string) string {
	if generator != "" {
		p.label("", "generator", generator)
	}
	return p.String()
}

// foreign is an id that is no number, with the version of a UUID.
func (p *idPage) foreign(d foreign) string {
	p.Line("%s\n%s  %s\n", d.Input, strings.TrimSuffix(fmt.Sprintf("%s %d", d.Format, d.Version), " 0"), d.About)
	if d.Time != "" {
		p.instant(d.At, d.Unit)
	}
	for _, f := range d.Fields {
		p.label("", f.Name, f.Value)
	}
	p.Line("")
	p.label("", d.Format, d.ID)
	p.label("", "hex", d.Hex)
	return p.end(d.Generator)
}

// number is the picture of an id and all that follows from it.
func (p *idPage) number(d *decoded) string {
	p.heading(d)
	p.Line("")
	for _, line := range d.result.Picture(func(field int, text string) string { return p.paint(d.Fields[field].Kind, text) }) {
		p.WriteString(line + "\n")
	}
	p.Line("")
	for _, f := range d.Fields {
		switch f.Kind {
		case "unused":
		case "time":
			p.instant(d.result.Time, d.result.Layout.Unit)
			p.label(f.Kind, "  tick", strconv.FormatInt(d.Tick, 10))
		default:
			p.label(f.Kind, f.Name, strconv.FormatUint(f.Value, 10))
		}
	}
	p.Line("")
	p.label("", "decimal", d.Encodings.Decimal)
	if d.Encodings.FixedDecimal != d.Encodings.Decimal {
		p.label("", "  19 digits", d.Encodings.FixedDecimal)
	}
	p.label("", "hex", d.Encodings.Hex)
	p.label("", "base32", d.Encodings.Base32)
	p.label("", "base62", d.Encodings.Base62)
	if d.Guessed {
		p.others(d)
	}
	return p.end(d.Generator)
}

// heading says what the id was read as, under which layout, and whether that is a guess.
func (p *idPage) heading(d *decoded) {
	as := ""
	if d.ReadAs != decode.Decimal || len(d.OtherReadings) > 0 {
		as = ", read as " + string(d.ReadAs)
	}
	p.Line("%s%s", d.Input, as)
	for _, other := range d.OtherReadings {
		p.Line("  as %s it would be %s", other.Encoding, other.Text)
	}
	name := cmp.Or(p.preset, strings.Join(decode.PresetsOf(d.result.Layout), " or "), "layout")
	if d.Guessed {
		name += " (guessed)"
	}
	p.Line("%s  %s", name, d.Layout)
	if d.Guessed && !d.guesses[0].Plausible {
		p.Line("  no preset gives a plausible time; this one comes nearest")
	}
}

// others lists the candidates that were not taken.
func (p *idPage) others(d *decoded) {
	var rows [][]string
	for _, c := range d.guesses[1:] {
		if c.Plausible && len(rows) < maxListed {
			rows = append(rows, []string{strings.Join(decode.PresetsOf(c.Layout), " or "), decode.FormatTime(c.Time, c.Layout.Unit), decode.Relative(c.Time, p.now)})
		}
	}
	switch {
	case len(rows) > 0:
		p.Line("\nguessed; other presets give plausible times too (--layout NAME settles it):")
	case d.guesses[0].Plausible: // else it is said at the top
		p.Line("\nguessed: no other preset gives a plausible time")
	}
	p.Table("  ", "preset, time, ", rows)
	if more := len(d.Candidates) - len(rows); more > 0 && len(rows) > 0 {
		p.Line("  and %d more (-o json lists them all)", more)
	}
}
