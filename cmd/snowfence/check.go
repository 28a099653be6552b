package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/check"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsort"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// defaultCheckLimit is how many duplicates, and how many ranges, are named unless
// another number is wanted.
const defaultCheckLimit = 20

// checkVerb is one run of check.
type checkVerb struct {
	program
	form    form
	config  check.Config
	sorting sorting
	flags   idsource.Options // of sources that don't say otherwise
	places  []idsource.Place
}

func (p program) check() *cobra.Command {
	var layout layoutFlag
	var source idSourceFlags
	var stdin streams
	v := checkVerb{program: p}
	cmd := &cobra.Command{
		Use:   "check SOURCE...",
		Short: "Find ids that occur twice, in files, streams and databases, and why",
		Long: `Check reads ids from any number of sources and finds those that occur more than
once, within a source and between sources. It is exact, names the first
duplicates with their places, and says what its evidence tells of the cause:
the same worker in two places, overlapping terms, a clock set back, layouts
mixed up, or rows that were copied or doubled and no collision at all. What no
rule explains, or more than one, it calls unexplained.

` + idSourceHelp + `

A source may have options of its own behind a #, as orders.csv#column=id,
ids.bin#format=binary or -#encoding=hex; the keys are column, encoding, format,
gzip, separator, table and query (last). The flags hold for all sources that
don't say otherwise. A path that itself ends so is given with an option behind
it: a#column=1#gzip=auto.

It works in the --memory that it is given, however many ids there are; the rest
goes to a file in --temp that is gone when the check ends, also by a signal.
The sources should be given in the order in which the ids were made: causes
show in that order.

Without --layout the layout is guessed among the presets, and the output says
so. -o json prints one object: ids, distinct, duplicates, repeated, invalid,
sources, between (and between_partial, if there are too many pairs to count),
named, ranges, range_count, layout, preset, guessed, causes, spilled; -o table
the places of the duplicates.

Exit codes: 0 no duplicates, 1 duplicates; 2 usage, 3 a source or the disk
failed, 4 what was read is no id; 130 interrupted by SIGINT, 143 by SIGTERM,
which says on standard error how far it came, and prints no report.`,
		Example: `  snowfence check orders.txt
  snowfence check --column order_id eu.csv.gz us.csv.gz
  snowfence check 'eu.csv#column=id' 'us.csv#column=2' 'old.bin#format=binary'
  zcat ids-*.gz | snowfence check --memory 512MiB -
  snowfence check --layout twitter --table orders --column id \
      'postgres://me:${PGPASSWORD}@db.internal/shop'`,
		Args: func(cmd *cobra.Command, args []string) error {
			var err error
			if v.places, err = placesOf(stdin.among(args)); err != nil {
				return usage(cmd, err)
			}
			return nil
		},
	}
	f := outputFlag(cmd)
	source.add(cmd)
	stdin.add(cmd)
	layout.add(cmd, "layout of the ids: a preset's name or a text form (default: guess)")
	v.sorting.add(cmd, defaultCheckLimit, "how many duplicates and ranges to name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v.form, v.flags = *f, source.read(p)
		v.config = check.Config{Memory: v.sorting.memory, Temp: v.sorting.temp, Limit: v.sorting.limit, Now: p.clock.Wall()}
		if layout.text != "" {
			v.config.Layout, v.config.Preset = &layout.layout, layout.preset()
		}
		return sourceFault(cmd, v.run(cmd.Context()))
	}
	return cmd
}

// run checks and prints.
func (v *checkVerb) run(ctx context.Context) error {
	inputs, err := v.inputs()
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(idsort.Heap(v.config.Memory))
	v.config.Progress = &idsort.Progress{}
	stop := v.watch(v.config.Progress, v.sorting.progress)
	report, err := check.Run(ctx, inputs, v.config)
	stop()
	switch {
	case err != nil && ctx.Err() != nil:
		return v.interrupted(ctx, " %s; whether there are duplicates is not known", howFar(v.config.Progress.Snapshot()))
	case err != nil:
		return err
	}
	for _, s := range report.Sources {
		if s.Invalid > 0 {
			v.warn(fmt.Sprintf("%s: %s skipped, the first: %s", s.Name, countOf(s.Invalid, "invalid id"), message(errors.New(s.FirstInvalid))))
		}
	}
	if err := v.report(report); err != nil {
		return err
	}
	if report.Duplicates > 0 {
		return reported(exitFailure)
	}
	return nil
}

// inputs looks at all sources before the first is read.
func (v *checkVerb) inputs() ([]idsort.Input, error) {
	var inputs []idsort.Input
	for _, place := range v.places {
		options, err := place.Options(v.flags)
		if err != nil {
			return nil, err
		}
		in := idsort.Input{Open: func(ctx context.Context) (idsource.Source, error) { return idsource.Open(ctx, place.Name, options) }}
		if in.Size, err = idsource.Look(place.Name, options); err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// parseMemory reads an amount of memory.
func parseMemory(text string) (int64, error) {
	n, err := parseBytes(text)
	if err == nil && n < idsort.LeastMemory {
		err = fmt.Errorf("must be at least %s", idsort.Bytes(idsort.LeastMemory))
	}
	return n, err
}

// parseBytes reads 512MiB, 2G or 1.5GB.
func parseBytes(text string) (int64, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:end], 64)
	unit, known := map[string]float64{
		"": 1, "B": 1,
		"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
		"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
		"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}[strings.ToUpper(strings.TrimSpace(text[end:]))]
	if err != nil || !known || n < 0 || n*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q: must be an amount of bytes, such as 512MiB or 2GB", text)
	}
	return int64(n * unit), nil
}

// parseLimit reads how many things to name.
func parseLimit(text string) (int, error) {
	const most = 100_000
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("must be a number from 0 to %d", most)
	}
	return n, nil
}
