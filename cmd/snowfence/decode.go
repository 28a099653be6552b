package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/idtext"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// decoding is one run of decode.
type decoding struct {
	*report
	ids     idtext.Reader
	printed bool // an id was printed
	failed  bool // a text is no id
}

func (p program) decode() *cobra.Command {
	var layout layoutFlag
	var encoding decode.Encoding
	cmd := &cobra.Command{
		Use:   "decode ID...",
		Short: "Show the parts of ids: bits, fields, time, encodings",
		Long: `Decode takes ids apart and shows their bits, every field, the time in UTC, here
and relative to now, and every encoding.

An id is read in any encoding: decimal, hex with or without 0x, base32 (13
digits) or base62 (11 digits). Where a text has the form of several, decode says
which one it took; --encoding settles it. UUIDs, ULIDs and ObjectIDs are read as
well, unless --layout or --encoding says that ids are numbers. With - ids are
read from standard input, separated by blanks or lines.

With -g the ids are of a generator of the configuration; texts of an
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
	out := p.report(cmd)
	layout.add(cmd, "layout of the ids: a preset's name or a text form (default: guess)")
	encodingFlag(cmd, &encoding, "encoding of the ids: %s (default: any)")
	s := settingFlags(cmd, "data")
	generatorFlag(cmd, &s.generator, "generator of the configuration whose ids they are")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		d := decoding{report: out, ids: idtext.Reader{Encoding: encoding, Now: p.clock.Wall(), Zone: p.zone}}
		if l, preset := layout.given(); l != nil {
			d.ids.Source, d.ids.Preset = &decode.Source{Layout: *l}, preset
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
	if err == nil && (d.ids.Source != nil || d.ids.Encoding != "") {
		err = usage(s.cmd, errors.New("--generator describes the ids: leave --layout and --encoding out"))
	}
	if err != nil {
		return err
	}
	if g.Kind == builtin.KindOpaque {
		o, err := d.builtin(c).OpenOpaque(s.cmd.Context(), name)
		if err != nil {
			return err
		}
		d.ids.Open, name, d.ids.Encoding = o.Read, o.Of(), decode.Decimal
		g = c.Generators[name]
	}
	layout, err := d.layoutOf(s.cmd, c, name)
	if err != nil {
		return err
	}
	d.ids.Source = &decode.Source{Generator: name, Layout: layout, Kind: g.Kind, Format: builtin.Formats()[g.Kind], Settings: g.Settings}
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
	document, shown, err := d.ids.Read(word)
	if err != nil {
		d.say(text.Message(err))
		d.failed = true
		return nil
	}
	if d.printed {
		shown = "\n" + shown
	}
	d.printed = true
	return d.answer(document, shown)
}
