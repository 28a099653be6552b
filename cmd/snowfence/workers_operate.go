package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// operation is one verb that writes registers.
type operation struct {
	asks     func(w roster.Worker) bool // whether this change needs a yes
	question func(n int) string         // asked before n changes that need one; nil or "": that they stop holders
	write    func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error)
	outcome  func(after roster.Worker) string // what is so of the worker id, now or already
}

// change is what an operation does to worker ids.
type change struct {
	operation
	verb          string
	roster        *roster.Roster
	before, after []roster.Worker
}

// operate completes a verb that reads registers, asks if a holder is stopped, and writes.
func (p program) operate(cmd *cobra.Command, w *writing, o operation) *cobra.Command {
	cmd.Args = exactly(1)
	return p.onRoster(cmd, func(out *report, r *roster.Roster, args []string) error {
		ctx := cmd.Context()
		before, err := readWorkers(cmd, r, args[0])
		if err != nil {
			return err
		}
		c := change{operation: o, verb: cmd.Name(), roster: r, before: before, after: make([]roster.Worker, len(before))}
		// An impossible change is refused before the question.
		if _, err := c.carryOut(ctx, r.Dry(), roster.Patience{}); err != nil {
			return unavailable(err)
		}
		question, cost, err := c.ask(ctx)
		if err != nil {
			return unavailable(err)
		}
		if !w.dry {
			if err := p.confirm(cmd, w.yes || question == "", question); err != nil {
				return err
			}
			done, err := c.carryOut(ctx, r, w.patience)
			for _, s := range registers.Stretches(before[:done], c.after[:done]) {
				if !registers.Unchanged(s.Before, s.After) {
					p.audit("workers "+c.verb, "namespace", r.Name(), "worker", s.Workers, "before", s.Words(s.Before), "after", s.Words(s.After))
				}
			}
			if err != nil && 0 < done && done < len(before) {
				err = fmt.Errorf("worker %d: %w; those before it are done", before[done].Number, err)
			}
			if err != nil {
				return unavailable(err)
			}
			cost = ""
		}
		return out.answer(registers.ChangesOf(r, c.verb, w.dry, before, c.after), c.text(w.dry, cost))
	})
}

// ask returns the question before the changes, empty if none needs a yes, and their cost.
func (c *change) ask(ctx context.Context) (question, cost string, err error) {
	var asked []roster.Worker
	for i, w := range c.before {
		if !registers.Unchanged(w, c.after[i]) && c.asks(w) {
			asked = append(asked, w)
		}
	}
	if len(asked) == 0 {
		return "", "", nil
	}
	if c.question != nil {
		if question = c.question(len(asked)); question != "" {
			return question, "it asks first: " + question, nil
		}
	}
	question = fmt.Sprintf("%s %s, of which %d are held", c.verb, text.Count(int64(len(c.before)), "worker id"), len(asked))
	if len(c.before) == 1 {
		question = fmt.Sprintf("%s worker %d, %s", c.verb, c.before[0].Number, c.before[0])
	}
	cost, err = registers.CostOf(ctx, c.roster, c.verb, asked)
	return question + "; " + cost, cost, err
}

// carryOut writes, puts each worker id as it is then into after, and returns how many were done.
func (c *change) carryOut(ctx context.Context, r *roster.Roster, patience roster.Patience) (done int, err error) {
	err = r.Operate(ctx, patience, func(d *roster.Desk) (err error) {
		for ; done < len(c.before); done++ {
			if c.after[done], err = c.write(ctx, d, c.before[done]); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// text says what was written, or would be.
func (c *change) text(dry bool, cost string) string {
	var said strings.Builder
	for _, s := range registers.Stretches(c.before, c.after) {
		if dry {
			said.WriteString("dry run, nothing was written; without --dry-run: ")
		}
		fmt.Fprintf(&said, "worker %s %s", s.Workers, c.outcome(s.After))
		if registers.Unchanged(s.Before, s.After) {
			said.WriteString(" already")
		}
		fmt.Fprintf(&said, "\n  before: %s\n  after:  %s\n", s.Words(s.Before), s.Words(s.After))
	}
	if cost != "" {
		said.WriteString(cost + "\n")
	}
	return said.String()
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
	return p.operate(cmd, p.writingFlags(cmd, false), operation{
		asks: func(roster.Worker) bool { return true },
		write: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Release(ctx, w)
		},
		outcome: func(roster.Worker) string { return "has no holder any more" },
	})
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
	return p.operate(cmd, p.writingFlags(cmd, true), operation{
		asks: func(w roster.Worker) bool {
			if *lift {
				return w.Register.Until == 0
			}
			return w.State == roster.Held
		},
		question: func(n int) string {
			if !*lift {
				return ""
			}
			return fmt.Sprintf("clear the mark of %s without a floor (if another system made ids there, ids can repeat: 'workers import' sets a floor)", text.Count(int64(n), "worker id"))
		},
		write: func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error) {
			return d.Quarantine(ctx, w, !*lift)
		},
		outcome: func(after roster.Worker) string {
			if after.Register.Quarantined {
				return "is quarantined"
			}
			return "is not quarantined"
		},
	})
}
