package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/predecessor"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/internal/roster"
)

// source is what kind of system is taken over.
type source string

const (
	fromLeaf           source = "leaf"
	fromRecyclable     source = "leaf-recyclable"
	fromTwitter        source = "twitter"
	fromShardingSphere source = "shardingsphere"
	fromList           source = "list"
)

func sources() []source {
	return []source{fromLeaf, fromRecyclable, fromTwitter, fromShardingSphere, fromList}
}

// importing is one run of import.
type importing struct {
	program
	cmd      *cobra.Command
	settings *settings
	source   source
	form     form

	zookeeper  []string
	name, path string
	workers    workerList
	datacenter *int64
	stoppedAt  time.Time
	lastIDs    []snowfence.ID
	margin     time.Duration
	ahead      time.Duration
	watch      time.Duration
	yes        bool
}

func (p program) workersImport() *cobra.Command {
	v := &importing{program: p, margin: takeover.DefaultMargin, ahead: takeover.DefaultAhead, watch: predecessor.DefaultWatch}
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Take over from another system: set floors above its ids",
		Long: `Import lets a namespace go on where another system's ids end. For each worker id
of the old system it sets a floor above everything that it can have issued; from
then on no id repeats one of its, whatever the clocks do.

The old system must be stopped, all of it, and stay stopped. Say by --stopped-at
when it was, or by --last-id (once or several times) what it issued last:
without one of them nothing is done. What shows that it still runs is refused
with exit code 5. A process that lost its ZooKeeper shows nothing and goes on:
you have to know.

  leaf             Leaf: /snowflake/NAME/forever in ZooKeeper
  leaf-recyclable  Leaf with recyclable worker ids: /snowflake/NAME/recycle, out
                   of which a crash can lose one; all worker ids, or those of
                   --workers and the pools
  twitter          Twitter: /snowflake-servers, where whoever lives has a node;
                   all worker ids of --datacenter, or those of --workers
  shardingsphere   fixed worker ids, those of --workers
  list             any other system, those of --workers

The layout must be the old system's: it is the preset of that name for leaf and
twitter, and else --layout. ShardingSphere's epoch is midnight in its servers'
zone until 2026: presets shardingsphere-shanghai and shardingsphere (UTC), or a
text form with that epoch. A namespace that does not exist is made with it.

The floor is the same for all worker ids: one tick after the latest of the stop,
the last ids and the old system's own timestamps, plus --margin. The margin is
for an old clock that was ahead of yours, and for ids that nobody saw. As long
as it is no more than max-rollback (5s by default) it keeps no claim waiting. A
time further ahead of now than --ahead is taken for a mistake: of a floor that
is too high nobody ever gets rid.

Without --yes the plan is shown and nothing is written, unless you are asked and
agree. Actions: create, raise; end (raises until of a term that began below the
floor, which ends it); keep; unset (can't be read, and so gets no floor: the
exit code is 1). Registers are only raised, each by a swap under the version
that was read: run it again if it was interrupted; run twice it changes nothing.
-o json streams: one object a line with "type":"step", and a last one with
"type":"plan".`,
		Example: `  snowfence workers import leaf --zookeeper zk1:2181,zk2:2181 --name orders \
      --namespace orders --stopped-at 2026-11-21T10:00:00Z
  snowfence workers import twitter --zookeeper zk1 --datacenter 11 \
      --last-id 1541815603606036480 --yes
  snowfence workers import shardingsphere --workers 0-7 \
      --layout shardingsphere-shanghai --stopped-at 2026-11-21T18:00:00+08:00
  snowfence workers import list --workers all --layout tsid \
      --last-id 812345678901234567 --yes -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			words := join(sources(), ", ")
			if len(args) != 1 {
				return usage(cmd, fmt.Errorf("needs one source of %s", words))
			}
			if !slices.Contains(sources(), source(args[0])) {
				return usage(cmd, fmt.Errorf("source %q is not known: must be one of %s", args[0], words))
			}
			return nil
		},
		ValidArgs: strings.Split(join(sources(), " "), " "),
	}
	f := outputFlag(cmd)
	flags := cmd.Flags()
	flags.Var(&parsed[[]string]{value: &v.zookeeper, word: "HOST:PORT,...", parse: parseServers}, "zookeeper", "the old system's ZooKeeper")
	flags.Var(textFlag(&v.name, "NAME"), "name", "leaf.name, which is in Leaf's path")
	flags.Var(&parsed[string]{value: &v.path, word: "PATH", parse: parsePath}, "path", "path in ZooKeeper, where it is not the usual one")
	flags.Var(&parsed[workerList]{value: &v.workers, word: "LIST", parse: parseWorkerList}, "workers", "worker ids beside those found: numbers and ranges as in 0-31,40, or all")
	flags.Var(&parsed[*int64]{value: &v.datacenter, word: "N", parse: parseDatacenter}, "datacenter", "datacenter id that the worker ids are of (default: worker ids are whole worker numbers)")
	flags.Var(&parsed[time.Time]{value: &v.stoppedAt, word: "TIME", parse: parseTime}, "stopped-at", "when the old system was stopped, with its zone: 2026-11-21T10:00:00Z")
	flags.Var(&lastIDs{&v.lastIDs}, "last-id", "greatest id known of the old system, or of a worker id; may be repeated")
	flags.DurationVar(&v.margin, "margin", v.margin, "added to the latest time that is known")
	flags.DurationVar(&v.ahead, "ahead", v.ahead, "most that a time of the old system may lie ahead of now")
	flags.DurationVar(&v.watch, "watch", v.watch, "how long Leaf's nodes are watched for a sign of life")
	flags.BoolVar(&v.yes, "yes", false, "write without asking")
	v.settings = siteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v.cmd, v.source, v.form = cmd, source(args[0]), *f
		return v.run(cmd.Context())
	}
	return cmd
}

// run collects the facts, makes the plan, shows it, and carries it out if it may.
func (v *importing) run(ctx context.Context) error {
	if err := v.complete(); err != nil {
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
	facts, err := v.facts(ctx, layout)
	if err != nil {
		return err
	}
	reckoning, err := takeover.Reckon(facts)
	if err != nil {
		return v.refused(err)
	}
	plan, err := takeover.Draft(ctx, r, reckoning)
	if err != nil {
		return v.refused(err)
	}
	if r == nil {
		if err := v.owned(at, plan); err != nil {
			return err
		}
	}
	for _, s := range plan.Left {
		v.warn(fmt.Sprintf("%s: worker id %d is none of the layout %s: no id can have been issued with it", s.Where, s.Worker, plan.Layout))
	}
	return v.decide(ctx, at, r, plan)
}

// present opens the namespace that there is, and returns nil where there is none:
// then not even the store is made before something is to be written.
func (v *importing) present(ctx context.Context, at *site) (*roster.Roster, error) {
	if err := at.read(ctx); engine.Missing(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	r, err := roster.Open(ctx, at.roster)
	if errors.Is(err, roster.ErrNoNamespace) {
		return nil, nil
	}
	return r, unavailable(err)
}

// owned returns an error for a worker id that a namespace which is still to be
// made will not have.
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

// decide carries the plan out if it was said, or is agreed, that it should be.
func (v *importing) decide(ctx context.Context, at *site, r *roster.Roster, plan takeover.Plan) error {
	// On a lossy store also floors that are there may have to be confirmed: those
	// of a run that was interrupted before it had.
	settled := r != nil && r.Traits().Loss == 0 && !slices.ContainsFunc(plan.Steps, func(s takeover.Step) bool { return s.Action != takeover.Keep })
	if v.yes && !settled {
		return v.apply(ctx, at, r, plan)
	}
	if err := v.show(at, r == nil, plan, plan.Steps, false); err != nil || settled {
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

// complete says what is missing of what the source needs.
func (v *importing) complete() error {
	given := func(flag string) bool { return v.cmd.Flags().Changed(flag) }
	inZooKeeper := v.source == fromLeaf || v.source == fromRecyclable || v.source == fromTwitter
	switch {
	case v.stoppedAt.IsZero() && len(v.lastIDs) == 0:
		return errors.New("needs --stopped-at or --last-id: stop the old system first, all of it")
	case inZooKeeper && len(v.zookeeper) == 0:
		return fmt.Errorf("%s needs --zookeeper; without one, use list", v.source)
	case !inZooKeeper && (given("zookeeper") || given("path") || given("name") || given("watch")):
		return fmt.Errorf("%s reads no ZooKeeper", v.source)
	case (v.source == fromLeaf || v.source == fromRecyclable) && (v.name == "") == (v.path == ""):
		return fmt.Errorf("%s needs either --name or --path", v.source)
	case v.source == fromTwitter && v.name != "":
		return errors.New("twitter has no --name")
	case v.source == fromTwitter && v.datacenter == nil:
		return errors.New("twitter needs --datacenter: its ZooKeeper knows the worker ids of one datacenter")
	case !inZooKeeper && !given("workers"):
		return fmt.Errorf("%s needs --workers", v.source)
	case strings.Contains(v.name, "/"):
		return fmt.Errorf("--name %q: must have no slash", v.name)
	case v.margin < 0 || v.margin > takeover.MaxMargin:
		return fmt.Errorf("--margin %s: must be from 0s to %s", v.margin, takeover.MaxMargin)
	case v.ahead < 0:
		return fmt.Errorf("--ahead %s: must not be negative", v.ahead)
	case v.watch <= 0:
		return fmt.Errorf("--watch %s: must be more than 0", v.watch)
	}
	return nil
}

// layout is the old system's.
func (v *importing) layout(at *site, r *roster.Roster) (snowfence.Layout, error) {
	if v.cmd.Flags().Changed("layout") {
		return at.settings.Layout, nil
	}
	preset := map[source]string{fromLeaf: "leaf", fromRecyclable: "leaf", fromTwitter: "twitter"}[v.source]
	switch {
	case preset != "":
		p, err := snowfence.PresetByName(preset)
		return p.Layout, err
	case v.source == fromList && r != nil:
		return r.Layout(), nil
	}
	return snowfence.Layout{}, usage(v.cmd, fmt.Errorf("%s needs --layout: that of the old system's ids", v.source))
}

// facts are what the flags and the old system's ZooKeeper say.
func (v *importing) facts(ctx context.Context, layout snowfence.Layout) (takeover.Facts, error) {
	f := takeover.Facts{
		Layout: layout, All: v.workers.all, Datacenter: v.datacenter, StoppedAt: v.stoppedAt, LastIDs: v.lastIDs,
		Margin: v.margin, Ahead: v.ahead,
	}
	if d := v.datacenter; d != nil {
		if _, err := layout.WorkerNumber(*d, 0); err != nil {
			return f, usage(v.cmd, fmt.Errorf("--datacenter: %s with the layout %s", message(err), layout))
		}
	}
	for _, n := range v.workers.numbers {
		if v.datacenter != nil {
			all, err := layout.WorkerNumber(*v.datacenter, n)
			if err != nil {
				return f, usage(v.cmd, fmt.Errorf("--workers: %s", message(err)))
			}
			n = all
		}
		if _, _, err := layout.SplitWorker(n); err != nil {
			return f, usage(v.cmd, fmt.Errorf("--workers: %s with the layout %s", message(err), layout))
		}
		f.Sightings = append(f.Sightings, takeover.Sighting{Worker: n, Where: "--workers"})
	}
	if len(v.zookeeper) > 0 {
		found, err := v.look(ctx, layout)
		if err != nil {
			return f, err
		}
		f.Sightings = append(f.Sightings, found...)
		// Twitter's servers leave nothing behind, and a crash can lose a node of the
		// recyclable pools.
		f.All = f.All || v.source != fromLeaf && len(v.workers.numbers) == 0
	}
	f.Now = v.clock.Wall() // after the watch
	return f, nil
}

// look reads the old system's ZooKeeper.
func (v *importing) look(ctx context.Context, layout snowfence.Layout) ([]takeover.Sighting, error) {
	z, err := predecessor.Open(ctx, predecessor.Config{Servers: v.zookeeper, Watch: v.watch, Clock: v.clock})
	if err != nil {
		return nil, unavailable(err)
	}
	defer z.Close()
	path := v.path
	var found []takeover.Sighting
	switch v.source {
	case fromLeaf:
		if path == "" {
			path = predecessor.LeafPath(v.name)
		}
		found, err = z.Leaf(ctx, path)
	case fromRecyclable:
		if path == "" {
			path = predecessor.RecyclablePath(v.name)
		}
		found, err = z.Recyclable(ctx, path)
	default:
		if path == "" {
			path = predecessor.TwitterPath
		}
		found, err = z.Twitter(ctx, path, layout, *v.datacenter)
	}
	if err != nil && !predecessor.Final(err) {
		err = unavailable(err)
	}
	return found, err
}

// refused gives an error of the take-over its exit code.
func (v *importing) refused(err error) error {
	var fact *takeover.FactError
	switch {
	case errors.Is(err, snowfence.ErrInvalidID):
		return err
	case errors.As(err, &fact), errors.Is(err, takeover.ErrNoBound), errors.Is(err, takeover.ErrNoWorkers):
		return usage(v.cmd, err)
	case errors.Is(err, takeover.ErrRunning), errors.Is(err, snowfence.ErrPastHorizon):
		return err
	}
	return unavailable(err)
}

// apply carries the plan out and shows what was done.
func (v *importing) apply(ctx context.Context, at *site, r *roster.Roster, plan takeover.Plan) error {
	made := r == nil
	if made {
		err := at.write(ctx)
		if err != nil {
			return err
		}
		if r, err = roster.Create(ctx, at.roster, plan.Layout, at.datacenters); err != nil {
			return unavailable(err)
		}
		v.note("made the namespace %q with the layout %s", r.Name(), plan.Layout)
	}
	if loss := r.Traits().Loss; loss > 0 {
		v.note("the store can lose what was written in the last %s: the floors are confirmed after that", loss)
	}
	var steps []takeover.Step
	err := takeover.Apply(ctx, r, plan, func(s takeover.Step) { steps = append(steps, s) })
	if err != nil && !errors.Is(err, roster.ErrUnusable) {
		v.note("%d of %d worker ids were done; run it again for the rest", len(steps), len(plan.Steps))
		return v.refused(err)
	}
	if showErr := v.show(at, made, plan, steps, true); showErr != nil {
		return showErr
	}
	return unavailable(err)
}
