package main

import (
	"context"
	"fmt"
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
		Long: `A series gives documents numbers without holes, such as the law wants them for
invoices. Its generator is one of the kind series in the configuration. A number
is reserved, and then confirmed when its document exists, or voided with a
reason. One that is neither is offered again after its timeout.

There is one writer of a series at a time: these verbs wait for each other.`,
		Example: `  snowfence series reserve invoices --tenant acme
  snowfence series confirm invoices 1 4XEVWXBZ3VGQK5WVPQ6YSOLHXI --tenant acme
  snowfence series audit invoices --tenant acme`,
	}, p.seriesReserve(), p.seriesConfirm(), p.seriesVoid(), p.seriesAudit())
}

// number is a number of a series, as one tenant has it.
type number struct {
	series, tenant, number, id, state, token, until, reason, changed string
}

// document is the number in JSON.
func (n number) document() page.Object {
	return page.Object{
		"type", "number", "series", n.series, "tenant?", n.tenant, "number", n.number, "id", n.id, "state", n.state,
		"token?", n.token, "until?", n.until, "reason?", n.reason, "changed?", n.changed,
	}
}

// onSeries completes a verb that works on a tenant's series. Its first argument is the generator.
func (p program) onSeries(
	cmd *cobra.Command, run func(ctx context.Context, out *report, s *builtin.Series, d number, args []string) error,
) *cobra.Command {
	f, tenant := outputFlag(cmd), ""
	cmd.Flags().Var(textFlag(&tenant, "TENANT"), "tenant", "tenant whose series is meant")
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
		of, err := p.builtin(c).OpenSeries(cmd.Context(), name)
		if err != nil {
			return unavailable(err)
		}
		defer p.closing("close database: ", func() error { return of.Close(context.WithoutCancel(cmd.Context())) })
		return unavailable(run(cmd.Context(), &report{program: p, form: *f}, of, number{series: name, tenant: tenant}, args[1:]))
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
	return p.onSeries(cmd, func(ctx context.Context, out *report, s *builtin.Series, d number, _ []string) error {
		if err := p.needsOutput("number and token"); err != nil {
			return err
		}
		if err := s.Create(ctx); err != nil {
			return err
		}
		r, err := s.Reserve(ctx, d.tenant, timeout)
		if err != nil {
			return err
		}
		d.number, d.id, d.state = strconv.FormatInt(r.Number, 10), r.Text, "reserved"
		d.token, d.until = r.Token, r.Until.Format(time.RFC3339)
		out.Line("id      %s\nnumber  %s\ntoken   %s\nuntil   %s", d.id, d.number, d.token, d.until)
		return out.answer(d.document(), "")
	})
}

func (p program) seriesConfirm() *cobra.Command {
	return p.endsNumber(&cobra.Command{
		Use:     "confirm GENERATOR NUMBER TOKEN",
		Short:   "Confirm a number: its document exists",
		Long:    `Confirm ends a reservation. The number never changes after that.`,
		Example: `  snowfence series confirm invoices 1 4XEVWXBZ3VGQK5WVPQ6YSOLHXI --tenant acme`,
	}, "confirmed", new(string), func(ctx context.Context, s *builtin.Series, tenant string, n int64, token string) error {
		return s.Confirm(ctx, tenant, n, token)
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
	return p.endsNumber(cmd, "void", &reason, func(ctx context.Context, s *builtin.Series, tenant string, n int64, token string) error {
		return s.Void(ctx, tenant, n, token, reason)
	})
}

// endsNumber completes a verb that ends a reservation, and prints the number's new state.
func (p program) endsNumber(
	cmd *cobra.Command, state string, reason *string,
	end func(ctx context.Context, s *builtin.Series, tenant string, n int64, token string) error,
) *cobra.Command {
	cmd.Args = exactly(3)
	return p.onSeries(cmd, func(ctx context.Context, out *report, s *builtin.Series, d number, args []string) error {
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || n < 0 {
			return usage(cmd, fmt.Errorf("NUMBER is %q: must be a whole number, 0 or more, without the prefix", args[0]))
		}
		if err := end(ctx, s, d.tenant, n, args[1]); err != nil {
			return err
		}
		d.number, d.id, d.state, d.reason = args[0], s.Text(n), state, *reason
		return out.answer(d.document(), d.id+" is "+d.state+"\n")
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
	}, func(ctx context.Context, out *report, s *builtin.Series, d number, _ []string) error {
		for e, err := range s.Audit(ctx, d.tenant) {
			if err != nil {
				return err
			}
			d.number, d.id, d.state, d.reason, d.changed = strconv.FormatInt(e.Number, 10), s.Text(e.Number), e.State, e.Reason, ""
			if !e.Changed.IsZero() {
				d.changed = e.Changed.Format(time.RFC3339)
			}
			if err := out.object(d.document()); err != nil {
				return err
			}
			out.row(d.id, d.number, d.state, d.changed, d.reason)
		}
		return out.end("id,>number,state,changed,reason")
	})
}
