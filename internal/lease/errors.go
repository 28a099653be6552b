package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

var (
	// ErrLost is the cause of a term's end when its register was taken over,
	// quarantined or changed by anybody else.
	ErrLost = snowfence.NewError(snowfence.ClassLease, "snowfence: the worker id was lost")

	// ErrClosed is the cause of a term's end when its holder gave it back.
	ErrClosed = errors.New("snowfence: the holder is closed")

	// ErrNoWorker is wrapped by the errors that a claim ends with when every
	// worker id it may use is taken: [*ExhaustedError] and [*HeldError].
	ErrNoWorker = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: no worker id is free")

	// ErrPinnedTwice is wrapped by a [*HeldError] when this very program holds the worker
	// id: at once if the other holder is seen to write, otherwise at the end of the claim-wait.
	ErrPinnedTwice = errors.New("snowfence: this program holds the pinned worker id already")

	// ErrWindowEnded is why a journal's term is not resumed whose ticks have passed, as after each longer stop.
	ErrWindowEnded = errors.New("its window ended")

	// ErrJournal is the cause of a term's end when its journal's page could neither be
	// written nor removed.
	ErrJournal = errors.New("snowfence: the journal failed")
)

// ClockError is returned when a claim is refused because of this machine's
// clock, before anything was written.
type ClockError struct {
	// Offset is how far this clock is ahead of the reference; negative when it
	// is behind.
	Offset time.Duration
	// Reference is what the clock was compared with.
	Reference string
	// Ticks is true if the reference is the ticks of a worker id. This clock may be right then, as below the
	// floor of a take-over, and waiting helps.
	Ticks bool
}

// Error has the clock's offset, and the reference.
func (e *ClockError) Error() string {
	word, by := "ahead of", e.Offset
	if by < 0 {
		word, by = "behind", -by
	}
	remedy := "set it right"
	if e.Ticks {
		remedy = "wait for so long, or set it right if it is wrong"
	}
	return fmt.Sprintf("snowfence: this machine's clock is %s %s %s: %s", by.Round(time.Millisecond), word, e.Reference, remedy)
}

// Class is [snowfence.ClassClock].
func (e *ClockError) Class() snowfence.Class { return snowfence.ClassClock }

// TimeError is returned when the layout has no tick for what this machine's
// clock shows.
type TimeError struct {
	// Reason is [snowfence.ErrBeforeEpoch] or [snowfence.ErrPastHorizon].
	Reason error
	Layout snowfence.Layout
	Now    time.Time // by this machine's clock
}

// Error names the layout, its bound and the present time.
func (e *TimeError) Error() string {
	bound, at := "epoch", e.Layout.Epoch
	if errors.Is(e.Reason, snowfence.ErrPastHorizon) {
		bound, at = "horizon", e.Layout.Horizon()
	}
	return fmt.Sprintf("%v: layout %s has its %s at %s, and it is %s now", e.Reason, e.Layout, bound,
		at.UTC().Format(time.RFC3339Nano), e.Now.UTC().Format(time.RFC3339Nano))
}

// Unwrap returns the reason.
func (e *TimeError) Unwrap() error { return e.Reason }

// CheckTime returns a *[TimeError] if the layout has no tick for that time.
func CheckTime(layout snowfence.Layout, wall time.Time) error {
	switch tick := layout.TickAt(wall); {
	case tick < 0:
		return &TimeError{Reason: snowfence.ErrBeforeEpoch, Layout: layout, Now: wall}
	case tick >= layout.HorizonTick():
		return &TimeError{Reason: snowfence.ErrPastHorizon, Layout: layout, Now: wall}
	}
	return nil
}

// HeldError is returned when a pinned worker id could not be claimed within
// the claim-wait, or never can be.
type HeldError struct {
	stored.Occupant
	// Reason explains it further, or is nil: [ErrPinnedTwice], or why its
	// register can't be read.
	Reason error
}

// Error names the worker id, the process that holds it, and until when.
func (e *HeldError) Error() string {
	if e.Reason != nil {
		return fmt.Sprintf("%v: %v: %v", ErrNoWorker, e.Occupant, e.Reason)
	}
	return fmt.Sprintf("%v: %v", ErrNoWorker, e.Occupant)
}

// Unwrap returns [ErrNoWorker] and the reason.
func (e *HeldError) Unwrap() []error { return withNoWorker(e.Reason) }

// ExhaustedError is returned when no worker id of the pool could be claimed
// within the claim-wait.
type ExhaustedError struct {
	Workers int64 // how many the pool has
	// How many of them stood how when the pool was last read through. Together
	// they may be fewer than Workers, where others were claimed meanwhile.
	Held, Ahead, Quarantined, Unusable int64
	// First are the occupants that come free first, at most [occupantsShown].
	First []stored.Occupant
	// Damage is the read error of one worker id that can't be used; nil if there is none.
	Damage error
}

// Error shows how many are held, by which processes, until when, and what to do.
func (e *ExhaustedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: of %d, %d are held, %d were released with ticks ahead of this clock, %d are quarantined, %d can't be used",
		ErrNoWorker, e.Workers, e.Held, e.Ahead, e.Quarantined, e.Unusable)
	lead := "; the first to come free: "
	for _, o := range e.First {
		b.WriteString(lead + o.String())
		lead = "; "
	}
	if e.Damage != nil {
		fmt.Fprintf(&b, "; one that can't be read: %v", e.Damage)
	}
	b.WriteString("; raise claim-wait, release the worker id of a process that is gone, or use a layout with more worker bits")
	return b.String()
}

// Unwrap returns [ErrNoWorker] and the damage.
func (e *ExhaustedError) Unwrap() []error { return withNoWorker(e.Damage) }

func withNoWorker(also error) []error {
	if also == nil {
		return []error{ErrNoWorker}
	}
	return []error{ErrNoWorker, also}
}
