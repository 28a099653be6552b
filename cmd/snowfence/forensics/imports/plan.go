package imports

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/text"
)

// Action is the write of a [Step].
type Action string

// The actions.
const (
	// Create writes the first register of a worker id.
	Create Action = "create"
	// Raise sets the floor of a register that has a lower one.
	Raise Action = "raise"
	// End sets the floor of a register whose until is above it, and ends its term: that
	// began below, so its release could lower until below the floor.
	End Action = "end"
	// Keep writes nothing: all new ticks lie above the floor already.
	Keep Action = "keep"
	// Unset writes nothing, because the register can't be read. A program that can read
	// it could claim it below the floor, so the take-over is not finished.
	Unset Action = "unset"
)

// Step is the part of a plan for one worker id.
type Step struct {
	Worker   int64
	Evidence string // where the worker id was seen and when, for people
	Action   Action
	Note     string // who holds it, if anybody does
}

// Plan is a list of a take-over's writes to a namespace.
type Plan struct {
	Layout  snowfence.Layout
	Floor   snowfence.Tick // the first tick that is free of the old system's ids
	Because string         // the fact that the floor comes from
	Steps   []Step         // in ascending order of the worker ids, each once
}

// find returns where the step of a worker id is, and whether there is one.
func (p Plan) find(worker int64) (int, bool) {
	return slices.BinarySearchFunc(p.Steps, worker, func(s Step, n int64) int { return cmp.Compare(s.Worker, n) })
}

// Writes returns how many of the steps write.
func (p Plan) Writes() int {
	n := 0
	for _, s := range p.Steps {
		if s.Action != Keep && s.Action != Unset {
			n++
		}
	}
	return n
}

// Draft returns a plan of [NewPlan] for the namespace of a roster, and writes nothing.
// It returns a *[stored.LayoutMismatchError], an error of class usage for a worker id
// that the store may not give away, and the errors of [roster.Roster.Workers].
func Draft(ctx context.Context, r *roster.Roster, plan Plan) (Plan, error) {
	if err := plan.fits(r); err != nil {
		return Plan{}, err
	}
	plan.Steps = slices.Clone(plan.Steps)
	for w, err := range r.Workers(ctx) {
		if err != nil {
			return Plan{}, err
		}
		if i, wanted := plan.find(w.Number); wanted {
			plan.Steps[i].Action, plan.Steps[i].Note = judge(w, plan.Floor)
		}
	}
	return plan, nil
}

// fits returns an error unless the plan is one for that namespace.
func (p Plan) fits(r *roster.Roster) error {
	if !r.Layout().Equal(p.Layout) {
		return &stored.LayoutMismatchError{Namespace: r.Name(), Stored: r.Record().Layout, Configured: p.Layout.String()}
	}
	return p.Within(r.Name(), r.Record().Datacenters)
}

// Within returns an error of class usage for a worker id of a datacenter that a namespace does not
// have; an empty list means all.
func (p Plan) Within(namespace string, datacenters []int64) error {
	for _, s := range p.Steps {
		datacenter, _, err := p.Layout.SplitWorker(s.Worker)
		if err != nil || len(datacenters) > 0 && !slices.Contains(datacenters, datacenter) {
			return wrong("worker", fmt.Sprint(s.Worker), "is of none of the datacenters %v that namespace %q has in this store",
				datacenters, namespace)
		}
	}
	return nil
}

// judge chooses the action for a register.
func judge(w roster.Worker, floor snowfence.Tick) (Action, string) {
	note := ""
	if w.State != roster.Free {
		note = w.String()
	}
	switch {
	case w.State == roster.Unreadable:
		return Unset, note
	case !w.Exists:
		return Create, note
	case w.Floored(floor):
		return Keep, note
	case w.Register.Until < floor:
		return Raise, note
	default:
		return End, w.String() + ", in a term that began below the floor: ids that it issued may be ids of the old system"
	}
}

// Apply carries a plan out: it reads each register again, raises it if still needed,
// and calls done, unless it is nil, with each step. It may be repeated without harm.
//
// On a lossy store it waits for the store's loss twice: until the namespace can't be
// lost any more, and, by [roster.Roster.Operate], until the floors can't.
//
// It returns [roster.ErrUnusable], after all else is done, if there are registers that
// can't be read; see [Unset]. It also returns the errors of [roster.Roster.Settle],
// [roster.Roster.Worker] and [roster.Desk.Raise], and a *[roster.UncertainError].
func Apply(ctx context.Context, r *roster.Roster, plan Plan, p roster.Patience, done func(Step)) error {
	if err := plan.fits(r); err != nil {
		return err
	}
	if err := r.Settle(ctx, p); err != nil {
		return err
	}
	return r.Operate(ctx, p, func(d *roster.Desk) error { return plan.apply(ctx, r, d, done) })
}

func (p Plan) apply(ctx context.Context, r *roster.Roster, d *roster.Desk, done func(Step)) error {
	var unset []int64
	for _, step := range p.Steps {
		_, err := r.Insist(ctx, step.Worker, func(w roster.Worker) (roster.Worker, error) {
			step.Action, step.Note = judge(w, p.Floor)
			return d.Raise(ctx, w, p.Floor)
		})
		switch {
		case step.Action == Unset:
			unset = append(unset, step.Worker)
		case err != nil:
			return fmt.Errorf("set the floor of worker %d: %w", step.Worker, err)
		}
		if done != nil {
			done(step)
		}
	}
	if len(unset) > 0 {
		return fmt.Errorf("%w: worker %s: what can't be read got no floor, so a program that can read it could claim it below the floor; "+
			"repair it and run the take-over again", roster.ErrUnusable, text.List(unset, shown))
	}
	return nil
}
