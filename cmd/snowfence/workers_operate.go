package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/internal/roster"
)

// change is what an operator's verb did to a worker id, in JSON.
type change struct {
	Type    string         `json:"type"` // "change"
	Verb    string         `json:"verb"`
	Worker  int64          `json:"worker"`
	DryRun  bool           `json:"dry_run"`
	Written bool           `json:"written"`
	Before  workerDocument `json:"before"`
	After   workerDocument `json:"after"`
}

// operation is one verb that writes a register.
type operation struct {
	asks    func(w roster.Worker) bool // whether it stops somebody
	write   func(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error)
	outcome func(after roster.Worker) string // what is so of the worker id, now or already
}

// operate completes a verb that reads a register, asks if a holder is stopped, and writes.
func (p program) operate(cmd *cobra.Command, o operation) *cobra.Command {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be written, and write nothing")
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	cmd.Args = workerArgument
	return p.onRoster(cmd, func(cmd *cobra.Command, f form, r *roster.Roster, args []string) error {
		ctx := cmd.Context()
		before, err := readWorker(cmd, r, args[0])
		if err != nil {
			return err
		}
		// An impossible change is refused before the question.
		after, err := o.write(ctx, r.Dry(), before)
		if err == nil && !*dry && !unchanged(before, after) {
			if o.asks(before) {
				if err := p.confirm(cmd, *yes, fmt.Sprintf("%s worker %d, %s", cmd.Name(), before.Number, before)); err != nil {
					return err
				}
			}
			if after, err = o.write(ctx, r, before); err == nil {
				p.audit("workers "+cmd.Name(), "namespace", r.Name(), "worker", before.Number, "before", worded(before), "after", worded(after))
			}
		}
		if err != nil {
			return unavailable(err)
		}
		said := fmt.Sprintf("worker %d %s", before.Number, o.outcome(after))
		if unchanged(before, after) {
			said += " already"
		}
		if *dry {
			said = "dry run, nothing was written: " + said
		}
		rows := workerRows([]roster.Worker{before, after}, false)
		rows[0], rows[1] = append([]string{"before"}, rows[0]...), append([]string{"after"}, rows[1]...)
		return p.answer(f, change{
			Type: "change", Verb: cmd.Name(), Worker: before.Number, DryRun: *dry, Written: !*dry && !unchanged(before, after),
			Before: documentOf(r, before), After: documentOf(r, after),
		}, table(", "+workerColumns, rows), fmt.Sprintf("%s\n  before: %s\n  after:  %s\n", said, worded(before), worded(after)))
	})
}

// confirm asks whether to go on, unless --yes says so. Without a terminal to ask
// on, a missing --yes is a mistake in the command line.
func (p program) confirm(cmd *cobra.Command, yes bool, question string) error {
	if yes {
		return nil
	}
	if !p.asks {
		return usage(cmd, fmt.Errorf("%s: nobody can be asked here: confirm by --yes, or look by --dry-run", question))
	}
	if _, err := fmt.Fprintf(p.stderr, "snowfence: %s? [y/N] ", question); err != nil {
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

// unchanged reports whether nothing was written: each write has a mark.
func unchanged(before, after roster.Worker) bool {
	return before.Exists == after.Exists && before.Register.Write == after.Register.Write
}

// worded is a worker id in one line.
func worded(w roster.Worker) string {
	if w.Register.Term == 0 {
		return w.String()
	}
	return fmt.Sprintf("%s; term %d, until tick %d", w, w.Register.Term, w.Register.Until)
}

func (p program) workersRelease() *cobra.Command {
	return p.operate(&cobra.Command{
		Use:   "release N",
		Short: "Take a worker id away from its holder",
		Long: `Release clears the holder of a worker id. Its until stays, so no tick that was
given away is given away again: it is always safe, whether the holder lives or
not. A holder that lives finds out within a third of its window, ends its term,
and claims another worker id if it is not pinned.

The worker id can be claimed once until is no further ahead than max-rollback.
So after a crash it saves the last seconds only; see the time in the before
line.

It is one swap under the version that was read. If the register changed since,
as it does when its holder extends, nothing is written and the exit code is 3. A
worker id without a holder is refused with exit code 1.`,
		Example: `  snowfence workers release 7
  snowfence workers release 7 --dry-run
  snowfence workers release 7 --yes -o json`,
	}, operation{
		asks: func(roster.Worker) bool { return true },
		write: func(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error) {
			return r.Release(ctx, w)
		},
		outcome: func(roster.Worker) string { return "has no holder any more" },
	})
}

func (p program) workersQuarantine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine N",
		Short: "Keep a worker id from being claimed, or let it be again",
		Long: `Quarantine sets a mark on a worker id that keeps it from being claimed until it
is cleared with --clear; everything else stays. A running holder finds out
within a third of its window and ends its term, so for it you are asked, or say
--yes. A worker id that was never claimed can be quarantined too.

It is one swap under the version that was read, as with release.`,
		Example: `  snowfence workers quarantine 7
  snowfence workers quarantine 7 --clear
  snowfence workers quarantine 7 --yes -o json`,
	}
	lift := cmd.Flags().Bool("clear", false, "clear the mark")
	return p.operate(cmd, operation{
		asks: func(w roster.Worker) bool { return !*lift && w.State == roster.Held },
		write: func(ctx context.Context, r *roster.Roster, w roster.Worker) (roster.Worker, error) {
			return r.Quarantine(ctx, w, !*lift)
		},
		outcome: func(after roster.Worker) string {
			if after.Register.Quarantined {
				return "is quarantined"
			}
			return "is not quarantined"
		},
	})
}
