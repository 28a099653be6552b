package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/plan"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

func (p program) namespace() *cobra.Command {
	return group(&cobra.Command{
		Use:   "namespace",
		Short: "List, show or verify namespaces, or print what their store needs",
		Long: `A namespace is one space of unique ids in one store: one layout, one epoch, one
set of worker ids. These verbs read it and write nothing.`,
		Example: `  snowfence namespace list
  snowfence namespace show
  snowfence namespace verify --namespace orders`,
	}, p.namespaceList(), p.namespaceShow(), p.namespaceVerify(), p.namespaceSchema())
}

// namespaceDocument is a namespace in JSON.
type namespaceDocument struct {
	Namespace     string         `json:"namespace"`
	Layout        string         `json:"layout"`
	Presets       []string       `json:"presets"` // that have this layout
	Epoch         string         `json:"epoch"`
	Horizon       string         `json:"horizon"`
	Workers       int64          `json:"workers"`  // of the layout
	Capacity      int64          `json:"capacity"` // that this store may give away
	RatePerWorker float64        `json:"ids_per_second_and_worker"`
	Datacenters   []int64        `json:"datacenters"` // empty: all
	Incarnation   string         `json:"incarnation"`
	Created       string         `json:"created"`
	Store         storeDocument  `json:"store"`
	Clocks        clocksDocument `json:"clocks"`
}

// storeDocument is what a store says of itself, in JSON.
type storeDocument struct {
	Engine  string  `json:"engine"`
	Durable bool    `json:"durable"`
	Loss    float64 `json:"loss_seconds"`
	OneHost bool    `json:"one_host"`
}

// summaryDocument is a namespace of a list in JSON.
type summaryDocument struct {
	Namespace string `json:"namespace"`
	Layout    string `json:"layout,omitempty"`
	Created   string `json:"created,omitempty"`
	Capacity  int64  `json:"capacity"`
	Registers int64  `json:"registers"`
	Held      int64  `json:"held"`
	Error     string `json:"error,omitempty"`
}

func (p program) namespaceList() *cobra.Command {
	return p.onStore(&cobra.Command{
		Use:   "list",
		Short: "List the namespaces of a store",
		Long: `List shows every namespace of a store: its layout, when it was made, how many
worker ids it has, how many were ever claimed, and how many are held. It reads
every register once, so it takes a while in a store with many. -o json prints
one object a line.`,
		Example: `  snowfence namespace list
  snowfence namespace list --store etcd://etcd1/ids -o json`,
		Args: exactly(0),
	}, func(ctx context.Context, f form, s store.Store, _ string, _ []string) error {
		all, err := roster.Namespaces(ctx, s, p.clock.Wall())
		if err != nil {
			return err
		}
		var rows [][]string
		for _, n := range all {
			d := summaryDocument{Namespace: n.Name, Layout: n.Record.Layout, Registers: n.Workers, Held: n.Held}
			if n.Err == nil {
				d.Created, d.Capacity = n.Record.Created.UTC().Format(time.RFC3339), n.Capacity()
			} else {
				d.Error = text.Message(n.Err)
			}
			if f == jsonForm {
				if err := p.printJSON(d); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{n.Name, cmp.Or(d.Layout, "-"), cmp.Or(d.Created, d.Error), fmt.Sprint(d.Capacity), fmt.Sprint(d.Registers), fmt.Sprint(d.Held)})
		}
		if f == jsonForm {
			return nil
		}
		return p.print(table("namespace, layout, created, >workers, >claimed, >held", rows))
	})
}

func (p program) namespaceShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show a namespace's layout, time span, worker ids and store",
		Long: `Show prints the record of a namespace and what follows from it: the layout, its
epoch and its horizon, after which no id can be minted; how many worker ids its
store may give away; the incarnation, which tells it from another namespace of
the same name; when it was made; and what its store says of itself.

-o json prints one object.`,
		Example: `  snowfence namespace show
  snowfence namespace show --namespace orders -o json`,
	}
	return p.onRoster(cmd, func(_ *cobra.Command, f form, r *roster.Roster, _ []string) error { return p.printNamespace(f, r) })
}

func (p program) printNamespace(f form, r *roster.Roster) error {
	l, record, traits := r.Layout(), r.Record(), r.Traits()
	now := r.Now()
	at := func(t time.Time) string { return decode.FormatTime(t, l.Unit) + "  " + decode.Relative(t, now) }
	layout := record.Layout
	presets := decode.PresetsOf(l)
	if len(presets) > 0 {
		layout += "  (" + strings.Join(presets, ", ") + ")"
	}
	datacenters := "all that the layout has"
	switch {
	case len(record.Datacenters) > 0:
		datacenters = strings.Trim(fmt.Sprint(record.Datacenters), "[]") + " of " + strconv.FormatInt(1<<l.Bits(snowfence.Datacenter), 10)
	case !hasDatacenter(l):
		datacenters = "none in this layout"
	}
	clocks := "the store has none; this host's is used"
	if byStore, ahead := r.Reference(); byStore {
		clocks = "the store's is used; this host's is " + apart(ahead)
	}
	rows := [][]string{
		{"namespace", r.Name()},
		{"layout", layout},
		{"epoch", at(l.Epoch)},
		{"horizon", horizonText(l) + "  " + decode.Relative(l.Horizon(), now)},
		{"worker ids", fmt.Sprintf("%d of the layout's %d", r.Capacity(), l.Workers())},
		{"datacenters", datacenters},
		{"rate", fmt.Sprintf("%s ids a second and worker id, %s in all", plan.Quantity(l.RatePerWorker()), plan.Quantity(l.RatePerWorker()*float64(r.Capacity())))},
		{"incarnation", record.Incarnation},
		{"created", decode.FormatTime(record.Created, time.Millisecond) + "  " + decode.Relative(record.Created, now)},
		{"store", traits.String()},
		{"clock", clocks},
	}
	var said page
	for _, row := range rows {
		said.line("%-13s %s", row[0], row[1])
	}
	return p.answer(f, namespaceDocument{
		Namespace: r.Name(), Layout: record.Layout, Presets: presets,
		Epoch: l.Epoch.UTC().Format(time.RFC3339Nano), Horizon: horizonText(l),
		Workers: l.Workers(), Capacity: r.Capacity(), RatePerWorker: l.RatePerWorker(),
		Datacenters: append([]int64{}, record.Datacenters...), Incarnation: record.Incarnation, Created: record.Created.Format(time.RFC3339Nano),
		Store:  storeDocument{traits.Engine, traits.Durable, traits.Loss.Seconds(), traits.OneHost},
		Clocks: clocksOf(r),
	}, table("what, value", rows), said.String())
}

// horizonText is a layout's horizon as far as its unit tells it.
func horizonText(l snowfence.Layout) string { return decode.FormatTime(l.Horizon(), l.Unit) }

// findingDocument is what verify found, in JSON.
type findingDocument struct {
	Type     string          `json:"type"` // "finding"
	Severity roster.Severity `json:"severity"`
	Check    roster.Check    `json:"check"`
	Workers  []int64         `json:"workers"` // none for a key that is no worker id's
	Key      string          `json:"key"`
	Text     string          `json:"text"`
}

// verdictDocument is what verify came to, in JSON.
type verdictDocument struct {
	Type      string         `json:"type"` // "verdict"
	Namespace string         `json:"namespace"`
	Valid     bool           `json:"valid"`
	Registers int64          `json:"registers"`
	Errors    int64          `json:"errors"`
	Warnings  int64          `json:"warnings"`
	Notes     int64          `json:"notes"`
	IDs       uint64         `json:"ids"`           // that were compared
	Pages     int64          `json:"journal_pages"` // that were compared
	Clocks    clocksDocument `json:"clocks"`
}

func (p program) namespaceVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every register of a namespace and say what is wrong",
		Long: `Verify reads every register. It writes nothing, and repairs nothing. It checks

  - that the register can be decoded, and is of this incarnation and layout
  - that its key is a worker id of the layout, and one that this store may issue
  - that its ticks end before the horizon, and not absurdly far ahead of now
  - that the clock of its writer was not ahead
  - that no two registers are copies: of one claim, or of one write
  - whether a process holds several worker ids

Verify also says whether the store is older than what was given out, as after a
restored backup. It compares the journals in this host's data directory, which
it only reads, and what you give: the greatest ids by --last-id, whole columns
by --ids, and the greatest numbers of counters by --last-number. Each finding
has its remedy. Ids of wide layouts, and numbers of a series, are refused.

Without -g and --namespace it verifies the namespace of each generator that has
worker ids, one after the other. Flags that give ids or numbers are for one
alone.

The exit code is 1 if there is an error, and 0 with warnings and notes alone. -o
json streams: one object a line with "type":"finding", and a last one with
"type":"verdict".`,
		Example: `  snowfence namespace verify --config snowfence.yaml
  snowfence namespace verify -g orders -o json
  snowfence namespace verify --ids 'mysql://me@db/shop#table=t,column=id'
  snowfence namespace verify --last-number invoices=20261125:5 -o table`,
	}
	known := givenOut{program: p}
	known.add(cmd)
	return p.onEverySite(cmd, []string{"last-id", "ids", "last-number"}, func(cmd *cobra.Command, f form, at *site) error {
		return p.verifySite(cmd, f, at, &known)
	})
}

// verifySite verifies the namespace of one site, and prints what is wrong.
func (p program) verifySite(cmd *cobra.Command, f form, at *site, known *givenOut) error {
	kept, err := pages(at.settings)
	if err != nil {
		return err
	}
	known.where = at.flags(cmd)
	v := verification{form: f, clocks: clocksDocument{Reference: "host"}}
	r, err := at.namespace(cmd)
	var found []roster.Finding
	switch {
	case errors.Is(err, roster.ErrNoNamespace):
		err = known.alone(cmd.Context(), at, kept)
		found = []roster.Finding{{Severity: roster.Note, Check: roster.CheckNamespace, Key: at.roster.Namespace,
			Text: "the namespace has no record, as one with counters alone: only these were compared"}}
	case err == nil:
		v.clocks = clocksOf(r)
		found, err = p.verify(cmd.Context(), r, &v, known, kept)
	}
	if err != nil {
		return err
	}
	behind, err := known.counters(cmd.Context(), at)
	if err != nil {
		return err
	}
	for _, x := range append(found, behind...) {
		if err := p.printFinding(f, x, &v.rows); err != nil {
			return err
		}
		if x.Severity == roster.Fault {
			v.Faults++
		} else {
			v.Notes++
		}
	}
	if err := p.printVerdict(at.roster.Namespace, v); err != nil || v.Faults == 0 {
		return err
	}
	return reported(exitFailure)
}

// verification is one run of verify.
type verification struct {
	roster.Verdict
	form   form
	rows   [][]string // of a table
	ids    uint64     // that were compared
	pages  int64      // of journals, compared
	clocks clocksDocument
}

// verify reads every register and prints its faults. It returns what is behind what was given out.
func (p program) verify(ctx context.Context, r *roster.Roster, v *verification, known *givenOut, kept [][]byte) ([]roster.Finding, error) {
	for x, err := range r.Verify(ctx, &v.Verdict) {
		if err != nil {
			return nil, unavailable(err)
		}
		if err := p.printFinding(v.form, x, &v.rows); err != nil {
			return nil, err
		}
	}
	found, err := known.compare(ctx, r)
	if err != nil {
		return nil, err
	}
	v.ids = known.compared
	for _, page := range kept {
		behind, ours, err := r.Compare(ctx, page)
		if err != nil {
			return nil, unavailable(err)
		}
		if found = append(found, behind...); ours {
			v.pages++
		}
	}
	return found, nil
}

// printFinding prints what was found, or keeps it for a table.
func (p program) printFinding(f form, x roster.Finding, rows *[][]string) error {
	workers := slices.DeleteFunc(append([]int64{}, x.Workers...), func(n int64) bool { return n == roster.Stray })
	which := strings.ReplaceAll(strings.Trim(fmt.Sprint(workers), "[]"), " ", ",")
	switch f {
	case jsonForm:
		return p.printJSON(findingDocument{"finding", x.Severity, x.Check, workers, x.Key, x.Text})
	case tableForm:
		*rows = append(*rows, []string{string(x.Severity), orDash(which), string(x.Check), x.Key, x.Text})
		return nil
	default:
		if which == "" {
			which = x.Key
		} else {
			which = "worker " + which
		}
		return p.print(fmt.Sprintf("%s: %s: %s: %s\n", x.Severity, which, x.Check, x.Text))
	}
}

func (p program) printVerdict(name string, v verification) error {
	valid, word, known := v.Faults == 0, "valid", "nothing is known from a journal"
	if !valid {
		word = "not valid"
	}
	if v.pages > 0 {
		known = text.Count(v.pages, "page") + " of journals compared"
	}
	return p.answer(v.form, verdictDocument{"verdict", name, valid, v.Registers, v.Faults, v.Warnings, v.Notes, v.ids, v.pages, v.clocks},
		table("severity, workers, check, key, text", v.rows),
		fmt.Sprintf("namespace %s: %s; %d registers read, %d errors, %d warnings, %d notes; %s compared; %s\n", name, word, v.Registers, v.Faults, v.Warnings, v.Notes, text.Count(v.ids, "id"), known))
}

func (p program) namespaceSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print what a store needs made by hand",
		Long: `Schema prints what has to be there before ids can be minted, for those whose
program may not create it. That is the statement that creates each table, for
PostgreSQL and MySQL, and the stream's configuration, for NATS (nats stream add
--config FILE). The program makes its own tables when it first needs them, with
more rights; it never makes those of Leaf, tinyid and Flickr.

With a configuration it prints what the generators need. Where they have several
stores, a line before each part names its store. With --store it prints all that
the program may need in this one: registers, series, and the tables of those
generators. It says so where nothing is needed. It connects to no store.`,
		Example: `  snowfence namespace schema --config snowfence.yaml
  snowfence namespace schema --store postgres://ids@db/ids | psql ...
  snowfence namespace schema --store 'nats://host/ids?replicas=3' > stream.json`,
	}
	s := settingFlags(cmd, "store", "namespace", "layout", "data")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		all, err := builtin.Schemas(c, cmd.Flags().Changed("store"))
		if err != nil {
			return err
		}
		var said page
		needy := slices.DeleteFunc(slices.Clone(all), func(x builtin.Schema) bool { return len(x.Parts) == 0 })
		for _, x := range all {
			if len(x.Parts) == 0 {
				p.warn("nothing has to be made by hand in " + c.ShowStore(x.URL))
				continue
			}
			if len(needy) > 1 {
				said.line("-- in %s:", c.ShowStore(x.URL))
			}
			for _, part := range x.Parts {
				if engine.IsDatabase(x.URL) {
					part += ";"
				}
				for line := range strings.SplitSeq(part, "\n") {
					said.line("%s", line)
				}
			}
		}
		return p.print(said.String())
	}
	return cmd
}
