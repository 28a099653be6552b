package snowfence

import (
	"errors"
	"fmt"
	"time"
)

// Class is the meaning of an error for a caller without special knowledge of it: whether to try
// again, and whether something is unsafe. Exit codes and the answers of servers follow from it.
type Class uint8

// The classes. If an error wraps others, the last class in this order counts. So a holder
// without ids because of its clock is a matter of the clock.
const (
	// ClassUnknown is the class of an error that does not name one.
	ClassUnknown Class = iota
	// ClassFinal is a failure that a retry does not mend: the thing does not exist, or is
	// not usable.
	ClassFinal
	// ClassUnavailable is a failure that a retry may mend: a silent store, no free worker id.
	ClassUnavailable
	// ClassLease means that the right to issue ids is missing at present. A retry may mend it: the
	// store was away for longer than the window, or a worker id was lost.
	ClassLease
	// ClassClock means that the clock does not allow ids to be issued. A retry mends it once the clock is right.
	ClassClock
	// ClassInvalidID means that a value is not an id, or not an id of the layout.
	ClassInvalidID
	// ClassUsage is a mistake in a configuration or a call.
	ClassUsage
)

// String returns the class's word, such as unavailable.
func (c Class) String() string {
	words := [...]string{"unknown", "final", "unavailable", "lease", "clock", "invalid id", "usage"}
	if int(c) < len(words) {
		return words[c]
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// ClassOf returns the class of an error and all that it wraps. An error states
// its class by a method Class() Class.
func ClassOf(err error) Class {
	class := ClassUnknown
	if c, ok := err.(interface{ Class() Class }); ok {
		class = c.Class()
	}
	switch e := err.(type) { //nolint:errorlint // it goes through the tree itself
	case interface{ Unwrap() error }:
		class = max(class, ClassOf(e.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, wrapped := range e.Unwrap() {
			class = max(class, ClassOf(wrapped))
		}
	}
	return class
}

// NewError returns an error of a class. Each one is distinct, also from others with the same text.
func NewError(class Class, text string) error { return &classError{class, text} }

type classError struct {
	class Class
	text  string
}

func (e *classError) Error() string { return e.text }
func (e *classError) Class() Class  { return e.class }

// ErrInvalidID is wrapped by every *[IDError]: a text or value is not an id, or not an id of
// the layout.
var ErrInvalidID = NewError(ClassInvalidID, "snowfence: invalid id")

// IDError explains why a text or value is not an [ID]. It wraps [ErrInvalidID].
type IDError struct {
	// Form is the expected form: "decimal", "hex", "JSON" …
	Form string
	// Text is the input, cut to its first 64 bytes.
	Text string
	// Position is the offset of the first byte at fault, or -1 for the whole text.
	Position int
	// Reason is what is wrong, with the limit where there is one.
	Reason string
}

// maxErrorText bounds how much of a foreign text an error carries.
const maxErrorText = 64

// Error names the form, the text, the position and the reason.
func (e *IDError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("%v %q: %s: %s", ErrInvalidID, e.Text, e.Form, e.Reason)
	}
	return fmt.Sprintf("%v %q: %s: position %d: %s", ErrInvalidID, e.Text, e.Form, e.Position, e.Reason)
}

// Unwrap returns [ErrInvalidID].
func (e *IDError) Unwrap() error { return ErrInvalidID }

func newIDError[T text](form string, s T, position int, reason string) error {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	return &IDError{form, string(s), position, reason}
}

func badByte[T text](form string, s T, position int, want string) error {
	return newIDError(form, s, position, fmt.Sprintf("%q is no %s", s[position], want))
}

// ErrInvalidLayout is what every *[LayoutError] wraps.
var ErrInvalidLayout = NewError(ClassUsage, "snowfence: invalid layout")

// LayoutError names the part of a [Layout], or of its text, that can't be as it is. It wraps [ErrInvalidLayout].
type LayoutError struct {
	// Field is the part at fault: unit, epoch, total, unsigned, or a field's word; of a text part or layout.
	Field string
	// Value is what it is.
	Value string
	// Limit is what it may be.
	Limit string
	// Reason is why, where the limit does not speak for itself.
	Reason string
}

// Error names the part, its value, the limit and the reason.
func (e *LayoutError) Error() string {
	s := fmt.Sprintf("%v: %s is %s, must be %s", ErrInvalidLayout, e.Field, e.Value, e.Limit)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns [ErrInvalidLayout].
func (e *LayoutError) Unwrap() error { return ErrInvalidLayout }

// RangeError is returned when a number does not fit its field. Nothing is ever masked to fit.
type RangeError struct {
	Field string // the field's word, "tick" or "worker number"
	Value int64
	Limit int64 // the largest number that fits; the smallest is 0
}

// Error names the field, the value and the limit.
func (e *RangeError) Error() string {
	return fmt.Sprintf("snowfence: %s is %d, must be from 0 to %d", e.Field, e.Value, e.Limit)
}

// ErrWorkerAboveTime is returned by [Layout.Bounds] and [Layout.Between] when the ids of an
// instant are not one range of the layout.
var ErrWorkerAboveTime = errors.New("snowfence: the datacenter or worker is above the time, so each worker has bounds of its own")

// ErrNoTick is returned by [Layout.Between] for a span in which no tick of the layout begins.
var ErrNoTick = NewError(ClassUsage, "snowfence: no tick begins in the span")

// PolicyError is returned when a [Policy] can't be used with a layout. It
// names the field at fault, its value and the limit that it breaks.
type PolicyError struct {
	Field string
	Value string
	Limit string
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("snowfence: policy: %s is %s: %s", e.Field, e.Value, e.Limit)
}

// Class is [ClassUsage].
func (e *PolicyError) Class() Class { return ClassUsage }

// Errors of a [Generator].
var (
	// ErrBeforeEpoch is returned while the clock is before the layout's epoch.
	ErrBeforeEpoch = NewError(ClassClock, "snowfence: the clock is before the layout's epoch")
	// ErrPastHorizon is returned once the layout's time bits are used up.
	ErrPastHorizon = NewError(ClassClock, "snowfence: the layout's horizon has passed")
	// ErrWindowEnded is returned when the generator's window is over and was not extended.
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
	// ErrClockStepped is the cause with which a generator revokes itself when the wall clock
	// stepped forward by more than ten minutes. Under WallEveryCall it never does.
	ErrClockStepped = NewError(ClassClock, "snowfence: the clock stepped forward by more than ten minutes")
)

// WaitError is returned by a call that would have to wait longer than its policy's MaxWait. It is
// returned at once, with nothing used up, where that is known beforehand. Otherwise it is returned
// at the end of MaxWait. A context that ends sooner ends the wait with its own error.
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
