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

// order looks for an order of the swaps.
func (r *register) order(limit time.Duration) error {
	switch result := porcupine.CheckOperationsTimeout(model(), r.operations(), limit); result {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return fmt.Errorf("there is no order of the swaps in which each does what it reported")
	default:
		return fmt.Errorf("whether there is an order of the swaps was not decided within %v", limit)
	}
}

// model is a register that holds the id of the swap that wrote it last, and at first 0.
//
// A swap that may have taken effect does so if it can. That loses nothing: a swap without effect is put
// where it can't take effect, at the very end if nowhere else.
func model() porcupine.Model {
	register := porcupine.NondeterministicModel{
		Init: func() []any { return []any{0} },
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

// operations returns the swaps that the checker puts in order.
func (r *register) operations() []porcupine.Operation {
	// A state is left once. So where one swap took effect, the other swaps that name the same version
	// did not, including the undecided ones. That keeps the checker's work small.
	left := make(map[int]bool)
	for _, s := range r.swaps {
		if effect, _ := s.known(); effect == took {
			left[r.writer[s.guard]] = true
		}
	}
	var operations []porcupine.Operation
	for _, s := range r.sorted() {
		effect, end := s.known()
		guard := r.writer[s.guard]
		if effect == may && left[guard] {
			continue
		}
		operations = append(operations, porcupine.Operation{
			Input:  step{id: s.id, guard: guard, effect: effect},
			Call:   int64(s.call),
			Return: int64(end),
		})
	}
	return operations
}

// known returns a swap's effect, and until when it took place.
func (s *swap) known() (effect, time.Duration) {
	switch {
	case s.outcome == conflict:
		return tookNot, s.end
	case s.seen == 0 && s.outcome == unknown:
		return may, never
	case s.seen == 0:
		return took, s.end
	case s.outcome == unknown:
		// A read that began after the call may be over before its return.
		return took, s.seen
	}
	return took, min(s.end, s.seen)
}
