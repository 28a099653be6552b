package registers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// ChangesOf returns what was written, or would be: one change, or several in a list.
func ChangesOf(r *roster.Roster, verb string, dry bool, before, after []roster.Worker) page.Object {
	var all []page.Object
	for i := range before {
		all = append(all, page.Object{
			"type", "change", "verb", verb, "worker", before[i].Number, "dry_run", dry, "written", !dry && !Unchanged(before[i], after[i]),
			"before", WorkerOf(r, before[i]), "after", WorkerOf(r, after[i]),
		})
	}
	if len(all) == 1 {
		return all[0]
	}
	return page.Object{"type", "changes", "verb", verb, "dry_run", dry, "changes", all}
}

// Stretch is a run of worker ids that an operation changed alike, with the first one before and after.
type Stretch struct {
	Workers       text.Range
	Before, After roster.Worker
}

// Stretches puts neighbours together.
func Stretches(before, after []roster.Worker) []Stretch {
	var all []Stretch
	for i, w := range before {
		if n := len(all); n > 0 {
			last := &all[n-1]
			if w.Number == last.Workers.Last+1 && StateText(w) == StateText(last.Before) &&
				StateText(after[i]) == StateText(last.After) && Unchanged(w, after[i]) == Unchanged(last.Before, last.After) {
				last.Workers.Last++
				continue
			}
		}
		all = append(all, Stretch{text.Range{First: w.Number, Last: w.Number}, w, after[i]})
	}
	return all
}

// Words are a worker id in full, or what all of a stretch have in common.
func (s Stretch) Words(w roster.Worker) string {
	if s.Workers.First == s.Workers.Last {
		return worded(w)
	}
	return StateText(w)
}

// Unchanged reports whether nothing was written: each write has a mark.
func Unchanged(before, after roster.Worker) bool {
	return before.Exists == after.Exists && before.Register.Write == after.Register.Write
}

// worded is a worker id in one line.
func worded(w roster.Worker) string {
	if w.Register.Term == 0 {
		return w.String()
	}
	return fmt.Sprintf("%s; term %d, until tick %d", w, w.Register.Term, w.Register.Until)
}

// CostOf says what a release or a quarantine does to holders that live. Of a release it also says when the worker
// id can be claimed.
func CostOf(ctx context.Context, r *roster.Roster, verb string, stopped []roster.Worker) (cost string, err error) {
	if r.Layout().Workers() == 1 {
		return "ids stop until the window has passed, then the next process gives them", nil
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
		cost = "a holder that lives claims another worker id once it notices, if one is free"
	case free:
		cost = fmt.Sprintf("a holder that lives gives no ids for %s: it claims another worker id, if one is free, and this store can lose a claim for so long", loss)
	case loss == 0:
		cost = "no other worker id is free, so a holder that lives gives no ids until one is"
	default:
		cost = fmt.Sprintf("no other worker id is free, so a holder that lives gives no ids until one is, and for %s after that, as this store can lose a claim for so long", loss)
	}
	if verb == "release" {
		first := slices.MinFunc(stopped, func(a, b roster.Worker) int { return a.Until.Compare(b.Until) })
		cost += fmt.Sprintf("; worker %d can be claimed from %s on, by its holder or by another process", first.Number, first.Until.Add(-snowfence.DefaultMaxRollback).UTC().Format(time.RFC3339))
	}
	return cost, nil
}
