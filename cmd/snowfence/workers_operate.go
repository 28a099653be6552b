package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// operate completes a verb that reads registers, asks if a holder is stopped, and writes. Question returns the question
// before n changes that need a yes; an empty one, or a nil function, asks whether holders are stopped.
func (p program) operate(cmd *cobra.Command, w *writing, o registers.Operation, question func(n int) string) *cobra.Command {
	cmd.Args, o.Verb = exactly(1), cmd.Name()
	return p.onRoster(cmd, func(out *report, r *roster.Roster, args []string) error {
		ctx := cmd.Context()
		before, err := readWorkers(cmd, r, args[0])
		if err != nil {
			return err
		}
		c := registers.Change{Operation: o, Roster: r, Before: before}
		// An impossible change is refused before the question.
		if _, err := c.CarryOut(ctx, r.Dry(), roster.Patience{}); err != nil {
			return unavailable(err)
		}
		asked, ask, cost := c.Asked(), "", ""
		if len(asked) > 0 && question != nil {
			ask = question(len(asked))
			cost = "it asks first: " + ask
		}
		if len(asked) > 0 && ask == "" {
			if cost, err = c.Cost(ctx, asked); err != nil {
				return unavailable(err)
			}
			ask = fmt.Sprintf("%s %s, and %d of them are held; %s", o.Verb, text.Count(len(before), "worker id"), len(asked), cost)
			if len(before) == 1 {
				ask = fmt.Sprintf("%s worker %d, %s; %s", o.Verb, before[0].Number, before[0], cost)
			}
		}
		if w.dry {
			if cost != "" {
				cost += "\n"
			}
			return out.answer(c.Document(true), c.Text(true)+cost)
		}
		if err := p.confirm(cmd, w.yes || ask == "", ask); err != nil {
			return err
		}
		done, err := c.CarryOut(ctx, r, w.patience)
		for _, s := range c.Stretches(done) {
			if !s.Unchanged {
				p.audit("workers "+o.Verb, "namespace", r.Name(), "worker", s.Workers, "before", s.Before, "after", s.After)
			}
		}
		if err != nil && 0 < done && done < len(before) {
			err = fmt.Errorf("worker %d: %w; the earlier ones are done", before[done].Number, err)
		}
		if err != nil {
			return unavailable(err)
		}
		return out.answer(c.Document(false), c.Text(false))
	})
}

func (p program) workersRelease() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release N[-M][,N...]",
		Short: "Take a worker id away from its holder",
		Long: `Release takes a worker id away from its holder. The until stays as it is, so no
tick is given away twice: release is always safe, whether the holder lives or
not. A holder that lives notices within a third of its window. It ends its term,
and claims another worker id if it is not pinned. On a store that can lose
writes it gives no ids until that claim can't be lost: --dry-run says how long.
After a crash release frees the worker id only max-rollback (5 s) earlier.

Release writes only if the register is still as it was read. If it changed,
nothing is written and the exit code is 3. A worker id without a holder is
refused with exit code 1.`,
		Example: `  snowfence workers release 7
  snowfence workers release 7 --dry-run
  snowfence workers release 7 --yes -o json`,
	}
	return p.operate(cmd, p.writingFlags(cmd, false), registers.Operation{
		Asks: func(roster.Worker) bool { return true },
		Write: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Release(ctx, w)
		},
		Outcome: func(roster.Worker) string { return "has no holder any more" },
	}, nil)
}

func (p program) workersQuarantine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine N[-M][,N...]",
		Short: "Keep a worker id from being claimed, or let it be again",
		Long: `Quarantine marks a worker id: no process can claim it until --clear takes the
mark away. A running holder notices within a third of its window, and ends its
term. So for a held worker id quarantine asks first, or needs --yes. A worker id
that was never claimed can be quarantined too, and --clear then asks: if it is
another system's, 'workers import' comes first. It writes only if the register
is still as it was read, as release does.

A lossy store can lose a mark in a failover. There quarantine waits until it
can't, 15 s by default, and confirms the mark. With --no-wait, or if that fails,
the exit code is 6: repeat it after the time that is shown.`,
		Example: `  snowfence workers quarantine 7
  snowfence workers quarantine 0-31,40
  snowfence workers quarantine 7 --clear
  snowfence workers quarantine 7 --yes -o json`,
	}
	lift := cmd.Flags().Bool("clear", false, "clear the mark")
	return p.operate(cmd, p.writingFlags(cmd, true), registers.Operation{
		Asks: func(w roster.Worker) bool {
			if *lift {
				return w.Register.Until == 0
			}
			return w.State == roster.Held
		},
		Write: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Quarantine(ctx, w, !*lift)
		},
		Outcome: func(after roster.Worker) string {
			if after.Register.Quarantined {
				return "is quarantined"
			}
			return "is not quarantined"
		},
	}, func(n int) string {
		if !*lift {
			return ""
		}
		return fmt.Sprintf("clear the mark of %s without a floor (if another system made ids there, ids can repeat: "+
			"'workers import' sets a floor)", text.Count(n, "worker id"))
	})
}
