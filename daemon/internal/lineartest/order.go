package lineartest

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// step is a swap as the checker sees it: the writer of the version that it names, and its effect.
type step struct {
	id, guard int
	effect    effect
}

// effect is whether a swap took effect.
type effect int

const (
	took effect = iota
	tookNot
	may
)

// never is the return of a swap that may take effect at any later time.
const never = math.MaxInt64

// order looks for an order of the swaps. Losses divide time into spans, each
// with an order of its own that begins with whatever the loss left.
func (r *register) order(losses []loss, limit time.Duration) error {
	for i := range len(losses) + 1 {
		switch result := porcupine.CheckOperationsTimeout(model(r.start(losses[:i])), r.span(losses, i), limit); result {
		case porcupine.Ok:
		case porcupine.Illegal:
			return fmt.Errorf("there is no order of the swaps in which each does what it reported")
		default:
			return fmt.Errorf("whether there is an order of the swaps was not decided within %v", limit)
		}
	}
	return nil
}

// model is a register that holds the id of the swap that wrote it last, and at first any of start.
//
// A swap that may have taken effect does so if it can. That loses nothing: a swap without effect is put
// where it can't take effect, at the very end if nowhere else.
func model(start []any) porcupine.Model {
	register := porcupine.NondeterministicModel{
		Init: func() []any { return start },
		Step: func(state, input, _ any) []any {
			s := input.(step)
			switch finds := state.(int) == s.guard; {
			case finds && s.effect != tookNot:
				return []any{s.id}
			case !finds && s.effect != took:
				return []any{state}
			}
			return nil
		},
		Hash: func(state any) uint64 { return uint64(state.(int)) * 0x9e3779b97f4a7c15 },
	}
	return register.ToModel()
}

// start returns the states that the register may have after some losses.
func (r *register) start(losses []loss) []any {
	if len(losses) == 0 {
		return []any{0}
	}
	// A state is past for good once a swap over it can't get lost any more.
	past := make(map[int]bool)
	for _, s := range r.swaps {
		if s.outcome == acknowledged && s.survives(losses) {
			past[r.writer[s.guard]] = true
		}
	}
	var states []any
	if !past[0] {
		states = append(states, 0)
	}
	for _, s := range r.swaps {
		if s.outcome != conflict && s.call < losses[len(losses)-1].to && !past[s.id] {
			states = append(states, s.id)
		}
	}
	return states
}

// survives reports whether a swap that was acknowledged stays through losses.
func (s *swap) survives(losses []loss) bool {
	for _, l := range losses {
		if s.end >= l.from-l.age && s.call <= l.to {
			return false
		}
	}
	return s.call < losses[len(losses)-1].from
}

// span returns the swaps that the checker puts in order between two losses.
func (r *register) span(losses []loss, i int) []porcupine.Operation {
	from, to := time.Duration(0), time.Duration(never)
	if i > 0 {
		from = losses[i-1].to
	}
	if i < len(losses) {
		to = losses[i].from
	}
	// A state is left once. So where one swap took effect, the other swaps that name the same version
	// did not, including the undecided ones. That keeps the checker's work small.
	left := make(map[int]bool)
	for _, s := range r.swaps {
		if effect, _ := s.within(from, to); effect == took {
			left[r.writer[s.guard]] = true
		}
	}
	var operations []porcupine.Operation
	for _, s := range r.sorted() {
		effect, end := s.within(from, to)
		guard := r.writer[s.guard]
		if s.call > to || s.over(from) || effect == may && (s.outcome == conflict || left[guard]) {
			continue
		}
		operations = append(operations, porcupine.Operation{
			Input:  step{id: s.id, guard: guard, effect: effect},
			Call:   int64(max(s.call, from)),
			Return: int64(end),
		})
	}
	return operations
}

// over reports whether all that a swap did was done before an instant.
func (s *swap) over(at time.Duration) bool {
	return s.outcome != unknown && s.end < at || s.seen > 0 && s.seen < at
}

// within returns a swap's effect between two instants, and until when it took place.
func (s *swap) within(from, to time.Duration) (effect, time.Duration) {
	end, known := s.end, tookNot
	switch s.outcome {
	case acknowledged:
		known = took
		if s.seen > 0 {
			end = min(end, s.seen)
		}
	case unknown:
		if s.seen == 0 {
			return may, never
		}
		// A read that began after the call may be over before its return.
		known, end = took, s.seen
	}
	if s.call < from || end > to {
		return may, never
	}
	return known, end
}
