package main

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/forensics/check"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// defaultCheckLimit is how many duplicates are named by default.
const defaultCheckLimit = 20

// checkVerb is one run of check.
type checkVerb struct {
	program
	idFlags
	places []source.Place
}

func (p program) check() *cobra.Command {
	v := checkVerb{program: p}
	cmd := &cobra.Command{
		Use:   "check SOURCE...",
		Short: "Find ids that occur twice, in files, streams and databases, and why",
		Long: `Check reads ids from any number of sources and finds those that occur more than
once, within a source and between sources, with their places. Where the numbers
show a cause, it names it: one worker id in two sources, a clock set back, or
copied rows; ids that look rounded come first. It calls all others undecided.

` + idSourceHelp + `

Without --layout the layout is guessed among the presets. -o json prints one
object: ids, distinct, duplicates, repeated, invalid, complete, sources, between
(and between_partial, if there are too many pairs), named, layout, preset,
guessed, causes, spilled.

Exit codes: 0 no duplicates, 1 duplicates; 2 usage, 3 a source or the disk
failed, 4 what was read is no id, or a source had no ids, or some were skipped,
and the others are all different; 130 interrupted by SIGINT, 143 by SIGTERM.`,
		Example: `  snowfence check orders.txt
  snowfence check --column order_id eu.csv.gz us.csv.gz
  snowfence check 'eu.csv#column=id' 'us.csv#column=2' old.txt
  zcat ids-*.gz | snowfence check --memory 512MiB -
  snowfence check --layout twitter --table orders --column id \
      'postgres://me:${PGPASSWORD}@db.internal/shop'`,
		Args: func(cmd *cobra.Command, args []string) error {
			args = v.streams.among(args)
			if len(args) == 0 {
				return usage(cmd, errors.New("needs a source: a file, - for standard input, or the URL of a database"))
			}
			for _, arg := range args {
				place, err := source.ParsePlace(arg)
				if err != nil {
					return usage(cmd, err)
				}
				v.places = append(v.places, place)
			}
			if err := oneStream(v.places); err != nil {
				return usage(cmd, err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return byClass(cmd, v.run(cmd.Context())) },
	}
	v.add(p, cmd, "layout of the ids: a preset's name or a text form (default: guess)", defaultCheckLimit, "how many duplicates to name")
	return cmd
}

// run checks and prints.
func (v *checkVerb) run(ctx context.Context) error {
	var inputs []idsort.Input // all are looked at before the first is read
	for _, place := range v.places {
		in, err := v.input(place)
		if err != nil {
			return err
		}
		inputs = append(inputs, in)
	}
	progress := &idsort.Progress{}
	c := check.Config{Sort: idsort.Config{Memory: v.memory, Temp: v.temp, Progress: progress}, Limit: v.limit, Now: v.clock.Wall()}
	c.Layout, c.Preset = v.layout.given()
	debug.SetMemoryLimit(idsort.Heap(v.memory))
	stop := v.watch(progress, v.progress)
	found, err := check.Run(ctx, inputs, c)
	stop()
	switch {
	case err != nil && ctx.Err() != nil:
		return v.interrupted(ctx, " while %s; whether there are duplicates is not known", howFar(progress.Snapshot()))
	case err != nil:
		return err
	}
	for _, s := range found.Sources {
		if s.Invalid > 0 {
			v.note("warning: %s: %s skipped, the first: %s", s.Name, text.Count(s.Invalid, "invalid id"), text.Message(errors.New(s.FirstInvalid)))
		}
	}
	out := report{program: v.program, form: *v.form}
	out.checkText(found)
	if err := cmp.Or(out.object(found), out.end("")); err != nil {
		return err
	}
	switch {
	case found.Duplicates > 0:
		return reported(exitFailure)
	case !found.Complete:
		return reported(exitInvalidID)
	}
	return nil
}
