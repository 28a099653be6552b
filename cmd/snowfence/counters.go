package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/counter"
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
  snowfence counters set orders 500000 --yes`,
	}, p.countersList(), p.countersShow(), p.countersSet())
}

func (p program) countersList() *cobra.Command {
	return p.onStore(&cobra.Command{
		Use:   "list",
		Short: "List the counters of a namespace",
		Long: `List shows every counter of a namespace with its next number, or, of a daily
sequence, the next number of each date that the store holds.`,
		Example: `  snowfence counters list
  snowfence counters list -g invoices -o json`,
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
		Long:    `Show prints the store's entry of one counter.`,
		Example: `  snowfence counters show orders`,
		Args:    exactly(1),
	}, func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error {
		info, err := counterNamed(ctx, s, namespace, args[0])
		if err != nil {
			return err
		}
		return out.whole(registers.CounterOf(info))
	})
}

// counterNamed returns a counter.
func counterNamed(ctx context.Context, s store.Store, namespace, name string) (counter.Info, error) {
	info, err := counter.Show(ctx, s, namespace, name)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("namespace %q has no counter %s; -g or --namespace names another one (%w)", namespace, name, store.ErrNotFound)
	}
	return info, err
}

func (p program) countersSet() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:   "set NAME NEXT",
		Short: "Raise a counter's next number",
		Long: `Set raises a counter: NEXT, or the first number above it of the counter's
increment, is reserved next. Without --yes it shows the counter before and
after. Processes still give the numbers that they have reserved. On a lossy
store exit code 6 means: set it again after the time that is shown.`,
		Example: `  snowfence counters set orders 500000
  snowfence counters set invoices 700 --date 20261122 --yes`,
		Args: exactly(2),
	}
	w := p.writingFlags(cmd)
	cmd.Flags().Var(textFlag(&date, "DATE"), "date", "count of a daily sequence, such as 20261122")
	return p.onStore(cmd, func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error {
		next, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return usage(cmd, fmt.Errorf("NEXT is %q: must be a whole number", args[1]))
		}
		before, err := counterNamed(ctx, s, namespace, args[0])
		if err != nil {
			return err
		}
		after, err := before.Raised(date, next)
		if err != nil {
			return err
		}
		for _, lane := range after.Lanes {
			if lane.Name == date && lane.Next > after.Limit {
				p.note("counter %s: next is %d then, above %d, the limit of its last writer: processes with that limit give no number",
					args[0], lane.Next, after.Limit)
			}
		}
		rows := append(registers.CounterRows(before, "before"), registers.CounterRows(after, "after")...)
		plan := page.Table(", "+registers.CounterColumns, rows)
		said := "with --yes:\n"
		if w.yes {
			by := counter.Operator{Process: p.process(), Clock: p.clock, Patience: w.patience}
			after, err = counter.Set(ctx, s, after, by)
			if err == nil || errors.As(err, new(*counter.UncertainError)) {
				p.audit("counters set", "namespace", namespace, "counter", args[0], "next", next, "date", date, "certain", err == nil)
			}
			if err != nil {
				return err
			}
			said = "counter " + args[0] + " is set; processes that run go on with their reserved numbers: restart them\n"
		}
		if !w.yes {
			p.note(unwritten)
		}
		return out.answer(registers.CounterOf(after), said+plan)
	})
}
