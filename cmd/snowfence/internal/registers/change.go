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

// The verbs that change registers.
const (
	Release    = "release"
	Quarantine = "quarantine"
)

// Change is a verb on some worker ids: each as it was read, and as it is after the verb.
type Change struct {
	Verb          string
	Clear         bool // quarantine takes the mark away
	Roster        *roster.Roster
	Before, After []roster.Worker
}

// CarryOut writes the worker ids in their order, or pretends to if the roster is a dry one, and returns how many are done.
func (c *Change) CarryOut(ctx context.Context, r *roster.Roster, patience roster.Patience) (done int, err error) {
	c.After = make([]roster.Worker, len(c.Before))
	err = r.Operate(ctx, patience, func(d *roster.Desk) (err error) {
		for ; done < len(c.Before); done++ {
			if c.Verb == Release {
				c.After[done], err = d.Release(ctx, c.Before[done])
			} else {
				c.After[done], err = d.Quarantine(ctx, c.Before[done], !c.Clear)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// Cost returns what the change costs, for its plan: of holders that lose their worker ids, or of worker ids that get free
// without a floor.
func (c *Change) Cost(ctx context.Context) (cost string, err error) {
	var touched []roster.Worker
	for i, w := range c.Before {
		touches := c.Verb == Release || w.State == roster.Held
		if c.Clear {
			touches = w.Register.Until == 0
		}
		if touches && !unchanged(w, c.After[i]) {
			touched = append(touched, w)
		}
	}
	switch {
	case len(touched) == 0:
		return "", nil
	case c.Clear:
		return text.Count(len(touched), "worker id") + " without a floor: if another system made ids there, ids can repeat: 'workers import' sets a floor\n", nil
	}
	cost, err = c.cost(ctx, touched)
	return cost + "\n", err
}

// Document returns the change as JSON has it: one change, or several in a list.
func (c *Change) Document(dry bool) page.Object {
	var all []page.Object
	for i, before := range c.Before {
		after := c.After[i]
		all = append(all, page.Object{
			"type", "change", "verb", c.Verb, "worker", before.Number, "dry_run", dry, "written", !dry && !unchanged(before, after),
			"before", WorkerOf(c.Roster, before), "after", WorkerOf(c.Roster, after),
		})
	}
	if len(all) == 1 {
		return all[0]
	}
	return page.Object{"type", "changes", "verb", c.Verb, "dry_run", dry, "changes", all}
}

// Text returns the change in words.
func (c *Change) Text(dry bool) string {
	var p page.Page
	for i, before := range c.Before {
		was, is, written := c.Of(i)
		begin, outcome, end := "", "is not quarantined", ""
		if c.Verb == Release {
			outcome = "has no holder any more"
		} else if c.After[i].Register.Quarantined {
			outcome = "is quarantined"
		}
		if dry {
			begin = "with --yes: "
		}
		if !written {
			end = " already"
		}
		p.Line("%sworker %d %s%s\n  before: %s\n  after:  %s", begin, before.Number, outcome, end, was, is)
	}
	return p.String()
}

// Of returns how a worker id was and is, in one line each, and whether it was written.
func (c *Change) Of(i int) (before, after string, written bool) {
	return worded(c.Before[i]), worded(c.After[i]), !unchanged(c.Before[i], c.After[i])
}

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

// cost returns the effect on the holders of the worker ids that are stopped. For a release it adds when the first worker id
// can be claimed.
func (c *Change) cost(ctx context.Context, stopped []roster.Worker) (cost string, err error) {
	r := c.Roster
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
	default:
		cost = "no other worker id is free, so a holder that lives gives no ids until one is"
		if loss > 0 {
			cost += fmt.Sprintf(", and for %s after that, as this store can lose a claim for so long", loss)
		}
	}
	if c.Verb == Release {
		first := slices.MinFunc(stopped, func(a, b roster.Worker) int { return a.Until.Compare(b.Until) })
		cost += fmt.Sprintf("; worker %d can be claimed from %s on, by its holder or by another process", first.Number, first.Until.Add(-snowfence.DefaultMaxRollback).UTC().Format(time.RFC3339))
	}
	return cost, nil
}
