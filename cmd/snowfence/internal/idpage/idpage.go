// Package idpage is what decode shows of an id: as JSON for programs, and as a
// page for people.
package idpage

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

// ID is an id that was read. Its JSON form is itself.
type ID interface {
	// Text is the page of the id.
	Text(v View) string
}

// View says how a page is written.
type View struct {
	Preset string // the name that the user gave the layout, or empty
	Colour bool
	Zone   *time.Location // of local times
	Now    time.Time
}

// Number is an id of at most 64 bits with what is known of it, as the JSON form has it.
type Number struct {
	decode.Document
	// Input is the text as given, ReadAs the encoding that it was taken for.
	Input  string          `json:"input"`
	ReadAs decode.Encoding `json:"read_as"`
	// OtherReadings are the numbers that the text is in other encodings.
	OtherReadings []decode.Reading `json:"other_readings,omitempty"`

	// Result is what the likeliest reading says.
	Result decode.Result `json:"-"`
	// Guesses are the candidates of a guess, the one taken first.
	Guesses []decode.Candidate `json:"-"`
}

// Foreign is a UUID, a ULID or an ObjectID, or an id of a wide layout.
type Foreign struct {
	*decode.Foreign
	// Input is the text as given.
	Input string `json:"input"`
}

// Text implements [ID]: it is the picture of the id and all that follows from it.
func (n Number) Text(v View) string {
	w := &writer{View: v}
	w.number(n)
	return w.String()
}

// Text implements [ID].
func (f Foreign) Text(v View) string {
	w := &writer{View: v}
	w.foreign(f)
	return w.String()
}

// writer writes the page of an id.
type writer struct {
	View
	page.Page
}

// label adds a label, coloured as a kind of field, and a value.
func (p *writer) label(kind, label, value string) {
	label = fmt.Sprintf("%-14s", label)
	if p.Colour {
		label = page.Paint(kind, label)
	}
	p.WriteString(label)
	p.Line("%s", value)
}

// instant adds a time.
func (p *writer) instant(at time.Time, unit time.Duration) {
	p.label("time", "time", decode.FormatTime(at, unit))
	p.label("time", "  local", decode.FormatTime(at.In(p.Zone), unit))
	p.label("time", "  relative", decode.Relative(at, p.Now))
}

// whose adds the generator, if it is known.
func (p *writer) whose(generator string) {
	if generator != "" {
		p.label("", "generator", generator)
	}
}

// foreign adds an id that is no number, with the version of a UUID.
func (p *writer) foreign(d Foreign) {
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
	p.whose(d.Generator)
}

// number adds the picture of an id and all that follows from it.
func (p *writer) number(d Number) {
	p.heading(d)
	p.Line("")
	paint := func(field int, text string) string {
		if p.Colour {
			return page.Paint(d.Fields[field].Kind, text)
		}
		return text
	}
	for _, line := range d.Result.Picture(paint) {
		p.WriteString(line + "\n")
	}
	p.Line("")
	for _, f := range d.Fields {
		switch f.Kind {
		case "unused":
		case "time":
			p.instant(d.Result.Time, d.Result.Layout.Unit)
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
	p.whose(d.Generator)
	if d.Guessed {
		p.others(d)
	}
}

// heading says what the id was read as, under which layout, and whether that is a guess.
func (p *writer) heading(d Number) {
	as := ""
	if d.ReadAs != decode.Decimal || len(d.OtherReadings) > 0 {
		as = ", read as " + string(d.ReadAs)
	}
	p.Line("%s%s", d.Input, as)
	for _, other := range d.OtherReadings {
		p.Line("  as %s it would be %s", other.Encoding, other.Text)
	}
	name := cmp.Or(p.Preset, strings.Join(decode.PresetsOf(d.Result.Layout), " or "), "layout")
	if d.Guessed {
		name += " (guessed)"
	}
	p.Line("%s  %s", name, d.Layout)
	if d.Guessed && !d.Guesses[0].Plausible {
		p.Line("  no preset gives a plausible time; this one comes nearest")
	}
}

// others lists the candidates that were not taken.
func (p *writer) others(d Number) {
	var rows [][]string
	for _, c := range d.Guesses[1:] {
		if c.Plausible && len(rows) < maxListed {
			rows = append(rows, []string{strings.Join(decode.PresetsOf(c.Layout), " or "), decode.FormatTime(c.Time, c.Layout.Unit), decode.Relative(c.Time, p.Now)})
		}
	}
	switch {
	case len(rows) == 0 && !d.Guesses[0].Plausible:
		return // said at the top
	case len(rows) == 0:
		p.Line("\nguessed: no other preset gives a plausible time")
		return
	}
	p.Line("\nguessed; other presets give plausible times too (--layout NAME settles it):")
	p.Table("  ", "preset, time, ", rows)
	if more := len(d.Candidates) - len(rows); more > 0 {
		p.Line("  and %d more (-o json lists them all)", more)
	}
}
