package snowfence

import "fmt"

// Class is the meaning of an error for a caller without special knowledge of it: whether to
// try again, and whether something is unsafe. Exit codes and the answers of servers follow
// from it.
type Class uint8

// The classes. If an error wraps others, the last class in this order counts. So a holder
// without ids because of its clock is a matter of the clock.
const (
	// ClassUnknown is the class of an error that says nothing about itself.
	ClassUnknown Class = iota
	// ClassFinal is a failure that a retry does not mend: the thing does not exist, or is
	// not usable.
	ClassFinal
	// ClassUnavailable is a failure that a retry may mend: a silent store, no free worker
	// id.
	ClassUnavailable
	// ClassLease means that there is no right to issue ids at present. A retry may mend it: the store was away
	// for longer than the window, or a worker id was lost.
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

// NewError returns an error of a class. Each one is distinct, also from others
// with the same text.
func NewError(class Class, text string) error { return &classError{class, text} }

type classError struct {
	class Class
	text  string
}

func (e *classError) Error() string { return e.text }
func (e *classError) Class() Class  { return e.class }
