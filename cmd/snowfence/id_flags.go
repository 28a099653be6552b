package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/text"
)

// idSourceHelp is the part of verbs' help about sources.
const idSourceHelp = `A source is a file, - for standard input, or the URL of a database. Files and
streams hold one id a line, or CSV with --column; gzip and zstd are recognised.
Blank lines and lines that begin with # are left out. Ids are decimal, or hex
with 0x in front; --encoding is for others. A database,
postgres://USER@HOST/DATABASE or mysql://..., needs a statement that returns one
column; ${NAME} in its URL is a variable.

Behind a # stands the column of one file, orders.csv#id, or the statement of one
database, URL#select id from orders. --column and --query are for all others. A
path with a # in its name is given with another # behind it.

A text that is no id ends the verb, with its line (exit code 4). --memory is all
that is used; the rest goes to a file in --temp that is gone at the end.`

// idFlags are the flags of the verbs that read ids and sort them.
type idFlags struct {
	*report
	cmd     *cobra.Command
	layout  layoutFlag
	options source.Options // of sources without options of their own
	memory  int64
	temp    string
	limit   int
}

// sorting runs do within the limits of the flags, and shows how far it is. It also returns that in words.
func (f *idFlags) sorting(do func(idsort.Config) error) (far string, err error) {
	progress := &idsort.Progress{}
	debug.SetMemoryLimit(idsort.Heap(f.memory))
	stop := f.watch(progress)
	err = do(idsort.Config{Memory: f.memory, Temp: f.temp, Progress: progress})
	stop()
	return howFar(progress.Snapshot()), err
}

// reading returns the options of sources that the program gives: standard input, variables and databases' clients.
func (p program) reading() source.Options {
	return source.Options{
		Stdin:  p.stdin,
		Expand: func(url string) (string, error) { return config.Expand(url, p.environ) },
		Connect: func(ctx context.Context, url string) (source.Database, error) {
			db, err := openstore.OpenDatabase(ctx, url)
			if err != nil {
				return nil, err // not db: an interface of a nil pointer is not nil
			}
			return db, nil
		},
	}
}

// add adds the flags to a verb. Layout is the help of --layout, empty for a verb without it; of is the help of --limit.
func (f *idFlags) add(p program, cmd *cobra.Command, layout string, limit int, of string) {
	f.report, f.cmd = p.report(cmd), cmd
	if layout != "" {
		f.layout.add(cmd, layout)
		f.layout.parse = parseNarrow
	}
	f.options = p.reading()
	flags := cmd.Flags()
	encodingFlag(cmd, &f.options.Encoding, "encoding of the ids: %s (default: decimal, or hex with 0x)")
	flags.Var(textFlag(&f.options.Column, "NAME|N"), "column", "column of CSV, by its name in the header or by its number from 1")
	flags.Var(textFlag(&f.options.Query, "SQL"), "query", "statement of databases that returns one column")
	f.memory, f.limit = idsort.DefaultMemory, limit
	flags.Var(&parsed[int64]{value: &f.memory, text: "1GiB", word: "SIZE", parse: parseMemory}, "memory", "most memory of the program, at least 64MiB")
	flags.Var(textFlag(&f.temp, "DIR"), "temp", "folder for ids that do not fit the memory (default: the system's)")
	flags.Var(numberFlag(&f.limit, fmt.Sprint(limit), 0, 100_000), "limit", of)
}

// input looks at a source, and opens it later. A wrong option is an error of usage.
func (f *idFlags) input(place source.Place) (idsort.Input, error) {
	options := place.Options(f.options)
	open := func(ctx context.Context) (source.Source, error) { return source.Open(ctx, place.Name, options) }
	return idsort.Input{Open: open}, source.Look(place.Name, options)
}

// parseMemory reads an amount of memory.
func parseMemory(size string) (int64, error) {
	n, err := text.ParseBytes(size)
	if err == nil && n < idsort.LeastMemory {
		err = fmt.Errorf("must be at least %s", text.Bytes(idsort.LeastMemory))
	}
	return n, err
}

// layoutFlag is --layout, and --generator of verbs that can take the layout from the configuration.
type layoutFlag struct {
	parsed[snowfence.Layout]
	layout   snowfence.Layout
	settings *settings // with the generator; nil without a configuration
}

// add adds the flag, read by [config.ParseLayout].
func (f *layoutFlag) add(cmd *cobra.Command, help string) {
	f.parsed = parsed[snowfence.Layout]{value: &f.layout, word: "SPEC", parse: config.ParseLayout}
	cmd.Flags().Var(&f.parsed, "layout", help)
	completeFlag(cmd, "layout", presetNames()...)
}

// parseNarrow reads the layout of ids of at most 64 bits.
func parseNarrow(s string) (snowfence.Layout, error) {
	l, err := config.ParseLayout(s)
	if err == nil && l.Wide {
		err = fmt.Errorf("layout %s is wide: must have at most 64 bits", s)
	}
	return l, err
}

// given returns the layout, or nil, and the flag's text when that is the name of a
// preset: several presets may have one layout.
func (f *layoutFlag) given() (l *snowfence.Layout, preset string) {
	if f.text == "" {
		return nil, ""
	}
	if slices.Contains(presetNames(), f.text) {
		preset = f.text
	}
	return &f.layout, preset
}

// addChoice adds --layout and --generator.
func (f *layoutFlag) addChoice(cmd *cobra.Command) {
	f.add(cmd, "layout of the ids: a preset's name or a text form (default: the generator's)")
	f.settings = settingFlags(cmd, "config")
	generatorFlag(cmd, &f.settings.generator, "generator of the configuration (default: the one named default, or the only one)")
}

// choose returns the layout of --layout, or else that of a generator.
func (f *layoutFlag) choose(p program) (none snowfence.Layout, err error) {
	s := f.settings
	switch {
	case f.text != "" && s.generator != "":
		return none, usage(s.cmd, errors.New("--layout and --generator both name a layout: must be one of them"))
	case f.text != "":
		return f.layout, nil
	}
	c, name, g, err := s.loadGenerator(p)
	if err == nil && !g.Fenced() {
		err = usage(s.cmd, fmt.Errorf("generator %s is of kind %s: must be of kind %s or %s", name, g.Kind, config.KindSnowflake, config.KindWide))
	}
	if err != nil {
		return none, err
	}
	return p.layoutOf(s.cmd, c, name)
}

// oneStream refuses standard input for two sources.
func oneStream(places []source.Place) error {
	isStream := func(p source.Place) bool { return p.Name == "-" }
	if first := slices.IndexFunc(places, isStream); first >= 0 && slices.ContainsFunc(places[first+1:], isStream) {
		return errors.New("standard input can be read once only, and - is given several times")
	}
	return nil
}
