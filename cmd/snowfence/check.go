package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/forensics/check"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// defaultCheckLimit is how many duplicates are named by default.
const defaultCheckLimit = 20

// maxPairs is how many pairs of sources, and how many causes, the text lists. JSON lists all.
const maxPairs = 20

func (p program) check() *cobra.Command {
	var f idFlags
	var places []source.Place
	cmd := &cobra.Command{
		Use:   "check SOURCE...",
		Short: "Find ids that occur twice, in files, streams and databases, and why",
		Long: `Check reads ids from any number of sources and finds those that occur more than
once, within a source and between sources, with their places. Where the numbers
show a cause, it names it: one worker id in two sources, a clock set back, or
copied rows; ids that look rounded come first. It calls all others undecided.

` + idSourceHelp + `

Without --layout the layout is guessed among the presets. -o json prints one
object: ids, distinct, duplicates, repeated, complete, sources, between (and
between_partial, if there are too many pairs), named, layout, preset, guessed,
causes, spilled.

Exit codes: 0 no duplicates, 1 duplicates; 2 usage, 3 a source or the disk
failed, 4 what was read is no id, or a source had no ids, and the others are all
different; 130 interrupted by SIGINT, 143 by SIGTERM.`,
		Example: `  snowfence check orders.txt
  snowfence check --column order_id eu.csv.gz us.csv.gz
  snowfence check 'eu.csv#id' 'us.csv#2' old.txt
  zcat ids-*.gz | snowfence check --memory 512MiB -
  snowfence check --layout twitter \
      'postgres://me:${PGPASSWORD}@db.internal/shop#select id from orders'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, errors.New("needs a source: a file, - for standard input, or the URL of a database"))
			}
			for _, arg := range args {
				place, err := source.ParsePlace(arg)
				if err != nil {
					return usage(cmd, err)
				}
				places = append(places, place)
			}
			if err := oneStream(places); err != nil {
				return usage(cmd, err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return byClass(cmd, f.check(cmd.Context(), places)) },
	}
	f.add(p, cmd, "layout of the ids: a preset's name or a text form (default: guess)", defaultCheckLimit, "how many duplicates to name")
	return cmd
}

// check checks the ids of some places, and prints the report.
func (f *idFlags) check(ctx context.Context, places []source.Place) error {
	var inputs []idsort.Input // all are looked at before the first is read
	for _, place := range places {
		in, err := f.input(place)
		if err != nil {
			return err
		}
		inputs = append(inputs, in)
	}
	c := check.Config{Limit: f.limit, Now: f.clock.Wall()}
	c.Layout, c.Preset = f.layout.given()
	var found check.Report
	far, err := f.sorting(func(sort idsort.Config) (err error) {
		c.Sort = sort
		found, err = check.Run(ctx, inputs, c)
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return f.interrupted(ctx, " while %s; whether there are duplicates is not known", far)
	case err != nil:
		return err
	}
	f.checkText(found)
	code := exitUnless(found.Duplicates == 0)
	if code == exitOK && !found.Complete {
		code = exitInvalidID
	}
	return f.verdict(found, "", code)
}

// checkText writes what was found: duplicates, their places, and why.
func (out *report) checkText(r check.Report) {
	switch {
	case r.IDs == 0:
		out.Line("nothing is known: no ids were read")
	case r.Duplicates == 0 && !r.Complete:
		out.Line("no duplicates among the %s that were read; whether all are different is not known: %s", text.Count(r.IDs, "id"), incomplete(r))
	case r.Duplicates == 0:
		out.Line("no duplicates: %s, all distinct", text.Count(r.IDs, "id"))
	default:
		out.Line("%s: %s, %s distinct; %s %s more than once", text.Count(r.Duplicates, "duplicate"), text.Count(r.IDs, "id"),
			text.Grouped(r.Distinct), text.Count(r.Repeated, "id"), text.Plural(r.Repeated, "occurs", "occur"))
	}
	var sources, pairs [][]string
	for _, s := range r.Sources {
		if s.Rounded != "" {
			out.Wrapped("", s.Name+": "+s.Rounded+"; "+source.RoundedAdvice)
		}
		sources = append(sources, []string{s.Name, text.Grouped(s.IDs), text.Grouped(s.Within)})
	}
	for _, pair := range r.Between[:min(len(r.Between), maxPairs)] {
		pairs = append(pairs, []string{pair.A, pair.B, text.Grouped(pair.Common)})
	}
	if len(sources) > 1 || r.Duplicates > 0 {
		out.Line("")
		out.Table("", "source, >ids, >duplicates within", sources)
	}
	if len(pairs) > 0 {
		out.Line("")
		out.Table("", "source, and, >ids in common", pairs)
	}
	if len(r.Named) > 0 {
		out.Line("\nduplicates, %s of %s:", text.Grouped(len(r.Named)), text.Grouped(r.Repeated))
	}
	for _, d := range r.Named {
		out.Line("  %s, %d times", d.ID, d.Count)
		for _, place := range d.Places {
			out.Line("    %s, %s", place.Source, place.Text)
		}
	}
	if len(r.Causes) == 0 {
		return
	}
	guessed := map[bool]string{true: ", guessed; --layout settles it"}[r.Guessed]
	out.Line("\ncauses (layout %s%s):", cmp.Or(r.Preset, r.Layout, "not known"), guessed)
	for _, c := range r.Causes[:min(len(r.Causes), maxPairs)] {
		out.Line("  %s: %s in %s", c.Kind, text.Count(c.Duplicates, "duplicate"), strings.Join(c.Sources, " and "))
		out.Wrapped("    ", c.Evidence)
		out.Wrapped("    -> ", c.Advice)
	}
}

// incomplete explains why it is not known whether all ids are different.
func incomplete(r check.Report) string {
	for _, s := range r.Sources {
		if s.IDs == 0 {
			return s.Name + " has no ids"
		}
	}
	return "some look rounded"
}
