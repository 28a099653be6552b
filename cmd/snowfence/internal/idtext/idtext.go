// Package idtext shows an id: as JSON for programs, and as text for people.
package idtext

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/decode"
)

// Reader reads ids.
type Reader struct {
	Encoding decode.Encoding // of the ids; empty: any
	Source   *decode.Source  // of the ids; nil: guess among the presets
	Preset   string          // the name by which the user gave the layout, if it is a preset's
	// Open opens the texts of an opaque generator first; may be nil.
	Open func(text string) (id string, err error)

	Now  time.Time
	Zone *time.Location // of local times
}

// idPage is the text of an id.
type idPage struct {
	page.Page
	*Reader
}

// decoded is an id, as the JSON form has it.
type decoded struct {
	*decode.Document
	Input  string          `json:"input"`             // as given
	ReadAs decode.Encoding `json:"read_as,omitempty"` // the encoding that was taken, of a number under a layout

	guesses []decode.Candidate // the candidates of a guess, the likeliest first
}

// Read returns the likeliest reading of a word, as JSON and as text. A [snowfence.ErrInvalidID] is
// returned for a word that is not an id.
func (r *Reader) Read(word string) (document any, text string, err error) {
	p, id, n := idPage{Reader: r}, word, &decoded{Input: word}
	if r.Open != nil {
		if id, err = r.Open(word); err != nil {
			return nil, "", err
		}
	}
	switch {
	case r.Source != nil:
		n.Document, err = decode.Of(id, r.Encoding, *r.Source)
	case r.Encoding == "":
		n.Document, err = decode.ReadForeign(id)
	}
	if err == nil && n.Document == nil {
		err = r.guess(id, n)
	}
	if err != nil {
		return nil, "", err
	}
	n.Preset, n.ReadAs = cmp.Or(r.Preset, n.Preset), n.Document.ReadAs
	p.text(n)
	return n, p.String(), nil
}

// guess decodes an id under the likeliest layout.
func (r *Reader) guess(id string, n *decoded) error {
	number, as, err := decode.Read(id, r.Encoding)
	if err != nil {
		return err
	}
	n.guesses = decode.Guess(number, r.Now)
	if len(n.guesses) == 0 {
		return &snowfence.IDError{Form: "any preset", Text: number.String(), Position: -1, Reason: "has no place in any of their layouts"}
	}
	n.Document = decode.GuessedDocument(n.guesses)
	n.Document.ReadAs = as
	return nil
}

// label adds a label and a value, unless the value is empty.
func (p *idPage) label(label, value string) {
	if value != "" {
		p.Line("%-14s%s", label, value)
	}
}

// instant adds the time.
func (p *idPage) instant(n *decoded) {
	p.label("time", n.Time)
	p.label("  local", decode.FormatTime(n.At.In(p.Zone), n.Unit))
	p.label("  relative", decode.Relative(n.At, p.Now))
	if n.Tick != nil {
		p.label("  tick", fmt.Sprint(*n.Tick))
	}
}

// text adds the picture of a number under a layout, the fields and the encodings.
func (p *idPage) text(n *decoded) {
	p.heading(n)
	e, name := n.Encodings, n.Format
	if name == "id" {
		name = "decimal"
		for _, line := range n.Picture() {
			p.WriteString(line + "\n")
		}
		p.Line("")
	}
	timed := false // a time that has several fields is shown once
	for _, f := range n.Fields {
		switch f.Kind {
		case "unused", "version", "variant":
		case "time":
			if !timed {
				p.instant(n)
			}
			timed = true
		default:
			p.label(f.Name, fmt.Sprint(f.Value))
		}
	}
	p.Line("")
	fixed := e.FixedDecimal
	if fixed == e.Decimal {
		fixed = ""
	}
	for _, row := range [][2]string{
		{name, n.ID}, {"  19 digits", fixed}, {"hex", e.Hex}, {"base32", e.Base32}, {"base62", e.Base62}, {"generator", n.Generator},
	} {
		p.label(row[0], row[1])
	}
	if n.Guessed {
		p.others(n)
	}
}

// heading adds the encoding and the layout by which the id was read, and whether the layout is a guess.
func (p *idPage) heading(n *decoded) {
	as := ""
	if n.ReadAs != "" && n.ReadAs != decode.Decimal {
		as = ", read as " + string(n.ReadAs)
	}
	p.Line("%s%s", n.Input, as)
	if n.Format != "id" {
		p.Line("%s  %s\n", strings.TrimSuffix(fmt.Sprintf("%s %d", n.Format, n.Version), " 0"), cmp.Or(n.About, n.Layout))
		return
	}
	name := cmp.Or(p.Preset, strings.Join(decode.PresetsOf(n.By), " or "), "layout")
	if n.Guessed {
		name += " (guessed)"
	}
	p.Line("%s  %s", name, n.Layout)
	if n.Guessed && !n.guesses[0].Plausible {
		p.Line("  no preset gives a plausible time; this one comes nearest")
	}
	p.Line("")
}

// others lists the first plausible candidates that were not taken.
func (p *idPage) others(n *decoded) {
	const most = 6
	var rows [][]string
	for _, c := range n.guesses[1:] {
		if c.Plausible && len(rows) < most {
			presets := strings.Join(decode.PresetsOf(c.By), " or ")
			rows = append(rows, []string{presets, c.Time, decode.Relative(c.At, p.Now)})
		}
	}
	switch {
	case len(rows) > 0:
		p.Line("\nguessed; other presets give plausible times too (--layout NAME settles it):")
	case n.guesses[0].Plausible: // else the heading has it
		p.Line("\nguessed: no other preset gives a plausible time")
	}
	p.Table("  ", "preset, time, ", rows)
	if more := len(n.Candidates) - len(rows); more > 0 && len(rows) > 0 {
		p.Line("  and %d more (-o json lists them all)", more)
	}
}
