package main

import (
	"errors"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/idtext"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// decoding is one run of decode.
type decoding struct {
	*report
	ids idtext.Reader
}

func (p program) decode() *cobra.Command {
	var layout layoutFlag
	var encoding decode.Encoding
	cmd := &cobra.Command{
		Use:   "decode ID...",
		Short: "Show the parts of ids: bits, fields, time, encodings",
		Long: `Decode takes ids apart. It reads any encoding, and UUIDs, ULIDs and ObjectIDs,
and names the one it took. Without --layout or -g it guesses among the presets.
Texts that are no ids are named on standard error, and the exit code is 4.`,
		Example: `  snowfence decode --layout twitter 1541815603606036480 -o json
  snowfence next -n 3 | xargs snowfence decode --layout default`,
		Args:              oneOrMore("an id"),
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

// run decodes and prints every word, or notes that it is no id. An error is returned if printing fails.
func (d *decoding) run(words []string) error {
	printed, failed := false, false
	for _, word := range words {
		document, shown, err := d.ids.Read(word)
		if err != nil {
			d.say(text.Message(err))
			failed = true
			continue
		}
		if printed {
			shown = "\n" + shown
		}
		printed = true
		if err := d.answer(document, shown); err != nil {
			return err
		}
	}
	if failed {
		return reported(exitInvalidID)
	}
	return nil
}
