package roster

import (
	"errors"
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
)

var (
	// ErrNoNamespace is returned when the store has no record of the namespace.
	ErrNoNamespace = snowfence.NewError(snowfence.ClassFinal, "snowfence: there is no such namespace in the store")

	// ErrNotHeld is returned by [Desk.Release] for a worker id that has no
	// holder.
	ErrNotHeld = snowfence.NewError(snowfence.ClassFinal, "snowfence: the worker id has no holder")

	// ErrUnusable is wrapped by the errors about a register that may not be written: it
	// can't be read, or is of another incarnation of the namespace.
	ErrUnusable = snowfence.NewError(snowfence.ClassFinal, "snowfence: the register is not touched")

	// errTimeout is the cause of a request's end when its time is over.
	errTimeout = errors.New("the store did not answer within the request timeout")

	// errUndecided ends a write whose outcome the store's answers leave open.
	errUndecided = errors.New("the store answers with conflicts, and its reads show no other write")
)

// ConflictError is returned when another process wrote a register after it was read here.
// Nothing was changed, unless Unsure is there.
type ConflictError struct {
	// Now is the register as it is now.
	Now Worker
	// Unsure is the store's error if an earlier attempt may have taken effect and been
	// overwritten; nil if nothing was changed.
	Unsure error
}

// Error names the worker id and its present state.
func (e *ConflictError) Error() string {
	when := " since it was read, and nothing was changed"
	if e.Unsure != nil {
		when = fmt.Sprintf(", perhaps after this write took effect (%v)", e.Unsure)
	}
	return fmt.Sprintf("snowfence: the register of worker %d was written by another process%s; it is now %s", e.Now.Number, when, e.Now)
}

// Unwrap returns [store.ErrConflict] and Unsure.
func (e *ConflictError) Unwrap() []error {
	if e.Unsure == nil {
		return []error{store.ErrConflict}
	}
	return []error{store.ErrConflict, e.Unsure}
}
