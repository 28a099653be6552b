package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// importing is one run of import.
type importing struct {
	*report
	*writing
	cmd *cobra.Command
	old imports.Old

	at     *site
	roster *roster.Roster // nil until the namespace exists
	made   bool           // the namespace is new
	plan   imports.Plan   // once applied, it has the finished steps only
}

// importHelp is the long help of the verb.
const importHelp = `Import lets a namespace go on where another system's ids end. For each worker id
of the old system it sets a floor above every id that it can have issued. From
then on no id repeats an old one, whatever the clocks do.

The old system must be stopped, all of it, and stay stopped. Give the time of
the stop by --stopped-at, or the last ids by --last-id, or better both: an id
that does not fit shows that the layout is another one's. If anything shows that
the old system still runs, nothing is written and the exit code is 5. A process
that lost its ZooKeeper goes on without a sign: you must check that it stopped.

  leaf             Leaf: /snowflake/NAME/forever in ZooKeeper
  leaf-recyclable  Leaf with recyclable worker ids: /snowflake/NAME/recycle; all
                   worker ids, or those of --workers and the pools
  twitter          Twitter: /snowflake-servers, where a live server has a node;
                   all worker ids of --datacenter, or those of --workers
  shardingsphere   fixed worker ids, those of --workers; --layout by the epoch,
                   midnight in its servers' zone: shardingsphere-shanghai, or
                   shardingsphere (UTC)
  list             any other system, those of --workers

--layout is the old system's; leaf and twitter have their own. A namespace that
does not exist is made with it. The floor is one tick after the latest of the
stop, the last ids and the old system's own timestamps, plus --margin for clocks
that were ahead. A margin of up to max-rollback (5s by default) makes no claim
wait. A time further ahead of now than --ahead is refused as a mistake.

Without --yes the plan is shown, and nothing is written. It shows for each
worker id create, raise (its floor), end (its term, too), keep, or unset: it
can't be read, and so has no floor, and the exit code is 1. On a lossy store
import waits until no floor can be lost, and confirms each. If that fails, the
exit code is 6. Import can be run again. -o json streams objects of
"type":"step", and a last one of "type":"plan".`

func (p program) workersImport() *cobra.Command {
	v := &importing{}
	old := &v.old
	old.Watch, old.Margin, old.Ahead = imports.DefaultWatch, imports.DefaultMargin, imports.DefaultAhead
	systems := text.Strings(imports.Systems())
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Take over from another system: set floors above its ids",
		Long:  importHelp,
		Example: `  snowfence workers import leaf --zookeeper zk1:2181,zk2:2181 --name orders \
      --namespace orders --stopped-at 2026-11-21T10:00:00Z
  snowfence workers import twitter --zookeeper zk1 --datacenter 11 \
      --last-id 1541815603606036480 --yes
  snowfence workers import shardingsphere --workers 0-7 \
      --layout shardingsphere-shanghai --stopped-at 2026-11-21T18:00:00+08:00
  snowfence workers import list --workers all --layout tsid \
      --last-id 812345678901234567 --yes -o json`,
		Args:      oneOf("source", systems),
		ValidArgs: systems,
	}
	v.report = p.report(cmd)
	list := func(s string) (numbers []int64, err error) {
		numbers, old.All, err = parseWorkerList(s)
		return numbers, err
	}
	datacenter, flags := 0, cmd.Flags()
	flags.Var(&parsed[[]string]{value: &old.Servers, word: "HOST:PORT,...", parse: parseServers}, "zookeeper", "the old system's ZooKeeper")
	flags.Var(textFlag(&old.Name, "NAME"), "name", "leaf.name, which is in Leaf's path")
	flags.Var(&parsed[string]{value: &old.Path, word: "PATH", parse: parsePath}, "path", "path in ZooKeeper, where it is not the usual one")
	flags.Var(&parsed[[]int64]{value: &old.Workers, word: "LIST", parse: list}, "workers", "more worker ids: numbers and ranges as in 0-31,40, or all")
	flags.Var(numberFlag(&datacenter, "", 0, math.MaxInt), "datacenter", "datacenter id of the worker ids (default: they are worker numbers)")
	flags.Var(&parsed[time.Time]{value: &old.StoppedAt, word: "TIME", parse: parseTime}, "stopped-at", "stop of the old system: 2026-11-21T10:00:00Z")
	flags.Func("last-id", "greatest `ID` known of the old system, or of a worker id; may be repeated", lastIDs(&old.LastIDs))
	flags.DurationVar(&old.Margin, "margin", old.Margin, "added to the latest time that is known")
	flags.DurationVar(&old.Ahead, "ahead", old.Ahead, "most that a time of the old system may lie ahead of now")
	flags.DurationVar(&old.Watch, "watch", old.Watch, "how long Leaf's nodes are watched for a sign of life")
	v.writing = p.writingFlags(cmd)
	s := siteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		v.cmd = cmd
		if old.System = imports.System(args[0]); flags.Changed("datacenter") {
			old.Datacenter = new(int64(datacenter))
		}
		if err := old.Validate(); err != nil {
			return usage(cmd, err)
		}
		if v.at, err = p.siteOf(s); err != nil {
			return err
		}
		defer v.at.close()
		return v.run(cmd.Context())
	}
	return cmd
}

// run makes the plan, shows it, and carries it out if it may. The store itself is made only when something
// is written.
func (v *importing) run(ctx context.Context) error {
	err := v.at.open(ctx, true)
	if err == nil {
		v.roster, err = roster.Open(ctx, v.at.roster)
	}
	if v.made = absent(err); err != nil && !v.made {
		return unavailable(err)
	}
	layout, err := v.layout()
	if err != nil {
		return err
	}
	done := func() {}
	if len(v.old.Servers) > 0 {
		done = v.awaiting(fmt.Sprintf("ZooKeeper at %s, whose nodes are watched for %s", strings.Join(v.old.Servers, ","), v.old.Watch))
	}
	facts, err := v.old.Look(ctx, layout, v.clock)
	done()
	if err == nil {
		v.plan, err = imports.NewPlan(facts)
	}
	switch {
	case err != nil:
	case v.made:
		err = v.plan.Within(v.at.roster.Namespace, v.at.datacenters)
	default:
		v.plan, err = imports.Draft(ctx, v.roster, v.plan)
	}
	if err != nil {
		return byClass(v.cmd, err)
	}
	return v.decide(ctx)
}

// layout is the old system's.
func (v *importing) layout() (snowfence.Layout, error) {
	own, ok := v.old.System.Layout()
	switch {
	case v.cmd.Flags().Changed("layout"):
		return v.at.settings.Layout, nil
	case ok:
		return own, nil
	case v.old.System == imports.List && v.roster != nil:
		return v.roster.Layout(), nil
	}
	return own, usage(v.cmd, fmt.Errorf("%s needs --layout: that of the old system's ids", v.old.System))
}

// decide carries the plan out if --yes is set.
func (v *importing) decide(ctx context.Context) error {
	// On a lossy store floors that are there may still have to be confirmed: an earlier
	// run may have been interrupted before it did.
	kept := !slices.ContainsFunc(v.plan.Steps, func(s imports.Step) bool { return s.Action != imports.Keep })
	settled := !v.made && v.roster.Traits().Loss == 0 && kept
	if v.yes && !settled {
		return v.apply(ctx)
	}
	if err := v.show(false); err != nil || settled {
		return err
	}
	v.note(unwritten)
	return nil
}

// apply carries the plan out and shows what was done.
func (v *importing) apply(ctx context.Context) (err error) {
	if v.made {
		if err := v.at.open(ctx, false); err != nil {
			return err
		}
		if v.roster, err = roster.Create(ctx, v.at.roster, v.plan.Layout, v.at.datacenters); err != nil {
			return unavailable(err)
		}
		v.note("made a new namespace %q in %s: layout %s", v.roster.Name(), v.at.settings.ShowStore(v.at.store), v.plan.Layout)
	}
	planned, done := len(v.plan.Steps), []imports.Step(nil)
	err = imports.Apply(ctx, v.roster, v.plan, v.patience, func(s imports.Step) { done = append(done, s) })
	v.plan.Steps = done
	v.audit("workers import", "namespace", v.roster.Name(), "made", v.made, "source", v.old.System,
		"floor", int64(v.plan.Floor), "done", len(done), "planned", planned)
	if err != nil && !errors.Is(err, roster.ErrUnusable) {
		if len(done) < planned {
			v.note("%d of %d worker ids were done; run it again for the rest", len(done), planned)
		}
		return byClass(v.cmd, err)
	}
	if showErr := v.show(true); showErr != nil {
		return showErr
	}
	return unavailable(err)
}

// show prints the plan, or what was done of it. Neighbours that differ in the worker id alone share a row.
func (v *importing) show(applied bool) error {
	out, plan, source := v.report, v.plan, v.old.System
	at, namespace := v.at.settings.ShowStore(v.at.store), v.at.roster.Namespace
	floor := registers.Instant(plan.Layout, plan.Floor)
	for _, s := range plan.Steps {
		err := out.object(page.Object{
			"type", "step", "worker", s.Worker, "source", source, "evidence", s.Evidence, "floor", floor, "action", s.Action, "note?", s.Note,
		})
		if err != nil {
			return err
		}
	}
	err := out.object(page.Object{
		"type", "plan", "store", at, "namespace", namespace, "new", v.made, "layout", plan.Layout.String(),
		"source", source, "floor", floor, "because", plan.Because,
		"margin_seconds", v.old.Margin.Seconds(), "workers", len(plan.Steps), "writes", plan.Writes(), "applied", applied,
	})
	if err != nil {
		return err
	}
	begins := plan.Layout.TimeOf(plan.Floor)
	shown := decode.FormatTime(begins, plan.Layout.Unit)
	out.Line("take over from %s into namespace %s of %s%s", source, namespace, at, map[bool]string{true: ", which is new"}[v.made])
	out.Line("  layout  %s\n  floor   tick %d  %s  %s", plan.Layout, plan.Floor, shown, decode.Relative(begins, v.clock.Wall()))
	out.Line("  because %s, plus a margin of %s\n", plan.Because, v.old.Margin)
	var rows [][]string
	for steps := plan.Steps; len(steps) > 0; {
		s, n := steps[0], 1
		for same := s; n < len(steps); n++ {
			if same.Worker++; steps[n] != same {
				break
			}
		}
		evidence := s.Evidence
		if s.Note != "" {
			evidence += " (" + s.Note + ")"
		}
		workers := text.Range{First: s.Worker, Last: s.Worker + int64(n) - 1}
		rows = append(rows, []string{workers.String(), string(s.Action), fmt.Sprint(plan.Floor), shown, evidence})
		steps = steps[n:]
	}
	out.Table("", "workers, action, >floor, time, evidence", rows)
	out.Line("\n%d worker ids; %d %s", len(plan.Steps), plan.Writes(), map[bool]string{true: "written", false: "to be written"}[applied])
	return out.end("")
}

// parseWorkerList reads numbers and ranges, 0-31,40, or all.
func parseWorkerList(list string) (numbers []int64, all bool, err error) {
	if list == "all" {
		return nil, true, nil
	}
	ranges, err := text.ParseRanges(list)
	if err != nil {
		return nil, false, fmt.Errorf("%w, or all", err)
	}
	for _, r := range ranges {
		if r.Last-r.First >= imports.MaxWorkers-int64(len(numbers)) {
			return nil, false, fmt.Errorf("%q: that makes more than %d worker ids", r, imports.MaxWorkers)
		}
		for n := r.First; n <= r.Last; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, false, nil
}

// lastIDs reads ids with commas between several, and adds them.
func lastIDs(into *[]snowfence.ID) func(list string) error {
	return func(list string) error {
		for word := range strings.SplitSeq(list, ",") {
			id, err := snowfence.ParseUnsigned(word)
			if err != nil {
				return errors.New(text.Message(err))
			}
			*into = append(*into, id)
		}
		return nil
	}
}

func parseServers(list string) ([]string, error) {
	servers := strings.Split(list, ",")
	if slices.Contains(servers, "") {
		return nil, errors.New("must be host:port, with commas between several")
	}
	return servers, nil
}

func parsePath(path string) (string, error) {
	if !strings.HasPrefix(path, "/") || path != "/" && strings.HasSuffix(path, "/") {
		return "", errors.New("must begin with a slash and not end with one")
	}
	return path, nil
}

func parseTime(at string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return t, errors.New("must be a time with its zone, such as 2026-11-21T10:00:00Z or 2026-11-21T18:00:00+08:00")
	}
	return t, nil
}
