package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/store"
)

func (p program) counters() *cobra.Command {
	return group(&cobra.Command{
		Use:   "counters",
		Short: "List, show or raise the counters of a namespace",
		Long: `A counter is what a store keeps for a generator of the kind segment, ticket or
daily: the number that is reserved next. These verbs read counters, and raise
them. No verb lowers one.`,
		Example: `  snowfence counters list
  snowfence counters set orders 500000 --dry-run`,
	}, p.countersList(), p.countersShow(), p.countersSet())
}

// counterDocument is a counter in JSON.
type counterDocument struct {
	Type      string         `json:"type"` // "counter"
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Kind      string         `json:"kind"`
	Start     string         `json:"start"`
	Increment string         `json:"increment"`
	Limit     string         `json:"limit"`
	Zone      string         `json:"zone,omitempty"`
	Digits    int            `json:"digits,omitempty"`
	Next      []laneDocument `json:"next"`
	Created   string         `json:"created"`
	Written   string         `json:"written"`
	By        string         `json:"by"`
}

// laneDocument is the next number of a counter, or of one date.
type laneDocument struct {
	Date string `json:"date,omitempty"`
	Next string `json:"next"`
}

func counterOf(i counter.Info) counterDocument {
	d := counterDocument{
		Type: "counter", Namespace: i.Namespace, Name: i.Name, Kind: i.Kind,
		Start: fmt.Sprint(i.Start), Increment: fmt.Sprint(i.Increment), Limit: fmt.Sprint(i.Limit), Zone: i.Zone, Digits: i.Digits,
		Created: i.Created.UTC().Format(time.RFC3339), Written: i.Written.UTC().Format(time.RFC3339), By: i.Process.String(),
	}
	for _, lane := range i.Lanes {
		d.Next = append(d.Next, laneDocument{lane.Name, fmt.Sprint(lane.Next)})
	}
	return d
}

const counterColumns = "counter,kind,date,next,limit,written,by"

func counterRows(i counter.Info) [][]string {
	var rows [][]string
	for _, lane := range i.Lanes {
		rows = append(rows, []string{i.Name, i.Kind, lane.Name, fmt.Sprint(lane.Next), fmt.Sprint(i.Limit), i.Written.UTC().Format(time.RFC3339), i.Process.String()})
	}
	return rows
}

// onStore completes a verb that works on what a store has, such as the counters of a namespace.
func (p program) onStore(cmd *cobra.Command, run func(ctx context.Context, f form, s store.Store, namespace string, args []string) error) *cobra.Command {
	f, s := outputFlag(cmd), siteFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		namespace, at := c.Namespace, c.Store
		if s.generator != "" {
			if namespace, at, err = s.named(c); err != nil {
				return err
			}
		}
		opened, err := openstore.OpenExisting(cmd.Context(), at)
		if err != nil {
			return unavailable(err)
		}
		defer p.closing("close store: ", opened.Close)
		return unavailable(run(cmd.Context(), *f, opened, namespace, args))
	}
	return cmd
}

func (p program) countersList() *cobra.Command {
	return p.onStore(&cobra.Command{
		Use:   "list",
		Short: "List the counters of a namespace",
		Long: `List shows every counter of a namespace with its next number, or, of a daily
sequence, the next number of each date that the store holds. -o json prints one
object a line.`,
		Example: `  snowfence counters list
  snowfence counters list -g invoices -o json`,
		Args: exactly(0),
	}, func(ctx context.Context, f form, s store.Store, namespace string, _ []string) error {
		var rows [][]string
		for info, err := range counter.List(ctx, s, namespace) {
			switch {
			case err != nil && info.Name == "":
				return err
			case err != nil:
				p.warn(err.Error())
			case f == jsonForm:
				if err := p.printJSON(counterOf(info)); err != nil {
					return err
				}
			default:
				rows = append(rows, counterRows(info)...)
			}
		}
		if len(rows) == 0 && f != jsonForm {
			p.note("namespace %q has no counters in this store; --namespace names another one", namespace)
		}
		return p.print(table(counterColumns, rows))
	})
}

func (p program) countersShow() *cobra.Command {
	return p.onStore(&cobra.Command{
		Use:     "show NAME",
		Short:   "Show one counter",
		Long:    `Show prints what the store keeps of one counter.`,
		Example: `  snowfence counters show orders`,
		Args:    exactly(1),
	}, func(ctx context.Context, f form, s store.Store, namespace string, args []string) error {
		info, err := counter.Show(ctx, s, namespace, args[0])
		if err != nil {
			return err
		}
		return p.answer(f, counterOf(info), table(counterColumns, counterRows(info)), counterText(info))
	})
}

func counterText(i counter.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "counter   %s, a %s of namespace %s\nnumbers   from %d by %d up to %d\n", i.Name, i.Kind, i.Namespace, i.Start, i.Increment, i.Limit)
	if i.Digits > 0 {
		fmt.Fprintf(&b, "dates     of %s, %d digits\n", i.Zone, i.Digits)
	}
	for _, lane := range i.Lanes {
		fmt.Fprintf(&b, "next      %s\n", strings.TrimSpace(lane.Name+" "+strconv.FormatInt(lane.Next, 10)))
	}
	fmt.Fprintf(&b, "created   %s\nwritten   %s by %s\n", i.Created.UTC().Format(time.RFC3339), i.Written.UTC().Format(time.RFC3339), i.Process)
	return b.String()
}

func (p program) countersSet() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:   "set NAME NEXT",
		Short: "Raise a counter's next number",
		Long: `Set raises a counter: NEXT, or the first number above it of the counter's
increment, is reserved next. It shows the counter before and after, and asks;
--yes answers that. A number below the counter's next is refused: some of those
are in use. One above the limit of the counter's last writer is not: the limit
may be raised at any time.

A daily sequence counts each date of its own, so it needs --date. A date that
the store does not hold is begun at NEXT. The store holds ten: if it is the
eleventh, the earliest goes, and a date before all ten is refused.

It is one swap under the version that was read. If a process wrote meanwhile,
nothing is changed. Processes that have reserved segments still give those.

A lossy store can lose the write in a failover. There set waits until it can't,
15 s by default, and confirms the write. With --no-wait, or if the wait or the
confirmation fails, the exit code is 6: start no process of the counter before
the time that is shown, and set it again then.`,
		Example: `  snowfence counters set orders 500000 --dry-run
  snowfence counters set orders 500000 --yes
  snowfence counters set invoices 700 --date 20261122`,
		Args: exactly(2),
	}
	dry := cmd.Flags().Bool("dry-run", false, "show what would be written, and write nothing")
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	patience := p.patienceFlag(cmd)
	cmd.Flags().Var(textFlag(&date, "DATE"), "date", "count of a daily sequence, such as 20261122")
	return p.onStore(cmd, func(ctx context.Context, f form, s store.Store, namespace string, args []string) error {
		next, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return usage(cmd, fmt.Errorf("NEXT is %q: must be a whole number", args[1]))
		}
		before, err := counter.Show(ctx, s, namespace, args[0])
		if err != nil {
			return err
		}
		after, err := before.Raised(date, next)
		if err != nil {
			return err
		}
		for _, lane := range after.Lanes {
			if lane.Name == date && lane.Next > after.Limit {
				p.note("counter %s: next is %d then, above %d, the limit of its last writer: processes with that limit give no number", args[0], lane.Next, after.Limit)
			}
		}
		plan := table(", "+counterColumns, append(labelled("before", counterRows(before)), labelled("after", counterRows(after))...))
		said := "dry run, nothing was written\n"
		if !*dry {
			if !*yes {
				p.note("%s", strings.TrimSuffix(plan, "\n"))
			}
			if err := p.confirm(cmd, *yes, "set counter "+args[0]); err != nil {
				return err
			}
			by := counter.Operator{Process: daemon.Process(thisBuild().Version, p.clock.Wall()), Clock: p.clock, Patience: *patience}
			after, err = counter.Set(ctx, s, after, by)
			if err == nil || errors.As(err, new(*counter.UncertainError)) {
				p.audit("counters set", "namespace", namespace, "counter", args[0], "next", next, "date", date, "certain", err == nil)
			}
			if err != nil {
				return err
			}
			said = "counter " + args[0] + " is set; processes that run go on with what they have reserved: restart them\n"
		}
		return p.answer(f, counterOf(after), plan, said+plan)
	})
}

func labelled(label string, rows [][]string) [][]string {
	for i := range rows {
		rows[i] = append([]string{label}, rows[i]...)
	}
	return rows
}
