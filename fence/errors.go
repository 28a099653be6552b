package fence

import (
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

	// ErrLost is the reason of a [Loss] when another holder, an operator or a copy of
	// this process took the worker id over.
	ErrLost = lease.ErrLost

	// ErrNoWorker is wrapped by [*ExhaustedError] and [*HeldError].
	ErrNoWorker = lease.ErrNoWorker

	// ErrPinnedTwice is wrapped by a [*HeldError] when this program holds the pinned
	// worker id already, or ended without a release.
	ErrPinnedTwice = lease.ErrPinnedTwice

	// ErrJournal is the reason of a [Loss] when a journal's disk failed and the term
	// could not go on.
	ErrJournal = lease.ErrJournal

	// ErrJournalRefused is wrapped by the error of a [Journal] with an unusable page.
	ErrJournalRefused = stored.ErrJournalRefused

	// ErrMustExist is wrapped by the error of [Open] for a namespace whose record is gone, if
	// Existing is set.
	ErrMustExist = stored.ErrMustExist

	// ErrNamespaceReplaced ends a holder for good when its namespace was emptied
	// or exchanged in the store.
	ErrNamespaceReplaced = stored.ErrNamespaceReplaced
)

type (
	// LayoutMismatchError is returned by [Open] when the namespace has another layout. It
	// shows both.
	LayoutMismatchError = stored.LayoutMismatchError

	// ClockError is returned when a claim is refused because this machine's clock is off,
	// by Offset from Reference. Nothing was written.
	ClockError = lease.ClockError

	// TimeError is returned when Layout has no tick for Now, this machine's time.
	TimeError = lease.TimeError

	// HeldError is returned when a pinned worker id can't be claimed. It names Worker,
	// the Process that holds it, and Until when.
	HeldError = lease.HeldError

	// ExhaustedError is returned when no worker id of the pool can be claimed. It shows
	// how many are held, by which processes and until when.
	ExhaustedError = lease.ExhaustedError
)

// NotReleasedError is returned by [Holder.Close] when the worker id could not be given
// back. It needs no action.
type NotReleasedError struct {
	Worker  int64     // the worker number
	Until   time.Time // when it can be claimed again at the latest, by a right clock
	Journal bool      // the next process with the same journal may go on with it at once
	Reason  error     // the store's last error, or the context's
}

// Error names the worker id that rests, until when, and why.
func (e *NotReleasedError) Error() string {
	journal := ""
	if e.Journal {
		journal = ", or goes on from the journal"
	}
	return fmt.Sprintf("snowfence: worker %d is not given back and rests until %s%s: %v", e.Worker, e.Until.UTC().Format(time.RFC3339Nano), journal, e.Reason)
}

// Unwrap returns the reason.
func (e *NotReleasedError) Unwrap() error { return e.Reason }

// UnavailableError is returned by calls for ids while no term can issue. It is returned
// at once when that has lasted for longer than a call may wait.
type UnavailableError struct {
	For    time.Duration // how long that had lasted, or how long the call had waited if that is longer
	Reason error         // the last claim's error, the cause of the term's loss, or the store's error
}

// Error shows for how long there have been no ids, and why.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("snowfence: no ids for %s so far: %v", e.For.Round(time.Millisecond), e.Reason)
}

// Unwrap returns [ErrUnavailable] and the reason.
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Reason} }
