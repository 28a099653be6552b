package snowfence

import (
	"fmt"
	"time"
)

// Errors of a [Generator]. Each is the answer to a question of its own: what
// stood in the way of an id.
var (
	// ErrBeforeEpoch is returned while the clock stands before the layout's
	// epoch.
	ErrBeforeEpoch = NewError(ClassClock, "snowfence: the clock is before the layout's epoch")

	// ErrPastHorizon is returned once the layout's time bits are used up.
	ErrPastHorizon = NewError(ClassClock, "snowfence: the layout's horizon has passed")

	// ErrWindowEnded is returned when the generator's window is over and was
	// not extended.
	ErrWindowEnded = NewError(ClassLease, "snowfence: the window of ticks has ended")

	// ErrRevoked is returned by every call after [Generator.Revoke]. The error
	// returned wraps the cause as well.
	ErrRevoked = NewError(ClassLease, "snowfence: the generator was revoked")

	// ErrClockBehind is the reason of a [WaitError] when the clock stepped
	// back further than a call may wait.
	ErrClockBehind = NewError(ClassClock, "snowfence: the clock is behind ids already issued")

	// ErrSaturated is the reason of a [WaitError] when more ids are wanted
	// than the layout can number within the wait.
	ErrSaturated = NewError(ClassUnavailable, "snowfence: more ids are wanted than ticks can number")

	// ErrClockStepped is the cause with which a generator revokes itself when
	// the wall clock stepped forward by more than ten minutes. Under
	// WallEveryCall it never does.
	ErrClockStepped = NewError(ClassClock, "snowfence: the clock stepped forward by more than ten minutes")
)

// WaitError is returned by a call that would have to wait longer than its
// policy's MaxWait: at once, with nothing used up, where that is known
// beforehand, and at the end of MaxWait where it was hoped in vain. A context
// that ends sooner ends the wait with its own error.
type WaitError struct {
	// Reason is [ErrClockBehind] or [ErrSaturated].
	Reason error
	// Need is how long the call would have had to wait, as far as is known.
	Need time.Duration
	// Limit is how long it may: the policy's MaxWait, or its MaxRollback under
	// WallEveryCall, where a longer step back is not waited for at all.
	Limit time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("%v: needs a wait of %s, at most %s allowed", e.Reason, e.Need, e.Limit)
}

// Unwrap returns the reason.
func (e *WaitError) Unwrap() error { return e.Reason }
