package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/counter"
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

// onStore completes a verb that works on the content of a store, such as the counters of a namespace.
func (p program) onStore(cmd *cobra.Command, run func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error) *cobra.Command {
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
		return unavailable(run(cmd.Context(), &report{program: p, form: *f}, opened, namespace, args))
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
	}, func(ctx context.Context, out *report, s store.Store, namespace string, _ []string) error {
		for info, err := range counter.List(ctx, s, namespace) {
			if err != nil && info.Name == "" {
				return err
			}
			if err != nil {
				p.warn(err.Error())
				continue
			}
			if err := out.object(registers.CounterOf(info)); err != nil {
				return err
			}
			out.rows = append(out.rows, registers.CounterRows(info)...)
		}
		if len(out.rows) == 0 && out.form != jsonForm {
			p.note("namespace %q has no counters in this store; --namespace names another one", namespace)
		}
		return out.end(registers.CounterColumns)
	})
}

func (p program) countersShow() *cobra.Command {
	return p.onStore(&cobra.Command{
		Use:     "show NAME",
		Short:   "Show one counter",
		Long:    `Show prints what the store keeps of one counter.`,
		Example: `  snowfence counters show orders`,
		Args:    exactly(1),
	}, func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error {
		info, err := counter.Show(ctx, s, namespace, args[0])
		if err != nil {
			return err
		}
		return p.answer(out.form, registers.CounterOf(info), registers.CounterText(info))
	})
}

func (p program) countersSet() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:   "set NAME NEXT",
		Short: "Raise a counter's next number",
		Long: `Set raises a counter: NEXT, or the first number above it of the counter's
increment, is reserved next. It shows the counter before and after, and asks. A
number below the counter's next is refused, because such numbers are in use. If
a process wrote meanwhile, nothing is changed. Processes still give the segments
that they have reserved.

A daily sequence counts each date of its own, so it needs --date. A date that
the store does not hold is begun at NEXT. The store holds ten: if it is the
eleventh, the earliest goes, and a date before all ten is refused.

A lossy store can lose the write in a failover. There set waits until it can't,
15 s by default, and confirms the write. With --no-wait, or if that fails, the
exit code is 6: start no process of the counter before the time that is shown,
and set it again then.`,
		Example: `  snowfence counters set orders 500000 --dry-run
  snowfence counters set orders 500000 --yes
  snowfence counters set invoices 700 --date 20261122`,
		Args: exactly(2),
	}
	dry := cmd.Flags().Bool("dry-run", false, "show what would be written, and write nothing")
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	patience := p.patienceFlag(cmd)
	cmd.Flags().Var(textFlag(&date, "DATE"), "date", "count of a daily sequence, such as 20261122")
	return p.onStore(cmd, func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error {
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
		plan := page.Table(", "+registers.CounterColumns, append(registers.CounterRows(before, "before"), registers.CounterRows(after, "after")...))
		said := "dry run, nothing was written\n"
		if !*dry {
			if !*yes {
				p.note("%s", strings.TrimSuffix(plan, "\n"))
			}
			if err := p.confirm(cmd, *yes, "set counter "+args[0]); err != nil {
				return err
			}
			by := counter.Operator{Process: p.process(), Clock: p.clock, Patience: *patience}
			after, err = counter.Set(ctx, s, after, by)
			if err == nil || errors.As(err, new(*counter.UncertainError)) {
				p.audit("counters set", "namespace", namespace, "counter", args[0], "next", next, "date", date, "certain", err == nil)
			}
			if err != nil {
				return err
			}
			said = "counter " + args[0] + " is set; processes that run go on with what they have reserved: restart them\n"
		}
		return p.answer(out.form, registers.CounterOf(after), said+plan)
	})
}
