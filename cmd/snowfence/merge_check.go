package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// defaultMergeLimit is how many runs, and how many ids, are listed unless another
// number is wanted.
const defaultMergeLimit = 10

// verdict is what merge-check came to.
type verdict string

const (
	// nothingClashes: no id stands on two sides, and none can in future, as far as
	// the sides say who issues ids.
	nothingClashes verdict = "none"
	// idsClash: an id stands on two sides.
	idsClash verdict = "clash"
	// idsMayClash: none does, but whoever issues ids may still make one that does.
	idsMayClash verdict = "possible"
)

// exitCode is how a script tells the verdicts apart. That ids can't be vouched
// for is what the code for the clock and the lease says too.
func (v verdict) exitCode() int {
	switch v {
	case idsClash:
		return exitFailure
	case idsMayClash:
		return exitUnsafe
	default:
		return exitOK
	}
}

// merging is one run of merge-check.
type merging struct {
	program
	cmd      *cobra.Command
	form     form
	layout   *snowfence.Layout
	defaults idsource.Options // of sources that don't say otherwise
	sorting  sorting

	sides     []merge.Side
	data      [][]idsource.Place // of each side
	issuers   []*merge.Issuer
	sources   []*mergeSource // in the order in which they are read
	tally     *merge.Tally   // nil unless two sides have data
	strays    []*merge.Strays
	forecasts []merge.Forecast
}

func (p program) mergeCheck() *cobra.Command {
	v := &merging{program: p}
	var ids idSourceFlags
	var stdin streams
	var layout layoutFlag
	cmd := &cobra.Command{
		Use:   "merge-check SIDE SIDE...",
		Short: "Say which ids clash if these are merged, now and in future",
		Long: `Merge-check says what is in the way of putting several sets of ids into one:
the players of two game servers, two databases, two namespaces. It changes
nothing in them.

A side is one or more of
  PATH, - or URL          ids: a file, standard input, a column of a database
  namespace:URL#NAME      who issues them: a namespace in a store
  layout:SPEC#0-3,8       who issues them: another system, with these worker
                          numbers; /since=TIME and /until=TIME may follow
NAME=PART puts parts with one name together: the ids of a side and its
namespace. A source may have options of its own behind a #, as
players.csv#format=csv,column=id or postgres://u@db/eu#table=players,column=id;
the keys are column, encoding, format, gzip, separator, table and query (last).
The flags hold for all sources that don't say otherwise. A path that looks like
something else is written ./path, and one that itself ends in an option has
another behind it: a#column=1#gzip=auto.

Ids against ids: how many stand on several sides, in which runs (of one worker
id, where the layout is known by --layout or by who issues them), the first
with their places, and how many rows at least need another id. It works in the
--memory that it is given; the rest goes to a file in --temp.

Issuers against issuers: whether two could ever issue the same integer, from
when, and why not. For one layout that is a matter of worker ids, datacenters
and ticks; for two it is decided bit by bit, since an integer means something
else in each. Registers keep the present term alone: what earlier terms stamped
is told by the ids only. Two issuers of one side, such as its old system and its
namespace, are held against each other too, and told of as "within" the side.

Ids that stand several times on one side are counted, but are no clash: tables
of one side may well name the same id. Whether they are two ids, and what made
them so, is for snowfence check to say.

Ids against issuers: which ids a namespace may still issue, such as rows that
were imported with ticks to come, and the command that sets its floors above
them. All clocks are taken to be right, but for a side's own rows that are up to
5s ahead: they are taken for those of a clock that is. Advice to end or stop
somebody says what margin clocks need.

Exit codes: 0 nothing clashes, and nothing can as far as the sides name who
issues ids; 1 ids clash; 5 none does, but ids that are still to come may, or
the past of an issuer can't be told without its ids; 2 usage, 3 a source, a
store or the disk failed, 4 what was read is no id; 130 interrupted by SIGINT,
143 by SIGTERM, without a verdict. -o json prints one object: verdict (none,
clash, possible), summary, sides, data, strays, forecasts.`,
		Example: `  snowfence merge-check eu.txt us.txt.gz --layout twitter
  snowfence merge-check --column id eu=players_eu.csv us=players_us.csv \
      eu=namespace:etcd://eu1/ids#players us=namespace:etcd://us1/ids#players
  snowfence merge-check postgres://u@db1/game#table=players,column=id \
      'mysql://u@db2/game#query=select id from players where active'
  snowfence merge-check namespace:file:/srv/a#orders namespace:redis://b#orders
  snowfence merge-check layout:twitter#0-3 layout:twitter#4-7`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := v.parseSides(stdin.among(args)); err != nil {
				return usage(cmd, err)
			}
			return nil
		},
	}
	f := outputFlag(cmd)
	ids.add(cmd)
	stdin.add(cmd)
	layout.add(cmd, "layout of the ids of sides that don't name who issues them: a preset's name or a text form")
	v.sorting.add(cmd, defaultMergeLimit, "how many runs, and how many ids, to name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v.cmd, v.form = cmd, *f
		if layout.text != "" {
			v.layout = &layout.layout
		}
		v.defaults = ids.read(p)
		ctx := cmd.Context()
		err := v.run(ctx)
		if isVerdict := errors.As(err, new(reported)); err != nil && !isVerdict && ctx.Err() != nil {
			return v.interrupted(ctx, "; whether ids clash is not known")
		}
		return err
	}
	return cmd
}

// parseSides reads what the command line names.
func (v *merging) parseSides(args []string) error {
	sides, err := merge.ParseSides(args)
	if err != nil {
		return err
	}
	v.sides, v.data = sides, make([][]idsource.Place, len(sides))
	for n, side := range sides {
		for _, data := range side.Data {
			place, err := idsource.ParsePlace(data)
			if err != nil {
				return inSide(side.Name, err)
			}
			v.data[n] = append(v.data[n], place)
		}
	}
	return nil
}

// inSide says of an error about a place in which side that is.
func inSide(side string, err error) error {
	var wrong *idsource.PlaceError
	if errors.As(err, &wrong) {
		return &merge.SideError{Side: side, Field: wrong.Field, Value: wrong.Value, Limit: wrong.Limit}
	}
	return &sideError{side, err}
}

// verdict sums up what was found.
func (v *merging) verdict() verdict {
	if v.tally != nil && v.tally.Clashing > 0 {
		return idsClash
	}
	if slices.ContainsFunc(v.forecasts, v.mayClash) {
		return idsMayClash
	}
	if slices.ContainsFunc(v.strays, v.atStake) {
		return idsMayClash
	}
	return nothingClashes
}

// atStake reports whether an issuer may still issue ids that stand somewhere, or may
// have issued them and no ids of its own tell.
func (v *merging) atStake(s *merge.Strays) bool {
	return s.Open > 0 || s.Used > 0 && !v.hasData(s.Issuer.Side)
}

// mayClash reports whether two issuers may come to equal ids, or may have issued
// some already and their ids don't tell.
func (v *merging) mayClash(f merge.Forecast) bool {
	return f.Possible() || len(f.Chances) > 0 && !v.settled(f)
}

// settled reports whether the ids that two issuers may both have issued were
// compared. Within a side they were if none stands there twice: of one that does,
// nobody but its owner knows whether that is one id or two.
func (v *merging) settled(f merge.Forecast) bool {
	if f.Within() {
		return v.tally != nil && v.hasData(f.A.Side) && v.tally.Twice[v.sideNumber(f.A.Side)] == 0
	}
	return v.hasData(f.A.Side) && v.hasData(f.B.Side)
}

// sideNumber is where a side stands.
func (v *merging) sideNumber(name string) int {
	return slices.IndexFunc(v.sides, func(s merge.Side) bool { return s.Name == name })
}

// clashingWithin are the sides whose own issuers may clash with each other, in
// their order, and whether two of different sides may too.
func (v *merging) clashingWithin() (within []string, across bool) {
	for _, f := range v.forecasts {
		switch {
		case !v.mayClash(f):
		case !f.Within():
			across = true
		case !slices.Contains(within, f.A.Side):
			within = append(within, f.A.Side)
		}
	}
	return within, across
}

// hasData reports whether a side's ids were read.
func (v *merging) hasData(side string) bool {
	n := v.sideNumber(side)
	return n >= 0 && len(v.sides[n].Data) > 0
}

// sideError is an error about a side.
type sideError struct {
	side string
	err  error
}

func (e *sideError) Error() string { return "side " + e.side + ": " + message(e.err) }
func (e *sideError) Unwrap() error { return e.err }

// Class is never [snowfence.ClassFinal], as exit code 1 is a verdict.
func (e *sideError) Class() snowfence.Class {
	if engine.Missing(e.err) {
		return snowfence.ClassUsage
	}
	return snowfence.ClassUnavailable
}

// sourceFault marks an error about a source of a side with the exit code that it
// ends in.
func (v *merging) sourceFault(side string, err error) error {
	return sourceFault(v.cmd, &sideError{side, err})
}
