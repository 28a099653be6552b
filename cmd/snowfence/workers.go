package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

func (p program) workers() *cobra.Command {
	return group(&cobra.Command{
		Use:   "workers",
		Short: "Show and operate the worker ids of a namespace",
		Long: `A store keeps a register for each worker id: who holds it, and until when. These
verbs show the registers, and change a few things in them. No change can make
two ids equal.`,
		Example: `  snowfence workers list
  snowfence workers release 7 --yes`,
	}, p.workersList(), p.workersShow(), p.workersRelease(), p.workersQuarantine(), p.workersImport())
}

// workerArgument refuses arguments that are not one worker number.
func workerArgument(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(cmd, fmt.Errorf("needs one worker number, but got %d arguments", len(args)))
	}
	if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 0 {
		return usage(cmd, fmt.Errorf("worker number %q: must be decimal digits", args[0]))
	}
	return nil
}

// readWorkers reads the registers of worker numbers: one, a range such as 0-31, or several of these with commas.
func readWorkers(cmd *cobra.Command, r *roster.Roster, arg string) (workers []roster.Worker, err error) {
	ranges, err := text.ParseRanges(arg)
	if err != nil {
		return nil, usage(cmd, fmt.Errorf("worker number %w", err))
	}
	if most := r.Layout().Workers() - 1; ranges[len(ranges)-1].Last > most {
		return nil, usage(cmd, fmt.Errorf("worker number %d: must be from 0 to %d in namespace %q", ranges[len(ranges)-1].Last, most, r.Name()))
	}
	for _, numbers := range ranges {
		for n := numbers.First; n <= numbers.Last; n++ {
			w, err := r.Worker(cmd.Context(), n)
			if err != nil {
				return nil, unavailable(err)
			}
			workers = append(workers, w)
		}
	}
	return workers, nil
}

func (p program) workersList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List who holds which worker id until when",
		Long: `List shows every worker id that was ever claimed, and how full the pool is. A
holder that is silent has missed the time to extend: it crashed, is paused or
cut off, or its clock is behind. WRITTEN is the age of the last write by the
store's clock, or by this host's; "ahead" means that the holder's is ahead.`,
		Example: `  snowfence workers list --store file:/srv/snowfence --namespace orders
  snowfence workers list -o json | jq 'select(.silent)'`,
	}
	return p.onRoster(cmd, func(out *report, r *roster.Roster, _ []string) error { return out.list(cmd.Context(), r) })
}

// list prints the worker ids. JSON is printed while the registers are read. The table comes at the end, because it needs all
// widths first.
func (out *report) list(ctx context.Context, r *roster.Roster) error {
	census := r.Census()
	var all []roster.Worker
	for w, err := range r.Workers(ctx) {
		if err != nil {
			return unavailable(err)
		}
		r.Count(&census, w)
		if err := out.object(registers.WorkerOf(r, w)); err != nil {
			return err
		}
		if out.form != jsonForm {
			all = append(all, w)
		}
	}
	if err := out.object(registers.PoolOf(r, census)); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b roster.Worker) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Key, b.Key))
	})
	out.WriteString(registers.PoolText(r, census))
	if out.rows = registers.Rows(all...); len(all) > 0 {
		out.Line("")
	}
	return out.end(registers.Columns)
}

func (p program) workersShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show N",
		Short: "Show one worker id in full",
		Long: `Show prints all that the store keeps of one worker id, and what a claimant would
get now. N is the worker number: the datacenter, if the layout has one, times 2
to the number of worker bits, plus the worker id.`,
		Example: `  snowfence workers show 7
  snowfence workers show 7 --namespace orders -o json`,
		Args: workerArgument,
	}
	return p.onRoster(cmd, func(out *report, r *roster.Roster, args []string) error {
		read, err := readWorkers(cmd, r, args[0])
		if err != nil {
			return err
		}
		claimant := page.Object{"claimable", true}
		if refusal := r.Refusal(read[0]); refusal != nil {
			claimant = page.Object{"claimable", false, "message", text.Message(refusal)}
		}
		return out.whole(append(registers.WorkerOf(r, read[0]), "claimant", claimant))
	})
}

// operate completes a verb that reads registers, and writes them, or shows its plan.
func (p program) operate(cmd *cobra.Command, w *writing, clearing *bool) *cobra.Command {
	cmd.Args = exactly(1)
	return p.onRoster(cmd, func(out *report, r *roster.Roster, args []string) error {
		ctx := cmd.Context()
		before, err := readWorkers(cmd, r, args[0])
		if err != nil {
			return err
		}
		c := registers.Change{Verb: cmd.Name(), Clear: *clearing, Roster: r, Before: before}
		// An impossible change is refused before anything is written.
		if _, err := c.CarryOut(ctx, r.Dry(), roster.Patience{}); err != nil {
			return unavailable(err)
		}
		cost := ""
		if c.Clear || !w.yes {
			if cost, err = c.Cost(ctx); err != nil {
				return unavailable(err)
			}
		}
		if !w.yes {
			p.note(unwritten)
			return out.answer(c.Document(true), c.Text(true)+cost)
		}
		if cost != "" {
			p.note("%s", strings.TrimSpace(cost))
		}
		done, err := c.CarryOut(ctx, r, w.patience)
		for i, w := range before[:done] {
			if was, is, written := c.Of(i); written {
				p.audit("workers "+c.Verb, "namespace", r.Name(), "worker", w.Number, "before", was, "after", is)
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
		Long: `Release takes a worker id away from its holder. That is always safe: no tick is
given away twice. A holder that lives claims another worker id, if it is not
pinned. Without --yes the plan is shown. A register that changed meanwhile is
not written (exit code 3).`,
		Example: `  snowfence workers release 7
  snowfence workers release 7 --yes -o json`,
	}
	return p.operate(cmd, p.writingFlags(cmd), new(bool))
}

func (p program) workersQuarantine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine N[-M][,N...]",
		Short: "Keep a worker id from being claimed, or let it be again",
		Long: `Quarantine bars a worker id from claims until --clear; a holder ends its term.
If another system made ids there, 'workers import' comes before --clear, or ids
can repeat. Without --yes the plan is shown. On a lossy store exit code 6 means:
repeat it after the time that is shown.`,
		Example: `  snowfence workers quarantine 0-31,40 --yes
  snowfence workers quarantine 7 --clear --yes`,
	}
	clearing := cmd.Flags().Bool("clear", false, "clear the mark")
	return p.operate(cmd, p.writingFlags(cmd), clearing)
}
