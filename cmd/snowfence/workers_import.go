package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// importing is one run of import.
type importing struct {
	program
	cmd      *cobra.Command
	settings *settings
	form     form
	old      takeover.Old
	*writing
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

Without --yes the plan is shown, and nothing is written unless you agree. Of a
worker id import says create, raise (its floor), end (its term, too), keep, or
unset: it can't be read, and so has no floor, and the exit code is 1. On a lossy
store import waits until no floor can be lost, and confirms each. With
--no-wait, or if that fails, the exit code is 6. Import can be run again. -o
json streams objects of "type":"step", and a last one of "type":"plan".`

func (p program) workersImport() *cobra.Command {
	v := &importing{program: p, old: takeover.Old{Watch: takeover.DefaultWatch, Facts: takeover.Facts{Margin: takeover.DefaultMargin, Ahead: takeover.DefaultAhead}}}
	old := &v.old
	systems := text.Strings(takeover.Systems())
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
	f := outputFlag(cmd)
	var workers workerList
	flags := cmd.Flags()
	flags.Var(&parsed[[]string]{value: &old.Servers, word: "HOST:PORT,...", parse: parseServers}, "zookeeper", "the old system's ZooKeeper")
	flags.Var(textFlag(&old.Name, "NAME"), "name", "leaf.name, which is in Leaf's path")
	flags.Var(&parsed[string]{value: &old.Path, word: "PATH", parse: parsePath}, "path", "path in ZooKeeper, where it is not the usual one")
	flags.Var(&parsed[workerList]{value: &workers, word: "LIST", parse: parseWorkerList}, "workers", "worker ids beside those found: numbers and ranges as in 0-31,40, or all")
	flags.Var(&parsed[*int64]{value: &old.Datacenter, word: "N", parse: parseDatacenter}, "datacenter", "datacenter id that the worker ids are of (default: worker ids are whole worker numbers)")
	flags.Var(&parsed[time.Time]{value: &old.StoppedAt, word: "TIME", parse: parseTime}, "stopped-at", "when the old system was stopped, with its zone: 2026-11-21T10:00:00Z")
	flags.Func("last-id", "greatest `ID` known of the old system, or of a worker id; may be repeated", lastIDs(&old.LastIDs))
	flags.DurationVar(&old.Margin, "margin", old.Margin, "added to the latest time that is known")
	flags.DurationVar(&old.Ahead, "ahead", old.Ahead, "most that a time of the old system may lie ahead of now")
	flags.DurationVar(&old.Watch, "watch", old.Watch, "how long Leaf's nodes are watched for a sign of life")
	v.writing = p.writingFlags(cmd, true)
	v.settings = siteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v.cmd, v.form = cmd, *f
		old.System, old.Workers, old.All = takeover.System(args[0]), workers.numbers, workers.all
		return v.run(cmd.Context())
	}
	return cmd
}

// run makes the plan, shows it, and carries it out if it may.
func (v *importing) run(ctx context.Context) error {
	if err := v.old.Validate(); err != nil {
		return usage(v.cmd, err)
	}
	at, err := v.siteOf(v.settings)
	if err != nil {
		return err
	}
	defer at.close()
	r, err := v.present(ctx, at)
	if err != nil {
		return err
	}
	layout, err := v.layout(at, r)
	if err != nil {
		return err
	}
	done := func() {}
	if len(v.old.Servers) > 0 {
		done = v.awaiting(fmt.Sprintf("ZooKeeper at %s, whose nodes are watched for %s", strings.Join(v.old.Servers, ","), v.old.Watch))
	}
	var plan takeover.Plan
	facts, err := v.old.Look(ctx, layout, v.clock)
	done()
	if err == nil {
		plan, err = takeover.NewPlan(facts)
	}
	if err == nil && r != nil {
		plan, err = takeover.Draft(ctx, r, plan)
	}
	if err != nil {
		return byClass(v.cmd, err)
	}
	if r == nil {
		if err := v.owned(at, plan); err != nil {
			return err
		}
	}
	v.warn(plan.Doubts...)
	return v.decide(ctx, at, r, plan)
}

// present opens the namespace, and returns nil where there is none: the store itself
// is made only when something is written.
func (v *importing) present(ctx context.Context, at *site) (*roster.Roster, error) {
	var r *roster.Roster
	err := at.open(ctx, true)
	if err == nil {
		r, err = roster.Open(ctx, at.roster)
	}
	if openstore.Missing(err) || errors.Is(err, roster.ErrNoNamespace) {
		return nil, nil
	}
	return r, unavailable(err)
}

// layout is the old system's.
func (v *importing) layout(at *site, r *roster.Roster) (snowfence.Layout, error) {
	own, ok := v.old.System.Layout()
	switch {
	case v.cmd.Flags().Changed("layout"):
		return at.settings.Layout, nil
	case ok:
		return own, nil
	case v.old.System == takeover.List && r != nil:
		return r.Layout(), nil
	}
	return own, usage(v.cmd, fmt.Errorf("%s needs --layout: that of the old system's ids", v.old.System))
}

// owned returns an error for a worker id of a datacenter that the namespace won't have.
func (v *importing) owned(at *site, plan takeover.Plan) error {
	for _, s := range plan.Steps {
		datacenter, _, err := plan.Layout.SplitWorker(s.Worker)
		if err != nil {
			return err
		}
		if len(at.datacenters) > 0 && !slices.Contains(at.datacenters, datacenter) {
			return usage(v.cmd, fmt.Errorf("worker %d: is of datacenter %d, and the configuration gives namespace %q the datacenters %v alone", s.Worker, datacenter, at.roster.Namespace, at.datacenters))
		}
	}
	return nil
}

// decide carries the plan out if --yes says so, or if the user agrees.
func (v *importing) decide(ctx context.Context, at *site, r *roster.Roster, plan takeover.Plan) error {
	// On a lossy store floors that are there may still have to be confirmed: an earlier
	// run may have been interrupted before it did.
	settled := r != nil && r.Traits().Loss == 0 && !slices.ContainsFunc(plan.Steps, func(s takeover.Step) bool { return s.Action != takeover.Keep })
	if v.yes && !settled && !v.dry {
		return v.apply(ctx, at, r, plan)
	}
	if err := v.show(at, r == nil, plan, false); err != nil || settled || v.dry {
		return err
	}
	if !v.asks || v.form == jsonForm {
		v.note("nothing was written: --yes writes it")
		return nil
	}
	question := fmt.Sprintf("set the floor of %d worker ids", plan.Writes())
	if plan.Writes() == 0 {
		question = fmt.Sprintf("make sure of the floors of %d worker ids", len(plan.Steps))
	}
	if err := v.confirm(v.cmd, false, question); err != nil {
		return err
	}
	return v.apply(ctx, at, r, plan)
}

// apply carries the plan out and shows what was done.
func (v *importing) apply(ctx context.Context, at *site, r *roster.Roster, plan takeover.Plan) error {
	made := r == nil
	if made {
		err := at.open(ctx, false)
		if err != nil {
			return err
		}
		if r, err = roster.Create(ctx, at.roster, plan.Layout, at.datacenters); err != nil {
			return unavailable(err)
		}
		v.note("made a new namespace %q in %s: layout %s", r.Name(), at.settings.ShowStore(at.store), plan.Layout)
	}
	planned := len(plan.Steps)
	var steps []takeover.Step
	err := takeover.Apply(ctx, r, plan, v.patience, func(s takeover.Step) { steps = append(steps, s) })
	plan.Steps = steps
	v.audit("workers import", "namespace", r.Name(), "made", made, "source", v.old.System, "floor", int64(plan.Floor), "done", len(steps), "planned", planned)
	if err != nil && !errors.Is(err, roster.ErrUnusable) {
		if len(steps) < planned {
			v.note("%d of %d worker ids were done; run it again for the rest", len(steps), planned)
		}
		return byClass(v.cmd, err)
	}
	if showErr := v.show(at, made, plan, true); showErr != nil {
		return showErr
	}
	return unavailable(err)
}

// show prints a plan, with the steps that were done of it if it was applied; made says that the namespace is new.
func (v *importing) show(at *site, made bool, plan takeover.Plan, applied bool) error {
	out := report{program: v.program, form: v.form}
	shown := registers.Takeover{
		Store: at.settings.ShowStore(at.store), Namespace: at.roster.Namespace, Made: made, Source: v.old.System,
		Margin: v.old.Margin, Plan: plan, Applied: applied,
	}
	for _, document := range shown.Documents() {
		if err := out.object(document); err != nil {
			return err
		}
	}
	out.WriteString(shown.Text(v.clock.Wall()))
	return out.end("")
}

// workerList is what --workers names.
type workerList struct {
	all     bool
	numbers []int64
}

// parseWorkerList reads numbers and ranges, 0-31,40, or all.
func parseWorkerList(list string) (workerList, error) {
	if list == "all" {
		return workerList{all: true}, nil
	}
	ranges, err := text.ParseRanges(list)
	if err != nil {
		return workerList{}, fmt.Errorf("%w, or all", err)
	}
	var l workerList
	for _, r := range ranges {
		if r.Last-r.First >= takeover.MaxWorkers-int64(len(l.numbers)) {
			return l, fmt.Errorf("%q: that makes more than %d worker ids", r, takeover.MaxWorkers)
		}
		for n := r.First; n <= r.Last; n++ {
			l.numbers = append(l.numbers, n)
		}
	}
	return l, nil
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

func parseDatacenter(number string) (*int64, error) {
	n, err := strconv.ParseUint(number, 10, 62)
	if err != nil {
		return nil, fmt.Errorf("%q: must be a number", number)
	}
	datacenter := int64(n)
	return &datacenter, nil
}

func parseTime(at string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return t, errors.New("must be a time with its zone, such as 2026-11-21T10:00:00Z or 2026-11-21T18:00:00+08:00")
	}
	return t, nil
}
