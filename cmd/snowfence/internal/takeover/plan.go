package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/text"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
)

// Action is what a [Step] does.
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
	// Keep writes nothing: no tick below the floor can be stamped any more.
	Keep Action = "keep"
	// Unset writes nothing, because the register can't be read. A program that can read
	// it could claim it below the floor, so the take-over is not finished.
	Unset Action = "unset"
)

// Step is the part of a plan for one worker id.
type Step struct {
	Worker int64
	// Evidence says where the worker id was seen and when, for people.
	Evidence string
	Action   Action
	// Note is more to say about it: who holds it. Empty if there is nothing.
	Note string
}

// Plan is what a take-over writes into a namespace.
type Plan struct {
	Layout snowfence.Layout
	// Floor is the first tick that is free of the old system's ids.
	Floor snowfence.Tick
	// Because says which fact the floor comes from.
	Because string
	// Steps are in ascending order of the worker ids, each once.
	Steps []Step
	// Doubts say, for people, why the layout may not be the old system's, or why a part of it may still run. Most often
	// there are none.
	Doubts []string
	// Left are sightings of worker ids that the layout lacks: they issued no id.
	Left []Sighting
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
// It returns a *[stored.LayoutMismatchError], a *[FactError] for a worker id that the
// store may not give away, and the errors of [roster.Roster.Workers].
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
	for _, s := range p.Steps {
		if !r.Own(s.Worker) {
			return &FactError{"worker", fmt.Sprint(s.Worker), fmt.Sprintf("is of none of the datacenters %v that this store may give away in namespace %q", r.Record().Datacenters, r.Name()), nil}
		}
	}
	return nil
}

// judge says what is to be done about a register.
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

// tries is how often a register that others write to is read again.
const tries = 8

// Apply carries a plan out: it reads each register again, raises it if still needed,
// and calls done, unless it is nil, with each step. It may be repeated without harm.
//
// On a lossy store it waits for the store's loss twice: until the namespace can't be
// lost any more, and after the last write. Then it writes each register again, to know
// that the store did not lose it. A register that a holder has claimed meanwhile needs
// no second write: the floor guarded the claim, and the holder confirms it.
//
// It returns [roster.ErrUnusable], after all else is done, if there are registers that
// can't be read; see [Unset]. Other errors are those of [roster.Roster.Settle],
// [roster.Roster.Worker] and [roster.Roster.Raise].
func Apply(ctx context.Context, r *roster.Roster, plan Plan, done func(Step)) error {
	if err := plan.fits(r); err != nil {
		return err
	}
	if err := r.Settle(ctx); err != nil {
		return err
	}
	var fresh []roster.Worker
	var unset []int64
	for _, step := range plan.Steps {
		w, err := insist(ctx, r, step.Worker, func(w roster.Worker) (roster.Worker, error) {
			step.Action, step.Note = judge(w, plan.Floor)
			return r.Raise(ctx, w, plan.Floor)
		})
		switch {
		case step.Action == Unset:
			unset = append(unset, step.Worker)
		case err != nil:
			return fmt.Errorf("set the floor of worker %d: %w", step.Worker, err)
		case r.Losable(w):
			fresh = append(fresh, w)
		}
		if done != nil {
			done(step)
		}
	}
	if len(fresh) > 0 {
		if err := r.Wait(ctx, r.Traits().Loss); err != nil {
			return err
		}
	}
	for _, set := range fresh {
		if err := confirm(ctx, r, set, plan.Floor); err != nil {
			return fmt.Errorf("confirm the floor of worker %d: %w", set.Number, err)
		}
	}
	if len(unset) > 0 {
		return fmt.Errorf("%w: worker %s: what can't be read got no floor, so a program that can read it could claim it below the floor; repair it and run the take-over again", roster.ErrUnusable, text.List(unset, shown))
	}
	return nil
}

// confirm makes sure that the store did not lose a floor. Set is the register as this
// take-over wrote or found it.
//
// A claim above the floor has a higher term than set. A holder whose term is not higher
// claimed while the floor was lost: only its own clock kept it above the floor, and the
// store can lose its claim too. That is an error.
func confirm(ctx context.Context, r *roster.Roster, set roster.Worker, floor snowfence.Tick) error {
	_, err := insist(ctx, r, set.Number, func(w roster.Worker) (roster.Worker, error) {
		switch {
		case !w.Floored(floor), set.Register.Holder == "" && w.Register.Holder != "" && w.Register.Term <= set.Register.Term:
			return w, fmt.Errorf("%w: worker %d is %s", errLost, set.Number, w)
		case w.State == roster.Foreign || w.Register.Holder != "":
			return w, nil
		}
		return r.Confirm(ctx, w)
	})
	return err
}

// errLost says that the store lost what it had acknowledged.
var errLost = errors.New("the store lost the floor: run the take-over again")

// insist reads a register and does something to it, again after others wrote to it.
func insist(ctx context.Context, r *roster.Roster, worker int64, do func(roster.Worker) (roster.Worker, error)) (roster.Worker, error) {
	var err error
	for range tries {
		var w roster.Worker
		if w, err = r.Worker(ctx, worker); err != nil {
			return w, err
		}
		if w, err = do(w); err == nil {
			return w, nil
		}
		var conflict *roster.ConflictError
		if !errors.As(err, &conflict) {
			return w, err
		}
	}
	return roster.Worker{}, err
}
