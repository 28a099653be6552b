package fence

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

var (
	// ErrClosed is returned by calls after [Holder.Close].
	ErrClosed = lease.ErrClosed

	// ErrUnavailable is wrapped by every [*UnavailableError].
	ErrUnavailable = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: no ids can be issued")

	// ErrLost is the reason of a [Loss] by which another holder, an operator or
	// a copy of this process took the worker id over.
	ErrLost = lease.ErrLost

	// ErrNoWorker is wrapped by [*ExhaustedError] and [*HeldError].
	ErrNoWorker = lease.ErrNoWorker

	// ErrPinnedTwice is wrapped by a [*HeldError] when this program holds the
	// pinned worker id already, or ended without releasing it.
	ErrPinnedTwice = lease.ErrPinnedTwice

	// ErrJournal is the reason of a [Loss] by which a journal's disk failed so
	// that the term could not go on.
	ErrJournal = lease.ErrJournal

	// ErrJournalRefused is wrapped by the error of a [Journal] whose page can't
	// be used.
	ErrJournalRefused = errors.New("snowfence: the journal can't be resumed from")

	// ErrNamespaceReplaced ends a holder for good when its namespace was emptied
	// or exchanged in the store.
	ErrNamespaceReplaced = stored.ErrNamespaceReplaced
)

type (
	// LayoutMismatchError is returned by [Open] when the namespace has another
	// layout than the configured one. It shows both.
	LayoutMismatchError = stored.LayoutMismatchError

	// ClockError is returned when a claim is refused because this machine's
	// clock is off. It says by how much, and nothing was written.
	ClockError = lease.ClockError

	// TimeError is returned when the layout has no tick for what this machine's
	// clock shows. It names the layout, its bound and the time.
	TimeError = lease.TimeError

	// HeldError is returned when a pinned worker id can't be had. It says who
	// holds it and until when.
	HeldError = lease.HeldError

	// ExhaustedError is returned when no worker id of the pool can be had. It
	// says how many are held, by whom and until when.
	ExhaustedError = lease.ExhaustedError
)

// NotReleasedError is returned by [Holder.Close] when the worker id could not be
// given back. Nothing has to be done about it.
type NotReleasedError struct {
	// Worker is the worker number.
	Worker int64
	// Until is when the worker id can be claimed again, at the latest. It is the
	// end of the window, by a clock that is right.
	Until time.Time
	// Journal says that the next process with the same journal may go on with the
	// worker id at once.
	Journal bool
	// Reason is why: the store's last error, or the context's.
	Reason error
}

// Error says which worker id rests until when, and why.
func (e *NotReleasedError) Error() string {
	journal := ""
	if e.Journal {
		journal = ", or goes on from the journal"
	}
	return fmt.Sprintf("snowfence: worker %d is not given back and rests until %s%s: %v", e.Worker, e.Until.UTC().Format(time.RFC3339Nano), journal, e.Reason)
}

// Unwrap returns the reason.
func (e *NotReleasedError) Unwrap() error { return e.Reason }

// UnavailableError is returned by calls for ids while the holder has no term
// that can issue, at once when that has lasted for longer than a call may
// wait.
type UnavailableError struct {
	// For is how long it had lasted, or how long the call had waited if that is
	// longer, when the call gave up.
	For time.Duration
	// Reason is why: what the last claim ended with, why the term was lost, or
	// what the store answers.
	Reason error
}

// Error says for how long there have been no ids, and why.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v for %s: %v", ErrUnavailable, e.For.Round(time.Millisecond), e.Reason)
}

// Unwrap returns [ErrUnavailable] and the reason.
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Reason} }
