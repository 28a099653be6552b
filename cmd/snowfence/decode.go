package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// decodeVerb is one run of decode.
type decodeVerb struct {
	program
	form     form
	encoding decode.Encoding // empty: any
	source   *decode.Source  // of the ids; nil: guess
	preset   string          // the name that --layout gave, if it is a preset's
	opaque   *builtin.Opaque // shows the ids, or nil
	now      time.Time

	printed int  // ids so far
	failed  bool // some text is no id
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
	generatorFlag(cmd, &generator, "generator of the configuration whose ids they are")
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

// ofGenerator has the verb decode the ids of a generator, or the texts of an opaque one.
func (v *decodeVerb) ofGenerator(ctx context.Context, s *settings, name string) error {
	c, err := s.load(v.program)
	if err != nil {
		return err
	}
	name, g, err := s.choose(c, name)
	if err == nil && (v.source != nil || v.encoding != "") {
		err = usage(s.cmd, errors.New("--generator says what the ids are: leave --layout and --encoding out"))
	}
	if err != nil {
		return err
	}
	if g.Kind == builtin.KindOpaque {
		if v.opaque, err = v.builtin(c).OpenOpaque(ctx, name); err != nil {
			return err
		}
		name, v.encoding = v.opaque.Of(), decode.Decimal
		g = c.Generators[name]
	}
	layout, err := v.layoutOf(ctx, c, name)
	if err != nil {
		return err
	}
	v.source = &decode.Source{Generator: name, Layout: layout, Kind: g.Kind, Format: builtin.Formats()[g.Kind], Settings: g.Settings}
	return nil
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
			v.note("standard input: word %d: is longer than %d bytes: must be an id; words behind it were not read", count+1, bufio.MaxScanTokenSize)
			v.failed = true
		case err != nil:
			return fmt.Errorf("read standard input: %w", err)
		}
	}
	if v.failed {
		return reported(exitInvalidID)
	}
	return nil
}

// one decodes and prints one word. A word that is no id is reported at once, and the
// run goes on; the error returned is one of printing.
func (v *decodeVerb) one(word string) error {
	document, shown, err := v.read(word)
	if err != nil {
		v.say(text.Message(err))
		v.failed = true
		return nil
	}
	if v.printed++; v.printed > 1 {
		shown = "\n" + shown
	}
	return v.answer(v.form, document, shown)
}

// read finds out what the likeliest reading of a word says, or returns a [snowfence.ErrInvalidID].
func (v *decodeVerb) read(word string) (document any, shown string, err error) {
	id, d := word, &decoded{Input: word}
	if v.opaque != nil {
		if id, err = v.opaque.Read(word); err != nil {
			return nil, "", err
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
		err = v.guess(id, d)
	}
	p := &idPage{decodeVerb: v}
	switch {
	case err != nil:
		return nil, "", err
	case f != nil:
		d := foreign{f, word}
		return d, p.foreign(d), nil
	case v.source != nil:
		d.result.Preset = cmp.Or(v.preset, d.result.Preset)
		d.Document = d.result.Document()
	}
	readings := d.result.Readings
	d.ReadAs, d.OtherReadings = readings[0].Encoding, readings[1:]
	return d, p.number(d), nil
}

// guess decodes an id under the likeliest layout.
func (v *decodeVerb) guess(id string, d *decoded) error {
	readings, err := decode.Readings(id, v.encoding)
	if err != nil {
		return err
	}
	d.guesses = decode.Guess(readings[0].ID, v.now)
	if len(d.guesses) == 0 {
		return &snowfence.IDError{Form: "any preset", Text: readings[0].Text, Position: -1, Reason: "has no place in any of their layouts"}
	}
	d.Document, d.result = decode.GuessedDocument(d.guesses), d.guesses[0].Result
	d.result.Readings = readings
	return nil
}
