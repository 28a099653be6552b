package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

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

// merging is one run of merge-check.
type merging struct {
	program
	idFlags
	cmd *cobra.Command
}

func (p program) mergeCheck() *cobra.Command {
	v := &merging{program: p}
	cmd := &cobra.Command{
		Use:   "merge-check SIDE SIDE...",
		Short: "Say which ids clash if these are merged, now and in future",
		Long: `Merge-check says what is in the way of putting several sets of ids into one: the
players of two game servers, two namespaces. It changes nothing. A side is
  SOURCE                  ids: a file, standard input, a column of a database
  namespace:URL#NAME      who issues them: a namespace in a store
  layout:SPEC#0-3,8       who issues them: another system, with these worker
                          numbers; /since=TIME and /until=TIME may follow
NAME=PART puts parts with one name together into one side.

` + idSourceHelp + `

It compares ids with ids: how many are on several sides, where, and how many
rows at least need another id. An id twice on one side is counted, but is no
clash: run snowfence check on that side. It compares issuers with issuers, also
two issuers of one side: whether both could ever issue the same integer, and
from when, by clocks that are right. It does not compare ids with issuers: if
you name an issuer, name the issuer of each side.

Exit codes: 0 nothing clashes, and no issuer that you named can make a clash; 1
ids clash; 5 none clashes now, but future ids may, or the past ids of an issuer
are not known; 2 usage, 3 a source, a store or the disk failed, 4 what was read
is no id, or nothing clashes and a side has no ids, or some were skipped, or its
issuer is not named; 130 interrupted by SIGINT, 143 by SIGTERM, without a
verdict. -o json prints one object: verdict (none, clash, possible, unknown),
summary, sides, data, forecasts.`,
		Example: `  snowfence merge-check eu.txt us.txt.gz
  snowfence merge-check --column id eu=players_eu.csv us=players_us.csv \
      eu=namespace:etcd://eu1/ids#players us=namespace:etcd://us1/ids#players
  snowfence merge-check postgres://u@db1/game#table=players,column=id \
      'mysql://u@db2/game#query=select id from players where active'
  snowfence merge-check namespace:file:/srv/a#orders namespace:redis://b#orders
  snowfence merge-check layout:twitter#0-3 layout:twitter#4-7`,
		Args: cobra.ArbitraryArgs,
	}
	v.add(p, cmd, "", 10, "how many clashing ids to name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v.cmd = cmd
		ctx := cmd.Context()
		err := v.run(ctx, v.streams.among(args))
		if isVerdict := errors.As(err, new(reported)); err != nil && !isVerdict && ctx.Err() != nil {
			return v.interrupted(ctx, "; whether ids clash is not known")
		}
		return err
	}
	return cmd
}

// run reads all that the sides name, and prints the report.
func (v *merging) run(ctx context.Context, args []string) error {
	sides, err := merge.ParseSides(args)
	if err != nil {
		return usage(v.cmd, err)
	}
	progress := &idsort.Progress{}
	c := merge.Config{Shown: v.limit, Sort: idsort.Config{Memory: v.memory, Temp: v.temp, Progress: progress}}
	if c.Inputs, err = v.inputs(sides); err != nil {
		return err
	}
	// Stores come before ids: a fault in one is found before millions of ids are read.
	for _, side := range sides {
		c.Sides = append(c.Sides, side.Name)
		issuers, err := v.issuersOf(ctx, side)
		if err != nil {
			return err
		}
		c.Issuers = append(c.Issuers, issuers...)
	}
	debug.SetMemoryLimit(idsort.Heap(v.memory))
	stop := v.watch(progress, v.progress && len(c.Inputs) > 0)
	found, err := merge.Check(ctx, c)
	stop()
	if err != nil {
		return byClass(v.cmd, err)
	}
	out := report{program: v.program, form: *v.form}
	for _, side := range found.Sides {
		for _, s := range side.Sources {
			if s.Invalid != nil {
				v.note("warning: side %s: %s: %s skipped, the first: %s", side.Name, s.Source, text.Count(s.Skipped, "invalid id"), text.Message(s.Invalid))
			}
		}
	}
	out.mergeText(found)
	if err := cmp.Or(out.object(found), out.end("")); err != nil {
		return unavailable(err) // exit code 1 is a verdict
	}
	switch found.Verdict {
	case merge.Clashes:
		return reported(exitFailure)
	case merge.Unknown:
		return reported(exitInvalidID)
	case merge.Possible:
		return reported(exitUnsafe) // ids could not be vouched for
	default:
		return nil
	}
}

// inputs are the sources of all sides, in their order.
func (v *merging) inputs(sides []merge.Side) (inputs []merge.Input, err error) {
	var places []source.Place
	for n, side := range sides {
		for _, data := range side.Data {
			place, err := source.ParsePlace(data)
			if err != nil {
				return nil, usage(v.cmd, &merge.SideError{Side: side.Name, Reason: err})
			}
			input, err := v.input(place)
			if err != nil {
				return nil, byClass(v.cmd, &merge.SideError{Side: side.Name, Reason: err})
			}
			inputs, places = append(inputs, merge.Input{Side: n, Input: input}), append(places, place)
		}
	}
	if err := oneStream(places); err != nil {
		return nil, usage(v.cmd, err)
	}
	return inputs, nil
}

// issuersOf returns the systems that issue the ids of a side.
func (v *merging) issuersOf(ctx context.Context, side merge.Side) (issuers []*merge.Issuer, err error) {
	for _, n := range side.Namespaces {
		i, err := v.namespaceIssuer(ctx, side.Name, n)
		if err != nil {
			return nil, err
		}
		if n := len(i.Unreadable); n > 0 || i.Strays > 0 {
			v.warn(fmt.Sprintf("side %s: %s: %s can't be read, and %s without a worker id: see namespace verify",
				side.Name, i.Name, text.Count(n, "register"), text.Count(i.Strays, "key")))
		}
		issuers = append(issuers, i)
	}
	for _, f := range side.Layouts {
		issuers = append(issuers, merge.ForeignIssuer(side.Name, f, v.clock.Wall()))
	}
	return issuers, nil
}

// namespaceIssuer reads the registers of a namespace.
func (v *merging) namespaceIssuer(ctx context.Context, side string, n merge.Namespace) (*merge.Issuer, error) {
	url, err := config.Expand(n.Store, v.environ)
	if err == nil {
		err = openstore.Check(url)
	}
	if err != nil {
		return nil, usage(v.cmd, &merge.SideError{Side: side, Reason: err})
	}
	// The URL before its variables are filled in: one may stand for a password.
	shown := engine.Redact(n.Store)
	if engine.Private(url) {
		v.warn("side " + side + ": the store " + source.Shown(shown) + " is of this process alone: it has nothing to show")
	}
	opened, err := openstore.OpenExisting(ctx, url)
	if err != nil {
		return nil, unavailable(&merge.SideError{Side: side, Reason: err})
	}
	defer v.closing("close store: ", opened.Close)
	var i *merge.Issuer
	r, err := roster.Open(ctx, roster.Config{Store: opened, Namespace: n.Name, Clock: v.clock})
	if err == nil {
		i, err = merge.IssuerOf(ctx, side, shown, r)
	}
	if err == nil {
		i.Name = source.Shown(i.Name)
		return i, nil
	}
	err = &merge.SideError{Side: side + ": " + source.Shown(shown), Reason: err}
	switch snowfence.ClassOf(errors.Unwrap(err)) {
	case snowfence.ClassFinal, snowfence.ClassUsage:
		return nil, usage(v.cmd, err) // exit code 1 is a verdict: a namespace that is not there is a mistake in the side
	}
	return nil, err
}
