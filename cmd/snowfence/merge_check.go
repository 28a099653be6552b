package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

func (p program) mergeCheck() *cobra.Command {
	f := &idFlags{}
	cmd := &cobra.Command{
		Use:   "merge-check SIDE SIDE...",
		Short: "Show which ids clash if these are merged, now and in future",
		Long: `Merge-check shows what is in the way of merging several sets of ids: the players
of two game servers, two namespaces. It changes nothing. A side is
  SOURCE                  ids: a file, standard input, a column of a database
  namespace:URL#NAME      who issues them: a namespace in a store
  layout:SPEC#0-3,8       who issues them: another system, with these worker
                          numbers
NAME=PART puts parts with one name together into one side.

` + idSourceHelp + `

It compares ids with ids: how many are on several sides, and where. An id twice
on one side is counted, but is no clash: run snowfence check on that side. It
compares issuers with issuers, also two issuers of one side: whether both could
ever issue the same integer, and from when, by clocks that are right. It does
not compare ids with issuers: if you name an issuer, name one for each side.

Exit codes: 0 nothing clashes, and no issuer that you named can make a clash; 1
ids clash; 5 none clashes now, but future ids may, or the past ids of an issuer
are not known; 2 usage, 3 a source, a store or the disk failed, 4 what was read
is no id, or nothing clashes and a side has no ids, or its issuer is not named;
130 interrupted by SIGINT, 143 by SIGTERM, without a verdict. -o json prints one
object: verdict (none, clash, possible, unknown), summary, sides, data,
forecasts.`,
		Example: `  snowfence merge-check eu.txt us.txt.gz
  snowfence merge-check --column id eu=players_eu.csv us=players_us.csv \
      eu=namespace:etcd://eu1/ids#players us=namespace:etcd://us1/ids#players
  snowfence merge-check 'postgres://u@db1/game#select id from players' \
      'mysql://u@db2/game#select id from players where active'
  snowfence merge-check namespace:file:/srv/a#orders namespace:redis://b#orders
  snowfence merge-check layout:twitter#0-3 layout:twitter#4-7`,
		Args: cobra.ArbitraryArgs,
	}
	f.add(p, cmd, "", 10, "how many clashing ids to name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		err := f.merge(ctx, args)
		if isVerdict := errors.As(err, new(reported)); err != nil && !isVerdict && ctx.Err() != nil {
			return f.interrupted(ctx, "; whether ids clash is not known")
		}
		return err
	}
	return cmd
}

// merge reads all that the sides name, and prints the report.
func (f *idFlags) merge(ctx context.Context, args []string) error {
	sides, err := merge.ParseSides(args)
	if err != nil {
		return usage(f.cmd, err)
	}
	c := merge.Config{Shown: f.limit}
	if c.Inputs, err = f.inputs(sides); err != nil {
		return err
	}
	// Stores come before ids: a fault in one is found before millions of ids are read.
	for _, side := range sides {
		c.Sides = append(c.Sides, side.Name)
		issuers, err := f.issuersOf(ctx, side)
		if err != nil {
			return err
		}
		c.Issuers = append(c.Issuers, issuers...)
	}
	var found *merge.Report
	_, err = f.sorting(func(sort idsort.Config) (err error) {
		c.Sort = sort
		found, err = merge.Check(ctx, c)
		return err
	})
	if err != nil {
		return byClass(f.cmd, err)
	}
	f.mergeText(found)
	codes := map[merge.Verdict]int{
		merge.Clashes: exitFailure, merge.Unknown: exitInvalidID, merge.Possible: exitUnsafe, // ids could not be vouched for
	}
	return byClass(f.cmd, f.verdict(found, "", codes[found.Verdict]))
}

// inputs are the sources of all sides, in their order.
func (f *idFlags) inputs(sides []merge.Side) (inputs []merge.Input, err error) {
	var places []source.Place
	for n, side := range sides {
		for _, data := range side.Data {
			place, err := source.ParsePlace(data)
			if err != nil {
				return nil, usage(f.cmd, &merge.SideError{Side: side.Name, Reason: err})
			}
			input, err := f.input(place)
			if err != nil {
				return nil, byClass(f.cmd, &merge.SideError{Side: side.Name, Reason: err})
			}
			inputs, places = append(inputs, merge.Input{Side: n, Input: input}), append(places, place)
		}
	}
	if err := oneStream(places); err != nil {
		return nil, usage(f.cmd, err)
	}
	return inputs, nil
}

// issuersOf returns the systems that issue the ids of a side.
func (f *idFlags) issuersOf(ctx context.Context, side merge.Side) (issuers []*merge.Issuer, err error) {
	for _, n := range side.Namespaces {
		i, err := f.namespaceIssuer(ctx, side.Name, n)
		if err != nil {
			return nil, err
		}
		if n := len(i.Unreadable); n > 0 || i.Strays > 0 {
			f.warn(fmt.Sprintf("side %s: %s: %s can't be read, and %s without a worker id: see namespace verify",
				side.Name, i.Name, text.Count(n, "register"), text.Count(i.Strays, "key")))
		}
		issuers = append(issuers, i)
	}
	for _, l := range side.Layouts {
		issuers = append(issuers, merge.ForeignIssuer(side.Name, l, f.clock.Wall()))
	}
	return issuers, nil
}

// namespaceIssuer reads the registers of a namespace.
func (f *idFlags) namespaceIssuer(ctx context.Context, side string, n merge.Namespace) (*merge.Issuer, error) {
	url, err := config.Expand(n.Store, f.environ)
	if err == nil {
		err = openstore.Check(url)
	}
	if err != nil {
		return nil, usage(f.cmd, &merge.SideError{Side: side, Reason: err})
	}
	// The URL before its variables are filled in: one may stand for a password.
	shown := engine.Redact(n.Store)
	if engine.Private(url) {
		f.warn("side " + side + ": the store " + source.Shown(shown) + " is of this process alone: it has nothing to show")
	}
	opened, err := openstore.OpenExisting(ctx, url)
	if err != nil {
		return nil, unavailable(&merge.SideError{Side: side, Reason: err})
	}
	defer f.closing("close store: ", opened.Close)
	var i *merge.Issuer
	r, err := roster.Open(ctx, roster.Config{Store: opened, Namespace: n.Name, Clock: f.clock})
	if err == nil {
		i, err = merge.IssuerOf(ctx, side, shown, r)
	}
	if err == nil {
		i.Name = source.Shown(i.Name)
		return i, nil
	}
	err = &merge.SideError{Side: side + ": " + source.Shown(shown), Reason: err}
	if class := snowfence.ClassOf(errors.Unwrap(err)); class == snowfence.ClassFinal || class == snowfence.ClassUsage {
		return nil, usage(f.cmd, err) // exit code 1 is a verdict: a namespace that is not there is a mistake in the side
	}
	return nil, err
}

// mergeText writes the verdict, the sides, the ids that clash, and the forecasts.
func (out *report) mergeText(r *merge.Report) {
	out.Line("%s", r.Summary)
	for _, side := range r.Sides {
		for _, s := range side.Sources {
			out.Line("  %s  %s: %s", side.Name, s.Source, text.Count(s.IDs, "id"))
			if s.Rounded != "" {
				out.Wrapped("  ", s.Source+" of "+side.Name+": "+s.Rounded+"; "+source.RoundedAdvice)
			}
		}
		for _, i := range side.Issuers {
			out.Line("  %s  %s: %s", side.Name, i.Name, i.Layout)
		}
		if side.Twice > 0 {
			out.Line("  %s has %s several times by itself: see snowfence check", side.Name, text.Count(side.Twice, "id"))
		}
	}
	if d := r.Data; d != nil && d.Clashing > 0 {
		for _, c := range d.First {
			var places []string
			for _, s := range c.Stands {
				places = append(places, s.Side+": "+s.Source+" "+s.Place)
			}
			out.Line("  %s, %d times  %s", c.ID, c.Rows, strings.Join(places, "; "))
		}
	}
	for _, f := range r.Forecasts {
		outcome := string(f.Outcome)
		if f.Outcome != merge.Never && !f.FromNow.IsZero() {
			outcome += " from " + f.FromNow.UTC().Format("2006-01-02T15:04:05.999999Z")
		}
		out.Line("\n%s (%s) and %s (%s): %s", f.Sides[0], f.Issuers[0], f.Sides[1], f.Issuers[1], outcome)
		if f.Advice != "" {
			out.Wrapped("  -> ", f.Advice)
		}
	}
}
