package journal

import (
	"cmp"
	"errors"
	"fmt"

	"snowfence.example/snowfence/internal/stored"
)

var (
	// ErrClosed is returned by every call after [Journal.Close].
	ErrClosed = errors.New("journal: closed")

	// ErrTaken is returned by the second [Journal.Take]: a journal is for one holder.
	ErrTaken = errors.New("journal: another holder of this program has it")

	// ErrFailed is returned by [Journal.Keep] once it or [Journal.Discard] has failed. It
	// wraps the failure.
	ErrFailed = errors.New("journal: failed, and is of no more use to this process")

	// ErrReplaced is returned when the folder's files are not the opened ones any more:
	// they were removed, moved or restored while in use, or another process has taken the
	// page. It is final: the page counts as another process's.
	ErrReplaced = errors.New("journal: moved, removed or replaced while in use")

	// ErrNetwork is returned by [Open] when the folder's file system is not known to be local.
	// The lock of a network file system may not keep out other hosts.
	ErrNetwork = errors.New("journal: on a file system that is not known to be local")

	// ErrUnsupported is returned by [Open] when the operating system can't carry a
	// journal, and by [Journal.Keep] when the file system can't.
	ErrUnsupported = errors.New("journal: not supported here")
)

// InUseError is returned by [Open] when another process, or this one, has the
// journal open.
type InUseError struct {
	Path string // the journal's folder
	// Owner is the owner's own name for itself: "pid 7". Empty if it has not written it
	// yet.
	Owner string
}

// Error names the folder and the owner.
func (e *InUseError) Error() string {
	return fmt.Sprintf("journal: %s: in use by %s", e.Path, cmp.Or(e.Owner, "another process"))
}

// RefusedError is returned by [Journal.Take] when the page of an earlier process can't be
// used. The page is useless from then on.
type RefusedError struct {
	Path   string // of the journal's folder
	Reason string
}

// Error names the folder and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("journal: %s: %s: %s", e.Path, stored.ErrJournalRefused, e.Reason)
}

// Unwrap returns [stored.ErrJournalRefused].
func (*RefusedError) Unwrap() error { return stored.ErrJournalRefused }
