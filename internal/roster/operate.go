package roster

import (
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

const (
	// tries is how often a write whose outcome is unknown is sent.
	tries = 3
	// pause is the wait between two of them.
	pause = 200 * time.Millisecond
)

// Release clears the holder of a worker id, as it was read, and nothing else.
// Until stays, so this is always safe: the holder, if it lives, finds out at its
// next extension, and whoever claims next begins above all that it may have
// stamped until then. It returns the worker id as it then is.
//
// An error that is [ErrNotHeld] is returned if it has no holder, [ErrUnusable]
// if it can't be read or is of another incarnation, a *[ConflictError] if it
// changed since it was read, and the store's own error if the outcome is unknown.
func (r *Roster) Release(ctx context.Context, w Worker) (Worker, error) {
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	if w.Register.Holder == "" {
		return Worker{}, fmt.Errorf("%w: worker %d is %s", ErrNotHeld, w.Number, w)
	}
	register := w.Register
	register.Holder = ""
	return r.write(ctx, w, register)
}

// Quarantine sets the mark that keeps a worker id from being claimed, or clears
// it, and changes nothing else. A running holder is ended by it as by
// [Roster.Release]. A worker id without a register gets one, with a term in which
// nothing can have been stamped. If the mark is as wanted already, nothing is
// written.
//
// The errors are those of Release, but for ErrNotHeld.
func (r *Roster) Quarantine(ctx context.Context, w Worker, mark bool) (Worker, error) {
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	if w.Register.Quarantined == mark {
		return w, nil
	}
	register := w.Register
	if !w.Exists {
		// Terms count from 1, and the record has no way to say "none yet". The next
		// claim makes the second; its floor is its claimant's now, as it would be.
		register = r.blank()
	}
	register.Quarantined = mark
	return r.write(ctx, w, register)
}

// Floored reports whether nobody will ever again stamp a tick below floor with
// the worker id, as it was read.
//
// Until at or above floor is not enough while there is a holder: its release may
// lower until, to its term's floor at least. So the term must have begun there.
// What is of another incarnation is floored too: nobody can claim it. What can't
// be read is not, since a newer program may read it, or this one once it is
// repaired.
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

// Raise makes a worker id [Worker.Floored], and writes nothing if it is. It is a
// claim and a release in one write, of a term in which nothing is stamped: the
// term is counted up, the holder cleared, and floor and until are set to floor, or
// to until where that was above it already. The operator's mark stays. A running
// holder is ended by it as by [Roster.Release].
//
// A *[snowfence.RangeError] is returned for a floor that is no tick of the layout;
// the other errors are those of Release, but for ErrNotHeld.
func (r *Roster) Raise(ctx context.Context, w Worker, floor snowfence.Tick) (Worker, error) {
	if limit := r.layout.HorizonTick(); floor < 0 || floor >= limit {
		return Worker{}, &snowfence.RangeError{Field: "floor", Value: int64(floor), Limit: int64(limit - 1)}
	}
	if w.Floored(floor) {
		return w, nil
	}
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	register := r.blank()
	register.Term = w.Register.Term + 1
	register.Floor = max(floor, w.Register.Until)
	register.Until = register.Floor
	register.Quarantined = w.Register.Quarantined
	return r.write(ctx, w, register)
}

// Confirm writes a register again as it is, under a new mark of the write. On a
// lossy store that tells that an earlier write of it was not lost: once this one
// is acknowledged, and was sent at least the store's loss after the earlier one
// was acknowledged, the earlier one stays. It must have no holder.
//
// The errors are those of Release, but for ErrNotHeld.
func (r *Roster) Confirm(ctx context.Context, w Worker) (Worker, error) {
	if err := w.usable(); err != nil {
		return Worker{}, err
	}
	if w.Register.Holder != "" || !w.Exists {
		return Worker{}, fmt.Errorf("%w: worker %d is %s: only a released one is confirmed", ErrUnusable, w.Number, w)
	}
	return r.write(ctx, w, w.Register)
}

// usable returns an error unless the register is one that may be written to.
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

// write swaps a register under the version that was read, and finds out what
// came of it.
func (r *Roster) write(ctx context.Context, w Worker, register stored.Register) (Worker, error) {
	mark, err := random(r.config.Rand, 8)
	if err != nil {
		return Worker{}, err
	}
	// The clock is the reference's. Nobody has judged this host's, as a holder's is
	// when it claims; and claimants compare theirs with it when they see a register
	// change, and Losable tells by it how old the write is.
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

// settle sends a write until it is known what became of it, by [lease.Write.Settle].
func (r *Roster) settle(ctx context.Context, w Worker, write lease.Write) (Worker, error) {
	unsettled := func(unsure error) error {
		return fmt.Errorf("write the register of worker %d: the outcome is unknown: %w", w.Number, unsure)
	}
	var unsure error
	for try := range tries {
		if try > 0 {
			if err := r.Wait(ctx, pause); err != nil {
				return Worker{}, unsettled(unsure)
			}
		}
		reply := r.ask(ctx, lease.Swap{Key: write.Key, Prev: write.Guard, Value: write.Value})
		if reply.Err != nil {
			unsure = reply.Err
		}
		conflict := reply.Outcome == lease.Conflict
		if write.Settle(reply) == lease.Doubtful {
			reply = r.ask(ctx, lease.Get{Key: write.Key})
		}
		switch write.Settle(reply) {
		case lease.Landed:
			return r.decode(store.Entry{Key: write.Key, Value: write.Value, Version: reply.Landed()}), nil
		case lease.Missed:
			now := r.absent(w.Number, write.Key)
			if reply.Outcome == lease.Found {
				now = r.decode(reply.Entry)
			}
			return Worker{}, &ConflictError{Now: now, Unsure: unsure}
		case lease.Doubtful:
			if conflict && unsure == nil {
				return Worker{}, fmt.Errorf("write the register of worker %d: it was written by somebody else, and nothing was changed; read it: %w", w.Number, reply.Err)
			}
		case lease.Unsent:
			if conflict && unsure == nil {
				unsure = store.ErrConflict // the read is late
			}
		}
	}
	return Worker{}, unsettled(unsure)
}

// Losable reports whether a lossy store may still lose the last write of a
// register, judged by its writer's clock with what that may be off. On a durable
// store it is false.
func (r *Roster) Losable(w Worker) bool {
	return w.Exists && w.State != Unreadable && stored.Young(w.Register.Clock, r.traits.Loss, r.Now())
}
