package counter

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

var (
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("snowfence: the counter is closed")

	// ErrUnavailable is wrapped by every [*UnavailableError].
	ErrUnavailable = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: no numbers can be reserved")

	// ErrFull is wrapped by every [*FullError].
	ErrFull = snowfence.NewError(snowfence.ClassFinal, "snowfence: the counter has reached its limit")

	// ErrReplaced is returned when the counter in the store is gone, or is another one than
	// this process has counted with. The store was emptied, restored or exchanged.
	ErrReplaced = snowfence.NewError(snowfence.ClassLease, "snowfence: the counter was replaced in the store")

	// ErrLossy is returned by [OpenTickets] and [OpenStoreGuard] for a store that can lose
	// acknowledged writes.
	ErrLossy = snowfence.NewError(snowfence.ClassUsage, "snowfence: tickets and guards need a durable store")
	// ErrMustExist is wrapped by the error for a counter whose record is gone, if Existing is set.
	ErrMustExist = stored.ErrMustExist

	// errGone means that the record was there before. A late read can return it, too.
	errGone = fmt.Errorf("%w: it is gone", ErrReplaced)

	// errForgotten means that the store lost a reservation before it was confirmed. Another
	// one is made; the numbers are given to no one.
	errForgotten = errors.New("the store lost the write, or it was confirmed too late")
)

// ConfigError is returned for a setting that can't be used: Field, Value and Limit.
type ConfigError = stored.ConfigError

// UnavailableError is returned when a call has waited for max-wait and the store has not
// answered, or not in time.
type UnavailableError struct {
	Counter string
	For     time.Duration // how long the call waited
	Reason  error         // the store's last error; nil if it was only slow
}

// Error has the length of the wait, and the store's last error.
func (e *UnavailableError) Error() string {
	if e.Reason == nil {
		return fmt.Sprintf("%v: counter %s: the store was too slow for %s", ErrUnavailable, e.Counter, e.For.Round(time.Millisecond))
	}
	return fmt.Sprintf("%v: counter %s: for %s: %v", ErrUnavailable, e.Counter, e.For.Round(time.Millisecond), e.Reason)
}

// Unwrap returns [ErrUnavailable] and the reason.
func (e *UnavailableError) Unwrap() []error {
	if e.Reason == nil {
		return []error{ErrUnavailable}
	}
	return []error{ErrUnavailable, e.Reason}
}

// FullError is returned when a counter has no number left. Nothing is ever begun again.
type FullError struct {
	Counter string
	Date    string // of a daily sequence; empty otherwise
	Limit   int64  // the greatest number
}

// Error names the counter, the date and the limit.
func (e *FullError) Error() string {
	of := ""
	if e.Date != "" {
		of = " on " + e.Date
	}
	return fmt.Sprintf("%v: counter %s%s: %d is the greatest", ErrFull, e.Counter, of, e.Limit)
}

// Unwrap returns [ErrFull].
func (e *FullError) Unwrap() error { return ErrFull }

// DateError is returned when a daily sequence is asked for a date that it does not hold any
// more. It was perhaps begun before, and is never begun again. Most often the clock is wrong.
type DateError struct {
	Counter string
	Date    string
	Oldest  string // the earliest date that may count
}

// Error names the counter and both dates.
func (e *DateError) Error() string {
	return fmt.Sprintf("snowfence: counter %s: date %s: must be %s or later, because earlier dates are forgotten: is the clock right?",
		e.Counter, e.Date, e.Oldest)
}

// Class is [snowfence.ClassClock].
func (*DateError) Class() snowfence.Class { return snowfence.ClassClock }

// MismatchError is returned when a counter exists with another setting than the configured
// one.
type MismatchError struct {
	Counter            string
	Field              string // kind, start, increment, zone or digits
	Stored, Configured string
}

// Error names the counter, the field and both values.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("snowfence: counter %s: %s is %s in the store, and %s is configured: it never changes; use another counter",
		e.Counter, e.Field, e.Stored, e.Configured)
}

// Class is [snowfence.ClassUsage].
func (*MismatchError) Class() snowfence.Class { return snowfence.ClassUsage }

// BackwardsError is returned when a counter is behind numbers that were reserved from it
// already: a stale replica was promoted, or a dump was restored. Nothing is reserved until an
// operator has set the counter above them.
type BackwardsError struct {
	Counter string
	Next    int64 // the numbers that the counter would reserve
	Mark    int64 // the numbers known to be reserved already; others may have reserved more
	By      string
	// Remedy is the advice to an operator: of another system, where it keeps the counter. Empty
	// means to set the counter above the mark.
	Remedy string
}

// Error shows both numbers, and the remedy.
func (e *BackwardsError) Error() string {
	remedy := e.Remedy
	if remedy == "" {
		remedy = fmt.Sprintf("set the counter to %d or more", e.Mark+1)
	}
	return fmt.Sprintf("snowfence: counter %s went backwards: the store would reserve %d next, but %d is in use already, according to %s; "+
		"others may have given greater numbers, so stop every writer first, and go above all of them: %s",
		e.Counter, e.Next, e.Mark, e.By, remedy)
}

// Class is [snowfence.ClassLease].
func (*BackwardsError) Class() snowfence.Class { return snowfence.ClassLease }
