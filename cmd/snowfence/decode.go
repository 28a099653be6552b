package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// decoding is one run of decode.
type decoding struct {
	report
	encoding decode.Encoding // empty: any
	source   *decode.Source  // of the ids; nil: guess
	preset   string          // the name that --layout gave, if it is a preset's
	opaque   *builtin.Opaque // shows the ids, or nil
	now      time.Time
	printed  bool // an id was printed
	failed   bool // a text is no id
}

// decoded is an id of at most 64 bits, as the JSON form has it.
type decoded struct {
	decode.Document
	Input  string          `json:"input"`   // as given
	ReadAs decode.Encoding `json:"read_as"` // the encoding that was taken
	// OtherReadings are the numbers that the text is in other encodings.
	OtherReadings []decode.Reading `json:"other_readings,omitempty"`

	result  decode.Result      // of the likeliest reading
	guesses []decode.Candidate // the candidates of a guess, the likeliest first
}

// foreign is a UUID, a ULID or an ObjectID, or an id of a wide layout, as the JSON form has it.
type foreign struct {
	*decode.Foreign
	Input string `json:"input"` // as given
}

func (p program) decode() *cobra.Command {
	var layout layoutFlag
	var encoding decode.Encoding
	cmd := &cobra.Command{
		Use:   "decode ID...",
		Short: "Show what ids say: bits, fields, time, encodings",
		Long: `Decode takes ids apart and shows their bits, every field, the time in UTC, here
and relative to now, and every encoding.

An id is read in any encoding: decimal, hex with or without 0x, base32 (13
digits) or base62 (11 digits). Where a text has the form of several, decode says
which one it took; --encoding settles it. UUIDs, ULIDs and ObjectIDs are read as
well, unless --layout or --encoding says that ids are numbers. With - ids are
read from standard input, separated by blanks or lines.

With -g the ids are those of a generator of the configuration; texts of an
opaque one are opened first. Without --layout or -g decode guesses among the
presets, says so, and lists the others that give a plausible time.

Texts that are no ids are named on standard error; the others are decoded all
the same, and the exit code is 4. -o json prints one object a line:
id, preset, layout, time, tick, datacenter, worker, sequence, fields, encodings,
guessed, candidates, input, read_as, other_readings, generator; for an id
without a layout or with a wide one: id, format, version, about, time, fields,
hex, input, generator.`,
		Example: `  snowfence decode 1541815603606036480
  snowfence decode --layout twitter 1541815603606036480 -o json
  snowfence decode --layout ms41-worker10-seq12@2026-01-01 0x01B2E8C5D2400000
  snowfence decode 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
  snowfence decode --layout uuid8 01a20566-d121-819a-b9e4-5b76510d2572
  snowfence decode --config snowfence.yaml -g public-order order_1ASD13XH1F800B
  snowfence next -n 3 | snowfence decode --layout default -`,
		Args:              oneOrMore("an id, or - to read ids from standard input"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := outputFlag(cmd)
	layout.add(cmd, "layout of the ids: a preset's name or a text form (default: guess)")
	encodingFlag(cmd, &encoding, "encoding of the ids: %s (default: any)")
	s := settingFlags(cmd, "data")
	generatorFlag(cmd, &s.generator, "generator of the configuration whose ids they are")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d := decoding{report: report{program: p, form: *f}, encoding: encoding, now: p.clock.Wall()}
		if l, preset := layout.given(); l != nil {
			d.source, d.preset = &decode.Source{Layout: *l}, preset
		}
		if s.generator != "" {
			if err := d.ofGenerator(s); err != nil {
				return err
			}
		}
		return d.run(args)
	}
	return cmd
}

// ofGenerator makes the run decode the ids of a generator, or the texts of an opaque one.
func (d *decoding) ofGenerator(s *settings) error {
	c, name, g, err := s.loadGenerator(d.program)
	if err == nil && (d.source != nil || d.encoding != "") {
		err = usage(s.cmd, errors.New("--generator says what the ids are: leave --layout and --encoding out"))
	}
	if err != nil {
		return err
	}
	if g.Kind == builtin.KindOpaque {
		if d.opaque, err = d.builtin(c).OpenOpaque(s.cmd.Context(), name); err != nil {
			return err
		}
		name, d.encoding = d.opaque.Of(), decode.Decimal
		g = c.Generators[name]
	}
	layout, err := d.layoutOf(s.cmd, c, name)
	if err != nil {
		return err
	}
	d.source = &decode.Source{Generator: name, Layout: layout, Kind: g.Kind, Format: builtin.Formats()[g.Kind], Settings: g.Settings}
	return nil
}

// run decodes every argument; - stands for the ids of standard input.
func (d *decoding) run(args []string) error {
	for _, arg := range args {
		if arg != "-" {
			if err := d.one(arg); err != nil {
				return err
			}
			continue
		}
		words, count := bufio.NewScanner(d.stdin), 0
		words.Split(bufio.ScanWords)
		for ; words.Scan(); count++ {
			if err := d.one(words.Text()); err != nil {
				return err
			}
		}
		switch err := words.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			d.note("standard input: word %d: is longer than %d bytes: must be an id; words behind it were not read", count+1, bufio.MaxScanTokenSize)
			d.failed = true
		case err != nil:
			return fmt.Errorf("read standard input: %w", err)
		}
	}
	if d.failed {
		return reported(exitInvalidID)
	}
	return nil
}

// one decodes and prints one word, or notes that the word is no id. An error is returned if printing fails.
func (d *decoding) one(word string) error {
	number, other, err := d.read(word)
	if err != nil {
		d.say(text.Message(err))
		d.failed = true
		return nil
	}
	if d.printed {
		d.Line("")
	}
	d.printed = true
	if other != nil {
		d.foreignText(other)
		return d.answer(other, "")
	}
	d.numberText(number)
	return d.answer(number, "")
}

// read decodes the likeliest reading of a word: a number or a foreign id. It returns a [snowfence.ErrInvalidID] for any other word.
func (d *decoding) read(word string) (n *decoded, f *foreign, err error) {
	id, other := word, (*decode.Foreign)(nil)
	n = &decoded{Input: word}
	if d.opaque != nil {
		if id, err = d.opaque.Read(word); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case d.source != nil:
		n.result, other, err = decode.Of(id, d.encoding, *d.source)
		n.result.Preset = cmp.Or(d.preset, n.result.Preset)
	case d.encoding == "":
		other, err = decode.ReadForeign(id)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case other != nil:
		return nil, &foreign{other, word}, nil
	case d.source != nil:
		n.Document = n.result.Document()
	default:
		if err = d.guess(id, n); err != nil {
			return nil, nil, err
		}
	}
	readings := n.result.Readings
	n.ReadAs, n.OtherReadings = readings[0].Encoding, readings[1:]
	return n, nil, nil
}

// guess decodes an id under the likeliest layout.
func (d *decoding) guess(id string, n *decoded) error {
	readings, err := decode.Readings(id, d.encoding)
	if err != nil {
		return err
	}
	n.guesses = decode.Guess(readings[0].ID, d.now)
	if len(n.guesses) == 0 {
		return &snowfence.IDError{Form: "any preset", Text: readings[0].Text, Position: -1, Reason: "has no place in any of their layouts"}
	}
	n.Document, n.result = decode.GuessedDocument(n.guesses), n.guesses[0].Result
	n.result.Readings = readings
	return nil
}

// label adds a label in the colour of a kind of field, and a value, unless the value is empty.
func (d *decoding) label(kind, label, value string) {
	if value != "" {
		d.WriteString(d.paint(kind, fmt.Sprintf("%-14s", label)))
		d.Line("%s", value)
	}
}

func (d *decoding) paint(kind, text string) string {
	if d.colour {
		return page.Paint(kind, text)
	}
	return text
}

// instant adds a time.
func (d *decoding) instant(at time.Time, unit time.Duration) {
	d.label("time", "time", decode.FormatTime(at, unit))
	d.label("time", "  local", decode.FormatTime(at.In(d.zone), unit))
	d.label("time", "  relative", decode.Relative(at, d.now))
}

// foreignText adds an id that is no number, with the version of a UUID.
func (d *decoding) foreignText(f *foreign) {
	d.Line("%s\n%s  %s\n", f.Input, strings.TrimSuffix(fmt.Sprintf("%s %d", f.Format, f.Version), " 0"), f.About)
	if f.Time != "" {
		d.instant(f.At, f.Unit)
	}
	for _, field := range f.Fields {
		d.label("", field.Name, field.Value)
	}
	d.Line("")
	for _, row := range [][2]string{{f.Format, f.ID}, {"hex", f.Hex}, {"generator", f.Generator}} {
		d.label("", row[0], row[1])
	}
}

// numberText adds the picture of a number, its fields and its encodings.
func (d *decoding) numberText(n *decoded) {
	d.heading(n)
	for _, line := range n.result.Picture(func(field int, text string) string { return d.paint(n.Fields[field].Kind, text) }) {
		d.WriteString(line + "\n")
	}
	d.Line("")
	for _, f := range n.Fields {
		switch f.Kind {
		case "unused":
		case "time":
			d.instant(n.result.Time, n.result.Layout.Unit)
			d.label(f.Kind, "  tick", strconv.FormatInt(n.Tick, 10))
		default:
			d.label(f.Kind, f.Name, strconv.FormatUint(f.Value, 10))
		}
	}
	d.Line("")
	e := n.Encodings
	fixed := e.FixedDecimal
	if fixed == e.Decimal {
		fixed = ""
	}
	for _, row := range [][2]string{
		{"decimal", e.Decimal}, {"  19 digits", fixed}, {"hex", e.Hex}, {"base32", e.Base32}, {"base62", e.Base62}, {"generator", n.Generator},
	} {
		d.label("", row[0], row[1])
	}
	if n.Guessed {
		d.others(n)
	}
}

// heading adds the encoding and the layout by which the id was read, and whether the layout is a guess.
func (d *decoding) heading(n *decoded) {
	as := ""
	if n.ReadAs != decode.Decimal || len(n.OtherReadings) > 0 {
		as = ", read as " + string(n.ReadAs)
	}
	d.Line("%s%s", n.Input, as)
	for _, other := range n.OtherReadings {
		d.Line("  as %s it would be %s", other.Encoding, other.Text)
	}
	name := cmp.Or(d.preset, strings.Join(decode.PresetsOf(n.result.Layout), " or "), "layout")
	if n.Guessed {
		name += " (guessed)"
	}
	d.Line("%s  %s", name, n.Layout)
	if n.Guessed && !n.guesses[0].Plausible {
		d.Line("  no preset gives a plausible time; this one comes nearest")
	}
	d.Line("")
}

// others lists the first plausible candidates that were not taken.
func (d *decoding) others(n *decoded) {
	const most = 6
	var rows [][]string
	for _, c := range n.guesses[1:] {
		if c.Plausible && len(rows) < most {
			presets := strings.Join(decode.PresetsOf(c.Layout), " or ")
			rows = append(rows, []string{presets, decode.FormatTime(c.Time, c.Layout.Unit), decode.Relative(c.Time, d.now)})
		}
	}
	switch {
	case len(rows) > 0:
		d.Line("\nguessed; other presets give plausible times too (--layout NAME settles it):")
	case n.guesses[0].Plausible: // else the heading has it
		d.Line("\nguessed: no other preset gives a plausible time")
	}
	d.Table("  ", "preset, time, ", rows)
	if more := len(n.Candidates) - len(rows); more > 0 && len(rows) > 0 {
		d.Line("  and %d more (-o json lists them all)", more)
	}
}
