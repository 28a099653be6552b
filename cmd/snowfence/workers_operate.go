package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// operation is one verb that writes registers.
type operation struct {
	asks     func(w roster.Worker) bool // whether this change needs a yes
	question func(n int) string         // asked before n changes that need one; nil or "": that they stop holders
	write    func(ctx context.Context, d *roster.Desk, w roster.Worker) (roster.Worker, error)
	patience *roster.Patience                 // nil if the store may lose the write
	outcome  func(after roster.Worker) string // what is so of the worker id, now or already
}

// operate completes a verb that reads registers, asks if a holder is stopped, and writes.
func (p program) operate(cmd *cobra.Command, o operation) *cobra.Command {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be written, and write nothing")
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	cmd.Args = exactly(1)
	return p.onRoster(cmd, func(cmd *cobra.Command, f form, r *roster.Roster, args []string) error {
		ctx := cmd.Context()
		before, err := readWorkers(cmd, r, args[0])
		if err != nil {
			return err
		}
		// An impossible change is refused before the question.
		after := make([]roster.Worker, len(before))
		var asked []roster.Worker
		err = r.Dry().Operate(ctx, roster.Patience{}, func(d *roster.Desk) error {
			for i, w := range before {
				if after[i], err = o.write(ctx, d, w); err != nil {
					return err
				}
				if !registers.Unchanged(w, after[i]) && o.asks(w) {
					asked = append(asked, w)
				}
			}
			return nil
		})
		if err != nil {
			return unavailable(err)
		}
		var words, cost string
		if o.question != nil && len(asked) > 0 {
			words = o.question(len(asked))
		}
		if words != "" {
			cost = "; it asks first: " + words
		} else if cost, err = registers.CostOf(ctx, r, cmd.Name(), asked); err != nil {
			return unavailable(err)
		} else {
			words = question(cmd.Name(), before, asked) + cost
		}
		if !*dry {
			if err := p.confirm(cmd, *yes || len(asked) == 0, words); err != nil {
				return err
			}
			if err := p.carryOut(ctx, r, cmd.Name(), o, before, after); err != nil {
				return unavailable(err)
			}
			cost = ""
		}
		return p.printChanges(f, r, cmd.Name(), o, *dry, cost, before, after)
	})
}

// carryOut writes, and puts each worker id as it is then into after.
func (p program) carryOut(ctx context.Context, r *roster.Roster, verb string, o operation, before, after []roster.Worker) error {
	var patience roster.Patience
	if o.patience != nil {
		patience = *o.patience
	}
	return r.Operate(ctx, patience, func(d *roster.Desk) (err error) {
		done := 0
		defer func() { p.auditChanges(r, verb, before[:done], after[:done]) }()
		for i, w := range before {
			if after[i], err = o.write(ctx, d, w); err != nil {
				if i > 0 {
					err = fmt.Errorf("worker %d: %w; those before it are done", w.Number, err)
				}
				return err
			}
			done++
		}
		return nil
	})
}

// auditChanges writes what was changed to the log.
func (p program) auditChanges(r *roster.Roster, verb string, before, after []roster.Worker) {
	for _, s := range registers.Stretches(before, after) {
		if !registers.Unchanged(s.Before, s.After) {
			p.audit("workers "+verb, "namespace", r.Name(), "worker", s.Workers, "before", s.Words(s.Before), "after", s.Words(s.After))
		}
	}
}

// printChanges prints what was written, or would be.
func (p program) printChanges(f form, r *roster.Roster, verb string, o operation, dry bool, cost string, before, after []roster.Worker) error {
	var said strings.Builder
	for _, s := range registers.Stretches(before, after) {
		if dry {
			said.WriteString("dry run, nothing was written; without --dry-run: ")
		}
		fmt.Fprintf(&said, "worker %s %s", s.Workers, o.outcome(s.After))
		if registers.Unchanged(s.Before, s.After) {
			said.WriteString(" already")
		}
		fmt.Fprintf(&said, "\n  before: %s\n  after:  %s\n", s.Words(s.Before), s.Words(s.After))
	}
	if cost != "" {
		said.WriteString(strings.TrimPrefix(cost, "; ") + "\n")
	}
	return p.answer(f, registers.ChangesOf(r, verb, dry, before, after), said.String())
}

// question is what is asked before holders are stopped.
func question(verb string, before, stopped []roster.Worker) string {
	if len(before) == 1 && len(stopped) == 1 {
		return fmt.Sprintf("%s worker %d, %s", verb, before[0].Number, before[0])
	}
	return fmt.Sprintf("%s %s, of which %d are held", verb, text.Count(int64(len(before)), "worker id"), len(stopped))
}

// confirm asks whether to go on, unless --yes says so. Without a terminal to ask
// on, a missing --yes is a mistake in the command line.
func (p program) confirm(cmd *cobra.Command, yes bool, question string) error {
	if yes {
		return nil
	}
	if !p.asks {
		return usage(cmd, fmt.Errorf("%s: there is no terminal to ask on: add --yes, or --dry-run to look only", question))
	}
	if _, err := fmt.Fprintf(p.stderr, "snowfence: %s? [y/N] ", page.Visible(question, "")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil && answer == "" {
		return errNotConfirmed
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}

// errNotConfirmed says that somebody was asked and did not agree.
var errNotConfirmed = errors.New("not confirmed: nothing was written")

func (p program) workersRelease() *cobra.Command {
	return p.operate(&cobra.Command{
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
	}, operation{
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
	return p.operate(cmd, operation{
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
		patience: p.patienceFlag(cmd),
		outcome: func(after roster.Worker) string {
			if after.Register.Quarantined {
				return "is quarantined"
			}
			return "is not quarantined"
		},
	})
}
