package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon/builtin"
)

func (p program) series() *cobra.Command {
	return group(&cobra.Command{
		Use:   "series",
		Short: "Reserve, confirm, void or audit numbers without holes",
		Long: `A series gives documents numbers without holes. A number is reserved, and then
confirmed when its document exists, or voided with a reason. One that is neither
is offered again after its timeout. See docs/counters.md.`,
		Example: `  snowfence series reserve invoices --tenant acme
  snowfence series confirm invoices 1 4XEVWXBZ3VGQK5WVPQ6YSOLHXI --tenant acme`,
	}, p.seriesReserve(), p.seriesConfirm(), p.seriesVoid(), p.seriesAudit())
}

// seriesRun is one run of a verb on a tenant's series.
type seriesRun struct {
	*report
	*builtin.Series
	tenant string
	head   page.Object // how JSON begins
}

// object prints a number, its id and its state for programs, with some more fields.
func (r *seriesRun) object(number int64, state string, more ...any) error {
	fields := page.Object{"number", strconv.FormatInt(number, 10), "id", r.Text(number), "state", state}
	return r.report.object(slices.Concat(r.head, fields, more))
}

// onSeries completes a verb that works on a tenant's series. Its first argument is the generator.
func (p program) onSeries(cmd *cobra.Command, run func(ctx context.Context, r *seriesRun, args []string) error) *cobra.Command {
	r := &seriesRun{report: p.report(cmd)}
	cmd.Flags().Var(textFlag(&r.tenant, "TENANT"), "tenant", "tenant whose series is meant")
	s := settingFlags(cmd, "store", "data")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.generator = args[0]
		c, name, g, err := s.loadGenerator(p)
		if err == nil && g.Kind != builtin.KindSeries {
			err = usage(cmd, fmt.Errorf("generator %s is of kind %s: must be of kind %s", name, g.Kind, builtin.KindSeries))
		}
		if err != nil {
			return err
		}
		if r.Series, err = p.builtin(c).OpenSeries(cmd.Context(), name); err != nil {
			return unavailable(err)
		}
		defer p.closing("close database: ", func() error { return r.Close(context.WithoutCancel(cmd.Context())) })
		r.head = page.Object{"type", "number", "series", name, "tenant?", r.tenant}
		return unavailable(run(cmd.Context(), r, args[1:]))
	}
	return cmd
}

func (p program) seriesReserve() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reserve GENERATOR",
		Short: "Reserve the next number",
		Long: `Reserve takes the least number that is offered, or else the next one, and prints
it with the token that ends the reservation. It makes the tables that are
missing.`,
		Example: `  snowfence series reserve invoices
  snowfence series reserve invoices --tenant acme --timeout 30s -o json`,
		Args: exactly(1),
	}
	cmd.Flags().Var(durationFlag(&timeout, ""), "timeout", "how long the reservation lasts (default: as the generator is configured)")
	return p.onSeries(cmd, func(ctx context.Context, r *seriesRun, _ []string) error {
		if err := p.needsOutput("number and token"); err != nil {
			return err
		}
		if err := r.Create(ctx); err != nil {
			return err
		}
		n, err := r.Reserve(ctx, r.tenant, timeout)
		if err != nil {
			return err
		}
		until := n.Until.Format(time.RFC3339)
		r.Line("id      %s\nnumber  %d\ntoken   %s\nuntil   %s", n.Text, n.Number, n.Token, until)
		return cmp.Or(r.object(n.Number, "reserved", "token", n.Token, "until", until), r.end(""))
	})
}

func (p program) seriesConfirm() *cobra.Command {
	return p.endsNumber(&cobra.Command{
		Use:     "confirm GENERATOR NUMBER TOKEN",
		Short:   "Confirm a number: its document exists",
		Long:    `Confirm ends a reservation. The number never changes after that.`,
		Example: `  snowfence series confirm invoices 1 4XEVWXBZ3VGQK5WVPQ6YSOLHXI --tenant acme`,
	}, "confirmed", new(string), func(ctx context.Context, r *seriesRun, n int64, token string) error {
		return r.Confirm(ctx, r.tenant, n, token)
	})
}

func (p program) seriesVoid() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "void GENERATOR NUMBER TOKEN",
		Short: "Void a number: its document will never exist",
		Long: `Void ends a reservation without a document. The number never changes after that,
and the audit shows the reason.`,
		Example: `  snowfence series void invoices 2 4XEVWXBZ3VGQK5WVPQ6YSOLHXI --reason spoilt`,
	}
	cmd.Flags().Var(textFlag(&reason, "TEXT"), "reason", "why the number is not used; must be given")
	return p.endsNumber(cmd, "void", &reason, func(ctx context.Context, r *seriesRun, n int64, token string) error {
		return r.Void(ctx, r.tenant, n, token, reason)
	})
}

// endsNumber completes a verb that ends a reservation, and prints the number's new state.
func (p program) endsNumber(
	cmd *cobra.Command, state string, reason *string, end func(ctx context.Context, r *seriesRun, n int64, token string) error,
) *cobra.Command {
	cmd.Args = exactly(3)
	return p.onSeries(cmd, func(ctx context.Context, r *seriesRun, args []string) error {
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || n < 0 {
			return usage(cmd, fmt.Errorf("NUMBER is %q: must be a whole number, 0 or more, without the prefix", args[0]))
		}
		if err := end(ctx, r, n, args[1]); err != nil {
			return err
		}
		r.Line("%s is %s", r.Text(n), state)
		return cmp.Or(r.object(n, state, "reason?", *reason), r.end(""))
	})
}

func (p program) seriesAudit() *cobra.Command {
	return p.onSeries(&cobra.Command{
		Use:   "audit GENERATOR",
		Short: "List every number and its state",
		Long: `Audit lists each number that was ever reserved: reserved, offered again after
its timeout, confirmed, void with its reason, or missing, if its row was deleted
by hand. -o json prints one object a line.`,
		Example: `  snowfence series audit invoices --tenant acme`,
		Args:    exactly(1),
	}, func(ctx context.Context, r *seriesRun, _ []string) error {
		for e, err := range r.Audit(ctx, r.tenant) {
			if err != nil {
				return err
			}
			changed := ""
			if !e.Changed.IsZero() {
				changed = e.Changed.Format(time.RFC3339)
			}
			if err := r.object(e.Number, e.State, "reason?", e.Reason, "changed?", changed); err != nil {
				return err
			}
			r.row(r.Text(e.Number), strconv.FormatInt(e.Number, 10), e.State, changed, e.Reason)
		}
		return r.end("id,>number,state,changed,reason")
	})
}
