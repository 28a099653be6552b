package journal

import (
	"errors"
	"fmt"

	"snowfence.example/snowfence/fence"
)

var (
	// ErrClosed is returned by every call after [Journal.Close].
	ErrClosed = errors.New("journal: closed")

	// ErrTaken is returned by [Journal.Take] the second time: a journal is for
	// one holder.
	ErrTaken = errors.New("journal: another holder of this program has it")

	// ErrFailed is returned by [Journal.Keep] once it or [Journal.Discard] has
	// failed. It comes together with the failure.
	ErrFailed = errors.New("journal: failed, and is of no more use to this process")

	// ErrReplaced is returned when the folder's files are no longer those that
	// were opened: somebody removed, moved or restored them while in use, or has
	// taken the page. It is final: the page counts as somebody else's.
	ErrReplaced = errors.New("journal: moved, removed or replaced while in use")

	// ErrNetwork is returned by [Open] when the folder is on a network file system,
	// or on one that might be: its lock may keep out this host's processes alone.
	ErrNetwork = errors.New("journal: on a network file system")

	// ErrUnsupported is returned by [Open] where the operating system lacks what
	// the journal needs, and by [Journal.Keep] where the file system does.
	ErrUnsupported = errors.New("journal: not supported here")
)

// InUseError is returned by [Open] when another process, or this one, has the
// journal open.
type InUseError struct {
	Path string // the journal's folder
	// Owner is what the owner wrote down of itself: "pid 7". Empty if it has not
	// yet.
	Owner string
}

// Error names the folder and the owner.
func (e *InUseError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another process"
	}
	return fmt.Sprintf("journal: %s: in use by %s", e.Path, owner)
}

// RefusedError is returned by [Journal.Take] when what an earlier process kept
// can't be used. It is useless from then on.
type RefusedError struct {
	Path   string // of the journal's folder
	Reason string
}

// Error says what was wrong.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("journal: %s: %s: %s", e.Path, fence.ErrJournalRefused, e.Reason)
}

// Unwrap returns [fence.ErrJournalRefused].
func (*RefusedError) Unwrap() error { return fence.ErrJournalRefused }
