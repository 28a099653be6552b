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

	// ErrNamespaceReplaced ends a holder for good when its namespace was emptied
	// or exchanged in the store.
	ErrNamespaceReplaced = stored.ErrNamespaceReplaced
)

type (
	// LayoutMismatchError is returned by [Open] when the namespace has another
	// layout than the configured one. It shows both.
	LayoutMismatchError = stored.LayoutMismatchError

	// ClockError is returned when a claim is refused because this machine's clock is
	// off. It says by how much. Nothing was written.
	ClockError = lease.ClockError

	// TimeError is returned when the layout has no tick for the time of this machine's
	// clock. It names the layout, its bound and the time.
	TimeError = lease.TimeError

	// HeldError is returned when a pinned worker id can't be claimed. It names the
	// process that holds it, and until when.
	HeldError = lease.HeldError

	// ExhaustedError is returned when no worker id of the pool can be claimed. It says
	// how many are held, by which processes and until when.
	ExhaustedError = lease.ExhaustedError
)

// NotReleasedError is returned by [Holder.Close] when the worker id could not be given
// back. It needs no action.
type NotReleasedError struct {
	// Worker is the worker number.
	Worker int64
	// Until is when the worker id can be claimed again, at the latest: the end of the
	// window, by a right clock.
	Until time.Time
	// Journal is true if the next process with the same journal may go on with the
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

// UnavailableError is returned by calls for ids while no term can issue. It is returned
// at once when that has lasted for longer than a call may wait.
type UnavailableError struct {
	// For is how long that had lasted when the call gave up, or how long the call had
	// waited, if that is longer.
	For time.Duration
	// Reason is the last claim's error, the cause of the term's loss, or the store's
	// error.
	Reason error
}

// Error says for how long there have been no ids, and why.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v for %s: %v", ErrUnavailable, e.For.Round(time.Millisecond), e.Reason)
}

// Unwrap returns [ErrUnavailable] and the reason.
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Reason} }
