package stored

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// Standing is how a worker id stands to one who would claim it. All but [Free] keep
// it from being claimed.
type Standing string

const (
	// Free may be claimed: it never was, or its holder's ticks are over, or it
	// was released and its used ticks end no further than max-rollback ahead.
	Free Standing = "free"

	// Held has a holder that may stamp ticks which are still to come. It may have
	// crashed.
	Held Standing = "held"

	// Ahead was released, but its used ticks reach further ahead of this clock
	// than max-rollback: one of the two clocks was wrong, or still is. It comes
	// free as time passes, and is never repaired downwards.
	Ahead Standing = "resting"

	// Quarantined was taken out of use by an operator. It is not claimed; its
	// holder, if it has one, notices at its next extension, gives the term up
	// and leaves the register as the operator wrote it.
	Quarantined Standing = "quarantined"

	// Foreign is of another incarnation or another layout of the namespace.
	Foreign Standing = "foreign"

	// Unreadable can't be decoded, can't be read from the store, or a newer program
	// wrote it.
	Unreadable Standing = "unreadable"

	// UsedUp has no tick left before the layout's horizon.
	UsedUp Standing = "used-up"
)

// Judge decides how a register stands to a claimant of the namespace whose clock
// shows wall. It is the whole rule of who may claim. A store that answers late
// or wrongly can't turn it into a duplicate, because the claim is a swap
// guarded by the version that was judged, and its floor lies at or above that
// version's until.
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

// Occupant names who keeps a worker id from being claimed, and until when.
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
	how := string(o.Standing)
	switch o.Standing {
	case Held:
		how = fmt.Sprintf("held by %s until %s", o.Process, o.Until.Format(time.RFC3339Nano))
	case Ahead:
		how = fmt.Sprintf("released by %s, with its ticks used up to %s", o.Process, o.Until.Format(time.RFC3339Nano))
	case Quarantined:
		how = "quarantined by its operator"
	case Foreign:
		how = "of another incarnation or layout of the namespace"
	case Unreadable:
		how = "unreadable to this program"
	case UsedUp:
		how = "used up to the layout's horizon"
	}
	return fmt.Sprintf("worker %d: %s", o.Worker, how)
}
