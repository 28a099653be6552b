// Package idtext shows an id: as JSON for programs, and as text for people.
package idtext

import (
	"cmp"
	"fmt"
	"strconv"
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

// decoded is an id of at most 64 bits, as the JSON form has it.
type decoded struct {
	decode.Document
	Input  string          `json:"input"`   // as given
	ReadAs decode.Encoding `json:"read_as"` // the encoding that was taken

	result  decode.Result      // of the likeliest reading
	guesses []decode.Candidate // the candidates of a guess, the likeliest first
}

// foreign is a UUID, a ULID or an ObjectID, or an id of a wide layout, as the JSON form has it.
type foreign struct {
	*decode.Foreign
	Input string `json:"input"` // as given
}

// Read returns the likeliest reading of a word, as JSON and as text. A [snowfence.ErrInvalidID] is
// returned for a word that is not an id.
func (r *Reader) Read(word string) (document any, text string, err error) {
	p, id, n, other := idPage{Reader: r}, word, &decoded{Input: word}, (*decode.Foreign)(nil)
	if r.Open != nil {
		if id, err = r.Open(word); err != nil {
			return nil, "", err
		}
	}
	switch {
	case r.Source != nil:
		n.result, other, err = decode.Of(id, r.Encoding, *r.Source)
		n.result.Preset = cmp.Or(r.Preset, n.result.Preset)
	case r.Encoding == "":
		other, err = decode.ReadForeign(id)
	}
	switch {
	case err != nil:
		return nil, "", err
	case other != nil:
		f := &foreign{other, word}
		p.foreignText(f)
		return f, p.String(), nil
	case r.Source != nil:
		n.Document = n.result.Document()
	default:
		if err = r.guess(id, n); err != nil {
			return nil, "", err
		}
	}
	n.ReadAs = n.result.ReadAs
	p.numberText(n)
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
	n.Document, n.result = decode.GuessedDocument(n.guesses), n.guesses[0].Result
	n.result.ReadAs = as
	return nil
}

// label adds a label and a value, unless the value is empty.
func (p *idPage) label(label, value string) {
	if value != "" {
		p.Line("%-14s%s", label, value)
	}
}

// instant adds a time.
func (p *idPage) instant(at time.Time, unit time.Duration) {
	p.label("time", decode.FormatTime(at, unit))
	p.label("  local", decode.FormatTime(at.In(p.Zone), unit))
	p.label("  relative", decode.Relative(at, p.Now))
}

// foreignText adds an id in another form than a number, with the version of a UUID.
func (p *idPage) foreignText(f *foreign) {
	p.Line("%s\n%s  %s\n", f.Input, strings.TrimSuffix(fmt.Sprintf("%s %d", f.Format, f.Version), " 0"), f.About)
	if f.Time != "" {
		p.instant(f.At, f.Unit)
	}
	for _, field := range f.Fields {
		p.label(field.Name, field.Value)
	}
	p.Line("")
	for _, row := range [][2]string{{f.Format, f.ID}, {"hex", f.Hex}, {"generator", f.Generator}} {
		p.label(row[0], row[1])
	}
}

// numberText adds the picture of a number, its fields and its encodings.
func (p *idPage) numberText(n *decoded) {
	p.heading(n)
	for _, line := range n.result.Picture() {
		p.WriteString(line + "\n")
	}
	p.Line("")
	for _, f := range n.Fields {
		switch f.Kind {
		case "unused":
		case "time":
			p.instant(n.result.Time, n.result.Layout.Unit)
			p.label("  tick", strconv.FormatInt(n.Tick, 10))
		default:
			p.label(f.Name, strconv.FormatUint(f.Value, 10))
		}
	}
	p.Line("")
	e := n.Encodings
	fixed := e.FixedDecimal
	if fixed == e.Decimal {
		fixed = ""
	}
	for _, row := range [][2]string{
		{"decimal", e.Decimal}, {"  19 digits", fixed}, {"hex", e.Hex}, {"base32", e.Base32}, {"base62", e.Base62}, {"generator", n.Generator},
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
	if n.ReadAs != decode.Decimal {
		as = ", read as " + string(n.ReadAs)
	}
	p.Line("%s%s", n.Input, as)
	name := cmp.Or(p.Preset, strings.Join(decode.PresetsOf(n.result.Layout), " or "), "layout")
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
			presets := strings.Join(decode.PresetsOf(c.Layout), " or ")
			rows = append(rows, []string{presets, decode.FormatTime(c.Time, c.Layout.Unit), decode.Relative(c.Time, p.Now)})
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
