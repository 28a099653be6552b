package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
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

// changes are those of several worker ids, in JSON.
type changes struct {
	Type    string   `json:"type"` // "changes"
	Verb    string   `json:"verb"`
	DryRun  bool     `json:"dry_run"`
	Changes []change `json:"changes"`
}

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
				if !unchanged(w, after[i]) && o.asks(w) {
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
		} else if cost, err = costOf(ctx, r, cmd.Name(), asked); err != nil {
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

// stretch is a run of worker ids that an operation changed alike, with the first one before and after.
type stretch struct {
	workers       text.Range
	before, after roster.Worker
}

// stretches puts neighbours together.
func stretches(before, after []roster.Worker) []stretch {
	var all []stretch
	for i, w := range before {
		if n := len(all); n > 0 {
			last := &all[n-1]
			if w.Number == last.workers.Last+1 && stateText(w) == stateText(last.before) &&
				stateText(after[i]) == stateText(last.after) && unchanged(w, after[i]) == unchanged(last.before, last.after) {
				last.workers.Last++
				continue
			}
		}
		all = append(all, stretch{text.Range{First: w.Number, Last: w.Number}, w, after[i]})
	}
	return all
}

// words are a worker id in full, or what all of a stretch have in common.
func (s stretch) words(w roster.Worker) string {
	if s.workers.First == s.workers.Last {
		return worded(w)
	}
	return stateText(w)
}

// auditChanges writes what was changed to the log.
func (p program) auditChanges(r *roster.Roster, verb string, before, after []roster.Worker) {
	for _, s := range stretches(before, after) {
		if !unchanged(s.before, s.after) {
			p.audit("workers "+verb, "namespace", r.Name(), "worker", s.workers, "before", s.words(s.before), "after", s.words(s.after))
		}
	}
}

// printChanges prints what was written, or would be.
func (p program) printChanges(f form, r *roster.Roster, verb string, o operation, dry bool, cost string, before, after []roster.Worker) error {
	all := changes{Type: "changes", Verb: verb, DryRun: dry}
	var rows [][]string
	var said strings.Builder
	for i := range before {
		same := unchanged(before[i], after[i])
		all.Changes = append(all.Changes, change{
			Type: "change", Verb: verb, Worker: before[i].Number, DryRun: dry, Written: !dry && !same,
			Before: documentOf(r, before[i]), After: documentOf(r, after[i]),
		})
		for j, row := range workerRows([]roster.Worker{before[i], after[i]}, false) {
			rows = append(rows, append([]string{[]string{"before", "after"}[j]}, row...))
		}
	}
	for _, s := range stretches(before, after) {
		if dry {
			said.WriteString("dry run, nothing was written; without --dry-run: ")
		}
		fmt.Fprintf(&said, "worker %s %s", s.workers, o.outcome(s.after))
		if unchanged(s.before, s.after) {
			said.WriteString(" already")
		}
		fmt.Fprintf(&said, "\n  before: %s\n  after:  %s\n", s.words(s.before), s.words(s.after))
	}
	if cost != "" {
		said.WriteString(strings.TrimPrefix(cost, "; ") + "\n")
	}
	var document any = all
	if len(all.Changes) == 1 {
		document = all.Changes[0]
	}
	return p.answer(f, document, table(", "+workerColumns, rows), said.String())
}

// question is what is asked before holders are stopped.
func question(verb string, before, stopped []roster.Worker) string {
	if len(before) == 1 && len(stopped) == 1 {
		return fmt.Sprintf("%s worker %d, %s", verb, before[0].Number, before[0])
	}
	return fmt.Sprintf("%s %s, of which %d are held", verb, text.Count(int64(len(before)), "worker id"), len(stopped))
}

// costOf says what a release or a quarantine does to holders that live. Of a release it also says when the worker
// id can be claimed.
func costOf(ctx context.Context, r *roster.Roster, verb string, stopped []roster.Worker) (cost string, err error) {
	switch {
	case len(stopped) == 0:
		return "", nil
	case r.Layout().Workers() == 1:
		return "; ids stop until the window has passed, then the next process gives them", nil
	}
	census := r.Census()
	for w, err := range r.Workers(ctx) {
		if err != nil {
			return "", err
		}
		r.Count(&census, w)
	}
	switch loss, free := r.Traits().Loss, census.Counts[roster.Free] > 0; {
	case free && loss == 0:
		cost = "; a holder that lives claims another worker id once it notices, if one is free"
	case free:
		cost = fmt.Sprintf("; a holder that lives gives no ids for %s: it claims another worker id, if one is free, and this store can lose a claim for so long", loss)
	case loss == 0:
		cost = "; no other worker id is free, so a holder that lives gives no ids until one is"
	default:
		cost = fmt.Sprintf("; no other worker id is free, so a holder that lives gives no ids until one is, and for %s after that, as this store can lose a claim for so long", loss)
	}
	if verb == "release" {
		first := slices.MinFunc(stopped, func(a, b roster.Worker) int { return a.Until.Compare(b.Until) })
		cost += fmt.Sprintf("; worker %d can be claimed from %s on, by its holder or by another process", first.Number, first.Until.Add(-snowfence.DefaultMaxRollback).UTC().Format(time.RFC3339))
	}
	return cost, nil
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
	if _, err := fmt.Fprintf(p.stderr, "snowfence: %s? [y/N] ", visible(question, "")); err != nil {
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
		Use:   "release N[-M][,N...]",
		Short: "Take a worker id away from its holder",
		Long: `Release takes a worker id away from its holder. The until stays as it is, so no
tick is given away twice: release is always safe, whether the holder lives or
not. A holder that lives notices within a third of its window. It ends its term,
and claims another worker id if it is not pinned. On a store that can lose
writes such a claim waits, and the holder gives no ids for so long: 15 s by
default on PostgreSQL, MySQL and Redis. --dry-run says how long.

The worker id can be claimed when its until is at most max-rollback ahead.
After a crash it frees the worker id only max-rollback (5 s) earlier.

Release writes only if the register is still as it was read. If it changed, as
it does when its holder extends, nothing is written and the exit code is 3. A
worker id without a holder is refused with exit code 1.`,
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
mark away. Everything else stays. A running holder notices within a third of its
window, and ends its term. So for a held worker id quarantine asks first, or
needs --yes. A worker id that was never claimed can be quarantined too, and
--clear then asks: if it is another system's, 'workers import' comes first.

It writes only if the register is still as it was read, as release does.

A lossy store can lose a mark in a failover. There quarantine waits until it
can't, 15 s by default, and confirms the mark. With --no-wait, or if the wait or
the confirmation fails, the exit code is 6: repeat it after the time that is
shown. A --clear that is lost leaves the mark, which does no harm.`,
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
