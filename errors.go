package snowfence

import (
	"fmt"
	"time"
)

// Errors of a [Generator].
var (
	// ErrBeforeEpoch is returned while the clock is before the layout's epoch.
	ErrBeforeEpoch = NewError(ClassClock, "snowfence: the clock is before the layout's epoch")

	// ErrPastHorizon is returned once the layout's time bits are used up.
	ErrPastHorizon = NewError(ClassClock, "snowfence: the layout's horizon has passed")

	// ErrWindowEnded is returned when the generator's window is over and was
	// not extended.
	ErrWindowEnded = NewError(ClassLease, "snowfence: the window of ticks has ended")

	// ErrRevoked is wrapped by the error of every call after [Generator.Revoke],
	// together with the cause.
	ErrRevoked = NewError(ClassLease, "snowfence: the generator was revoked")

	// ErrClockBehind is the reason of a [WaitError] when the clock stepped
	// back further than a call may wait.
	ErrClockBehind = NewError(ClassClock, "snowfence: the clock is behind ids already issued")

	// ErrSaturated is the reason of a [WaitError] when the layout can't number
	// enough ids within the wait.
	ErrSaturated = NewError(ClassUnavailable, "snowfence: more ids are wanted than ticks can number")

	// ErrClockStepped is the cause with which a generator revokes itself when
	// the wall clock stepped forward by more than ten minutes. Under
	// WallEveryCall it never does.
	ErrClockStepped = NewError(ClassClock, "snowfence: the clock stepped forward by more than ten minutes")
)

// WaitError is returned by a call that would have to wait longer than its policy's MaxWait.
// It is returned at once, with nothing used up, where that is known beforehand. Otherwise
// it is returned at the end of MaxWait. A context that ends sooner ends the wait with its
// own error.
type WaitError struct {
	// Reason is [ErrClockBehind] or [ErrSaturated].
	Reason error
	// Need is the wait that the call needed, as far as is known.
	Need time.Duration
	// Limit is the longest wait allowed: the policy's MaxWait. Under WallEveryCall a call
	// does not wait for a step back longer than MaxRollback, and the limit is that.
	Limit time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("%v: needs a wait of %s, at most %s allowed", e.Reason, e.Need, e.Limit)
}

// Unwrap returns the reason.
func (e *WaitError) Unwrap() error { return e.Reason }
