package stored

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// Standing says whether a worker id may be claimed, and why not.
type Standing uint8

const (
	// Free may be claimed: it never was, or its holder's ticks are over, or it
	// was released and its used ticks end no further than max-rollback ahead.
	Free Standing = iota + 1

	// Held has a holder that may stamp future ticks.
	Held

	// Ahead was released, but its used ticks reach further ahead of this clock
	// than max-rollback: one of the two clocks was wrong, or still is. It comes
	// free as time passes, and is never repaired downwards.
	Ahead

	// Quarantined was taken out of use by an operator. It is not claimed. A holder
	// notices at its next extension, gives the term up, and leaves the register as the
	// operator wrote it.
	Quarantined

	// Foreign is of another incarnation or another layout of the namespace.
	Foreign

	// Unreadable can't be decoded, or a newer program wrote it.
	Unreadable

	// UsedUp has no tick left before the layout's horizon.
	UsedUp
)

// String returns the standing's words in messages.
func (s Standing) String() string {
	switch s {
	case Free:
		return "free"
	case Held:
		return "held"
	case Ahead:
		return "released with ticks ahead of this clock"
	case Quarantined:
		return "quarantined by its operator"
	case Foreign:
		return "of another incarnation of the namespace"
	case Unreadable:
		return "unreadable to this program"
	case UsedUp:
		return "used up to the layout's horizon"
	default:
		return "unknown"
	}
}

// Judge returns the standing of a register for a claimant of the namespace, by the
// claimant's clock. It is the whole rule of who may claim. A late or wrong answer of the
// store can't turn it into a duplicate: the claim is guarded by the judged version, and its
// floor lies at or above that version's until.
func (n Namespace) Judge(r Register, layout snowfence.Layout, wall time.Time, maxRollback time.Duration) Standing {
	switch {
	case r.Incarnation != n.Incarnation || r.Layout != n.Layout:
		return Foreign
	case r.Quarantined:
		return Quarantined
	case r.Until >= layout.HorizonTick():
		return UsedUp
	case r.Holder != "" && layout.TickAt(wall) < r.Until:
		return Held
	case r.Holder == "" && layout.TimeOf(r.Until).Sub(wall) > maxRollback:
		return Ahead
	}
	return Free
}

// Occupant says who keeps a worker id from being claimed, and until when.
type Occupant struct {
	Worker   int64
	Standing Standing
	// Until is when the worker id is free again without another extension, by the clock of
	// this machine.
	Until   time.Time
	Process Process
}

// String reads "worker 5: held by host a, pid 7, until 2026-01-01T00:00:00Z".
func (o Occupant) String() string {
	switch o.Standing {
	case Held:
		return fmt.Sprintf("worker %d: held by %s until %s", o.Worker, o.Process, o.Until.Format(time.RFC3339Nano))
	case Ahead:
		return fmt.Sprintf("worker %d: released by %s, with its ticks used up to %s", o.Worker, o.Process, o.Until.Format(time.RFC3339Nano))
	default:
		return fmt.Sprintf("worker %d: %s", o.Worker, o.Standing)
	}
}
