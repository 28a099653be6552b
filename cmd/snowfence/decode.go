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
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// maxListed is how many other candidates the text of a guess lists.
const maxListed = 6

// decodeVerb is one run of decode.
type decodeVerb struct {
	program
	form     form
	encoding decode.Encoding // empty: any
	source   *decode.Source  // of the ids; nil: guess
	preset   string          // the name that --layout gave, if it is a preset's
	opaque   *builtin.Opaque // shows the ids, or nil
	now      time.Time

	printed int        // ids so far
	rows    [][]string // of the table
	failed  bool       // some id was none
}

// decoded is an id with what is known of it, as the JSON form has it.
type decoded struct {
	decode.Document
	// Input is the text as given, ReadAs the encoding that it was taken for.
	Input  string          `json:"input"`
	ReadAs decode.Encoding `json:"read_as"`
	// OtherReadings are the numbers that the text is in other encodings.
	OtherReadings []decode.Reading `json:"other_readings,omitempty"`

	result     decode.Result
	candidates []decode.Candidate // of a guess, the one taken first
}

// foreign is a UUID, a ULID or an ObjectID, or an id of a wide layout.
type foreign struct {
	*decode.Foreign
	Input string `json:"input"`
}

// shown is an id in the forms of output; its JSON form is itself.
type shown interface {
	row() []string
	text(v *decodeVerb) string
}

func (p program) decode() *cobra.Command {
	var layout layoutFlag
	var encoding decode.Encoding
	var generator string
	cmd := &cobra.Command{
		Use:   "decode ID...",
		Short: "Show what ids say: bits, fields, time, encodings",
		Long: `Decode takes ids apart and shows their bits, every field, the time in UTC, here
and relative to now, and every encoding.

An id is read in any encoding: decimal, hex with or without 0x, base32 (13
digits) or base62 (11 digits). Where a text has the form of several, decode says
which one it took; --encoding settles it. With - ids are read from standard
input, separated by blanks or lines.

UUIDs, ULIDs and ObjectIDs are read as well, unless --layout or --encoding says
that ids are numbers. Decode names the version of a UUID, and the time if it has
one. A wide layout, such as uuid8 or objectid, says what the other bits are.

With -g the ids are those of a generator of the configuration. Texts of an
opaque one are opened, and decoded as ids of the generator behind it.

Without --layout or -g decode guesses among the presets, says so, and lists the
others that give a plausible time; in a table, ? marks a guess.

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
  snowfence next -n 3 | snowfence decode --layout default -o table -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, fmt.Errorf("needs an id, or - to read ids from standard input"))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := outputFlag(cmd)
	layout.add(cmd, "layout of the ids: a preset's name or a text form (default: guess)")
	encodingFlag(cmd, &encoding, "encoding of the ids: %s (default: any)")
	cmd.Flags().VarP(textFlag(&generator, "NAME"), "generator", "g", "generator of the configuration whose ids they are")
	s := settingFlags(cmd, "data")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v := decodeVerb{program: p, form: *f, encoding: encoding, now: p.clock.Wall()}
		if l, preset := layout.given(); l != nil {
			v.source, v.preset = &decode.Source{Layout: *l}, preset
		}
		if generator != "" {
			if err := v.ofGenerator(cmd.Context(), s, generator); err != nil {
				return err
			}
		}
		return v.run(args)
	}
	return cmd
}

// run decodes every argument; - stands for the ids of standard input.
func (v *decodeVerb) run(args []string) error {
	for _, arg := range args {
		if arg != "-" {
			if err := v.one(arg); err != nil {
				return err
			}
			continue
		}
		words := bufio.NewScanner(v.stdin)
		words.Split(bufio.ScanWords)
		count := 0
		for ; words.Scan(); count++ {
			if err := v.one(words.Text()); err != nil {
				return err
			}
		}
		switch err := words.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			v.say(fmt.Sprintf("standard input: word %d: is longer than %d bytes: must be an id; words behind it were not read",
				count+1, bufio.MaxScanTokenSize))
			v.failed = true
		case err != nil:
			return fmt.Errorf("read standard input: %w", err)
		}
	}
	if err := v.print(table(decodeColumns, v.rows)); err != nil { // no rows unless they are asked for
		return err
	}
	if v.failed {
		return reported(exitInvalidID)
	}
	return nil
}

// one decodes and prints one word. A word that is no id is reported at once, and the
// run goes on; the error returned is one of printing.
func (v *decodeVerb) one(word string) error {
	d, err := v.read(word)
	if err != nil {
		v.say(text.Message(err))
		v.failed = true
		return nil
	}
	v.printed++
	switch v.form {
	case jsonForm:
		return v.printJSON(d)
	case tableForm:
		v.rows = append(v.rows, d.row())
		return nil
	default:
		separator := ""
		if v.printed > 1 {
			separator = "\n"
		}
		return v.print(separator + d.text(v))
	}
}

// read finds out what the likeliest reading of a word says, or a [snowfence.ErrInvalidID].
func (v *decodeVerb) read(word string) (_ shown, err error) {
	id, d := word, decoded{Input: word}
	if v.opaque != nil {
		if id, err = v.opaque.Read(word); err != nil {
			return nil, err
		}
	}
	var f *decode.Foreign
	switch {
	case v.source != nil:
		d.result, f, err = decode.Of(id, v.encoding, *v.source)
	case v.encoding == "":
		f, err = decode.ReadForeign(id)
	}
	if err == nil && f == nil && v.source == nil {
		err = v.guess(id, &d)
	}
	switch {
	case err != nil:
		return nil, err
	case f != nil:
		return foreign{f, word}, nil
	case v.source != nil:
		d.result.Preset = cmp.Or(v.preset, d.result.Preset)
		d.Document = d.result.Document()
	}
	readings := d.result.Readings
	d.ReadAs, d.OtherReadings = readings[0].Encoding, readings[1:]
	return d, nil
}

// guess decodes an id under the likeliest layout.
func (v *decodeVerb) guess(id string, d *decoded) error {
	readings, err := decode.Readings(id, v.encoding)
	if err != nil {
		return err
	}
	d.candidates = decode.Guess(readings[0].ID, v.now)
	if len(d.candidates) == 0 {
		return &snowfence.IDError{Form: "any preset", Text: readings[0].Text, Position: -1, Reason: "has no place in any of their layouts"}
	}
	d.Document, d.result = decode.GuessedDocument(d.candidates), d.candidates[0].Result
	d.result.Readings = readings
	return nil
}

// decodeColumns are the columns of the table, and row one line of it.
const decodeColumns = ">id, layout, time, >datacenter, >worker, >sequence"

func (d decoded) row() []string {
	name := cmp.Or(d.Preset, "custom")
	if d.Guessed {
		name += "?"
	}
	number := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatInt(*n, 10)
	}
	return []string{d.ID, name, d.Time, number(d.Datacenter), number(d.Worker), number(d.Sequence)}
}

func (d foreign) row() []string {
	return []string{d.ID, d.name(), cmp.Or(d.Time, "-"), "-", "-", "-"}
}

// name is the format, with the version of a UUID.
func (d foreign) name() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %d", d.Format, d.Version), " 0")
}

func (d foreign) text(v *decodeVerb) string {
	var p page
	p.line("%s\n%s  %s\n", d.Input, d.name(), d.About)
	if d.Time != "" {
		v.time(&p, d.At, d.Unit)
	}
	for _, f := range d.Fields {
		v.line(&p, "", f.Name, f.Value)
	}
	p.line("")
	v.line(&p, "", d.Format, d.ID)
	v.line(&p, "", "hex", d.Hex)
	v.whose(&p, d.Generator)
	return p.String()
}

// line prints a label and a value.
func (v *decodeVerb) line(p *page, kind, label, value string) {
	p.WriteString(v.paint(kind, fmt.Sprintf("%-14s", label)))
	p.line("%s", value)
}

// whose prints the generator, if it is known.
func (v *decodeVerb) whose(p *page, generator string) {
	if generator != "" {
		v.line(p, "", "generator", generator)
	}
}

// time prints an instant.
func (v *decodeVerb) time(p *page, at time.Time, unit time.Duration) {
	v.line(p, "time", "time", decode.FormatTime(at, unit))
	v.line(p, "time", "  local", decode.FormatTime(at.In(v.zone), unit))
	v.line(p, "time", "  relative", decode.Relative(at, v.now))
}

// text is the picture and all that follows from it.
func (d decoded) text(v *decodeVerb) string {
	var p page
	v.heading(&p, d)
	p.line("")
	for _, line := range d.result.Picture(func(field int, text string) string { return v.paint(d.Fields[field].Kind, text) }) {
		p.WriteString(line + "\n")
	}
	p.line("")
	line := func(kind, label, value string) { v.line(&p, kind, label, value) }
	for _, f := range d.Fields {
		switch f.Kind {
		case "unused":
		case "time":
			v.time(&p, d.result.Time, d.result.Layout.Unit)
			line(f.Kind, "  tick", strconv.FormatInt(d.Tick, 10))
		default:
			line(f.Kind, f.Name, strconv.FormatUint(f.Value, 10))
		}
	}
	p.line("")
	line("", "decimal", d.Encodings.Decimal)
	if d.Encodings.FixedDecimal != d.Encodings.Decimal {
		line("", "  19 digits", d.Encodings.FixedDecimal)
	}
	line("", "hex", d.Encodings.Hex)
	line("", "base32", d.Encodings.Base32)
	line("", "base62", d.Encodings.Base62)
	v.whose(&p, d.Generator)
	v.others(&p, d)
	return p.String()
}

// heading says what the id was read as, under which layout, and whether that is a guess.
func (v *decodeVerb) heading(p *page, d decoded) {
	as := ""
	if d.ReadAs != decode.Decimal || len(d.OtherReadings) > 0 {
		as = ", read as " + string(d.ReadAs)
	}
	p.line("%s%s", d.Input, as)
	for _, other := range d.OtherReadings {
		p.line("  as %s it would be %s", other.Encoding, other.Text)
	}
	name := cmp.Or(v.preset, strings.Join(decode.PresetsOf(d.result.Layout), " or "), "layout")
	if d.Guessed {
		name += " (guessed)"
	}
	p.line("%s  %s", name, d.Layout)
	if d.Guessed && !d.candidates[0].Plausible {
		p.line("  no preset gives a plausible time; this one comes nearest")
	}
}

// others lists the candidates that were not taken.
func (v *decodeVerb) others(p *page, d decoded) {
	if !d.Guessed {
		return
	}
	var rows [][]string
	for _, c := range d.candidates[1:] {
		if c.Plausible && len(rows) < maxListed {
			rows = append(rows, []string{strings.Join(decode.PresetsOf(c.Layout), " or "), decode.FormatTime(c.Time, c.Layout.Unit), decode.Relative(c.Time, v.now)})
		}
	}
	switch {
	case len(rows) == 0 && !d.candidates[0].Plausible:
		return // said at the top
	case len(rows) == 0:
		p.line("\nguessed: no other preset gives a plausible time")
		return
	}
	p.line("\nguessed; other presets give plausible times too (--layout NAME settles it):")
	p.table("  ", "preset, time, ", rows)
	if more := len(d.Candidates) - len(rows); more > 0 {
		p.line("  and %d more (-o json lists them all)", more)
	}
}
