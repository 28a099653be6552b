package roster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// A write whose outcome is unknown takes so many calls, three to send it and as many to read the register.
// The first read follows at once, and a pause is before each later call.
const (
	settleCalls = 6
	pause       = 200 * time.Millisecond
)

// Release clears the holder of a worker id, as it was read, and nothing else. Until stays,
// so this is always safe. A living holder notices at its next extension, and the next claim
// begins above every tick that it may have stamped until then. With one worker id, whose ids are in
// strict order, the next claim waits for the holder's window.
//
// Like all verbs it returns the worker id as it is after the write, [ErrUnusable] if that
// can't be read or is of another incarnation, a *[ConflictError] if it changed since it was
// read, and the store's own error if the outcome is unknown. [ErrNotHeld] is returned if it
// has no holder.
//
// A lost release is harmless: the worker id is held for longer. So it is not confirmed.
func (d *Desk) Release(ctx context.Context, w Worker) (Worker, error) {
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	if w.Register.Holder == "" {
		return Worker{}, fmt.Errorf("%w: worker %d is %s", ErrNotHeld, w.Number, w)
	}
	register := w.Register
	register.Holder = ""
	return d.r.write(ctx, w, register)
}

// Quarantine sets or clears the mark that keeps a worker id from being claimed, and changes
// nothing else. It ends a running holder as [Desk.Release] does. A worker id without a
// register gets one, with a term in which nothing can have been stamped. If the mark is as
// wanted already, nothing is written.
//
// A mark that is set is confirmed. If the store loses that a mark was cleared, the worker id only stays
// out of use for longer.
func (d *Desk) Quarantine(ctx context.Context, w Worker, mark bool) (Worker, error) {
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	after, err := d.quarantine(ctx, w, mark)
	if err == nil && mark {
		d.keep(w, after, func(w Worker) bool { return w.Register.Quarantined })
	}
	return after, err
}

func (d *Desk) quarantine(ctx context.Context, w Worker, mark bool) (Worker, error) {
	if w.Register.Quarantined == mark {
		return w, nil
	}
	register := w.Register
	if !w.Exists {
		// Terms count from 1, and the record has no value for "none yet". The next
		// claim makes the second; its floor is its claimant's now, as it would be.
		register = d.r.blank()
	}
	register.Quarantined = mark
	return d.r.write(ctx, w, register)
}

// Floored reports whether no tick below floor will ever be stamped again with the worker
// id, as it was read.
//
// Until at or above floor is not enough while there is a holder: its release may lower
// until, to its term's floor at least. So the term must have begun there. A register of
// another incarnation is floored too, because it can't be claimed. An unreadable one is
// not: a newer program may read it, or this one after a repair.
func (w Worker) Floored(floor snowfence.Tick) bool {
	switch {
	case w.State == Unreadable:
		return false
	case w.State == Foreign:
		return true
	case !w.Exists || w.Register.Until < floor:
		return false
	}
	return w.Register.Holder == "" || w.Register.Floor >= floor
}

// Raise makes a worker id [Worker.Floored], and writes nothing if it is already. It is a
// claim and a release in one write, of a term in which nothing is stamped. It counts the
// term up, clears the holder, and sets floor and until to floor, or to the present until if
// that is greater. The operator's mark stays. It ends a running holder as [Desk.Release]
// does. The floor is confirmed.
//
// A *[snowfence.RangeError] is returned for a floor that is no tick of the layout.
func (d *Desk) Raise(ctx context.Context, w Worker, floor snowfence.Tick) (Worker, error) {
	if limit := d.r.layout.HorizonTick(); floor < 0 || floor >= limit {
		return Worker{}, &snowfence.RangeError{Field: "floor", Value: int64(floor), Limit: int64(limit - 1)}
	}
	after, err := w, error(nil)
	if !w.Floored(floor) {
		after, err = d.raise(ctx, w, floor)
	}
	if err == nil {
		d.keep(w, after, func(w Worker) bool { return w.Floored(floor) })
	}
	return after, err
}

func (d *Desk) raise(ctx context.Context, w Worker, floor snowfence.Tick) (Worker, error) {
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	register := d.r.blank()
	register.Term = w.Register.Term + 1
	register.Floor = max(floor, w.Register.Until)
	register.Until = register.Floor
	register.Quarantined = w.Register.Quarantined
	register.Window = w.Register.Window // its holder may issue for so long
	return d.r.write(ctx, w, register)
}

// usable returns an error unless the register may be written.
func (w Worker) usable() error {
	if w.Number == Stray || w.State == Unreadable || w.State == Foreign {
		return fmt.Errorf("%w: worker %d is %s", ErrUnusable, w.Number, w)
	}
	return nil
}

// blank is a register of the first term, in which no tick can be stamped.
func (r *Roster) blank() stored.Register {
	return stored.Register{Layout: r.record.Layout, Incarnation: r.record.Incarnation, Term: 1, Process: r.config.Process}
}

// write swaps a register, guarded by the version that was read, and settles the outcome.
func (r *Roster) write(ctx context.Context, w Worker, register stored.Register) (Worker, error) {
	mark, err := random(r.config.Rand, 8)
	if err != nil {
		return Worker{}, err
	}
	// The reference's clock, since this host's has not been judged, as a holder's is by its
	// claim. Claimants compare their clocks with it, and Losable computes the write's age.
	register.Write, register.Clock = mark, r.Now()
	value, err := register.Encode()
	if err != nil {
		return Worker{}, fmt.Errorf("write the register of worker %d: %w", w.Number, err)
	}
	if r.dry {
		return r.decode(store.Entry{Key: w.Key, Value: value, Version: w.version}), nil
	}
	return r.settle(ctx, w, lease.Write{Key: w.Key, Guard: w.version, Value: value})
}

// settle sends a write until its outcome is known, by [drive.Settle].
func (r *Roster) settle(ctx context.Context, w Worker, write lease.Write) (Worker, error) {
	var unsure error // of the last swap that failed: it may have taken effect
	calls := 0
	outlook, reply := drive.Settle(write,
		func(c lease.Call) lease.Reply {
			reply := r.ask(ctx, c)
			if c.Verb == lease.Swap {
				unsure = cmp.Or(reply.Err, unsure)
			}
			return reply
		},
		func(lease.Outlook, lease.Reply) error {
			switch calls++; calls {
			case 1:
				return nil
			case settleCalls:
				return errUndecided
			}
			return Patience{}.Wait(ctx, r.config.Clock, pause)
		})
	switch outlook {
	case lease.Landed:
		return r.decode(store.Entry{Key: write.Key, Value: write.Value, Version: reply.Landed()}), nil
	case lease.Missed:
		now := r.absent(w.Number, write.Key)
		if reply.Outcome == lease.Found {
			now = r.decode(reply.Entry)
		}
		return Worker{}, &ConflictError{Now: now, Unsure: unsure}
	}
	return Worker{}, fmt.Errorf("write the register of worker %d: the outcome is unknown: %w", w.Number, cmp.Or(unsure, reply.Err, errUndecided))
}

// Losable reports whether a lossy store may still lose the last write of a register, by its
// writer's clock and its tolerance. On a durable store it is false.
func (r *Roster) Losable(w Worker) bool {
	return w.Exists && w.State != Unreadable && stored.Young(w.Register.Clock, r.traits.Loss, r.Now())
}
