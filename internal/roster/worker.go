package roster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// State is how a worker id stands, by the reference's clock.
type State = stored.Standing

// The states; see [stored.Standing].
const (
	Free        = stored.Free
	Held        = stored.Held
	Resting     = stored.Ahead
	Quarantined = stored.Quarantined
	Foreign     = stored.Foreign
	Unreadable  = stored.Unreadable
	UsedUp      = stored.UsedUp
)

// States returns all states, in the order in which they are shown.
func States() []State {
	return []State{Held, Resting, Quarantined, Foreign, Unreadable, UsedUp, Free}
}

// Stray is the number of a [Worker] whose key is no worker id's.
const Stray int64 = -1

// Worker is one worker id as it was read.
type Worker struct {
	Number int64  // the worker number, or [Stray]
	Key    string // the register's key in the store
	Exists bool   // false for one without a register: never claimed, nor written by an operator
	State  State

	Register     stored.Register // zero if there is none or it is unreadable
	Damage       error           // why it is unreadable
	Read         time.Time       // when it was read, by the reference's clock
	Floor, Until time.Time       // the register's bounds as times; zero without one

	version store.Version
}

// Age is the reference's time of reading minus the writer's time of its last write. The
// package's comment explains it.
func (w Worker) Age() time.Duration { return w.Read.Sub(w.Register.Clock) }

// Silent reports whether a held worker id's register is older than two thirds of its
// window. Then its holder missed the time to extend: it has crashed, is paused or cut off,
// or its clock is behind.
func (w Worker) Silent() bool { return w.State == Held && w.Age() > w.Register.Window*2/3 }

// String reads "held by pid 7 on host a until 2026-01-01T00:00:00Z".
func (w Worker) String() string {
	at := w.Until.Format(time.RFC3339Nano)
	switch w.State {
	case Free:
		if !w.Exists {
			return "free, and was never claimed"
		}
	case Held:
		return fmt.Sprintf("held by %s until %s", w.Register.Process, at)
	case Resting:
		return fmt.Sprintf("released, with its ticks used up to %s", at)
	case Unreadable:
		return fmt.Sprintf("unreadable: %v", w.Damage)
	case Foreign:
		return "of another incarnation or layout of the namespace"
	case UsedUp:
		return "used up to the layout's horizon"
	}
	return string(w.State)
}

// Worker reads the register of a worker number. A *[snowfence.RangeError] is returned for a
// number outside the layout, and the store's own error when it does not answer. A register
// that the store can't read is an Unreadable worker.
func (r *Roster) Worker(ctx context.Context, number int64) (Worker, error) {
	if _, _, err := r.layout.SplitWorker(number); err != nil {
		return Worker{}, err
	}
	key := stored.RegisterKey(r.config.Namespace, r.layout, number)
	entry, err := r.get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return r.absent(number, key), nil
	case errors.Is(err, store.ErrDamaged):
		return r.damaged(key, err), nil
	case err != nil:
		return Worker{}, fmt.Errorf("read the register of worker %d: %w", number, err)
	}
	return r.decode(entry), nil
}

// absent is a worker without a register.
func (r *Roster) absent(number int64, key string) Worker {
	return Worker{Number: number, Key: key, State: Free, Read: r.Now()}
}

// decode is the worker of a register.
func (r *Roster) decode(e store.Entry) Worker {
	w := r.damaged(e.Key, nil)
	w.version = e.Version
	known, err := r.config.Known[w.Number], error(nil)
	register := known.Register
	if !known.Exists || known.version != e.Version || known.Damage != nil {
		register, err = stored.DecodeRegister(e.Value)
	}
	w.Damage = err
	switch {
	case err != nil:
		return w
	case w.Number == Stray:
		w.Damage = errStray
	default:
		w.State = r.record.Judge(register, r.layout, w.Read, r.config.MaxRollback)
	}
	w.Register = register
	w.Floor, w.Until = r.layout.TimeOf(register.Floor), r.layout.TimeOf(register.Until)
	return w
}

// errStray is the damage of a register under a key that no claim reads.
var errStray = errors.New("its key is no worker id of the layout")

// damaged is the worker of a register that can't be read.
func (r *Roster) damaged(key string, err error) Worker {
	number, ok := stored.WorkerOf(r.config.Namespace, r.layout, key)
	if !ok {
		number = Stray
	}
	return Worker{Number: number, Key: key, Exists: true, State: Unreadable, Damage: err, Read: r.Now()}
}

// Refusal returns the error of a claim of this pinned worker id, made now with the
// reference's clock and default durations. It is nil if the claim would succeed, a
// *[lease.ClockError] if its ticks are too far ahead to wait for, and else a
// *[lease.HeldError], perhaps after waiting.
func (r *Roster) Refusal(w Worker) error {
	if w.State == Free {
		return nil
	}
	ahead := w.Until.Sub(w.Read)
	if w.State == Resting && ahead > lease.DefaultPinnedWindow+2*r.config.MaxRollback {
		return &lease.ClockError{Offset: -ahead, Reference: fmt.Sprintf("the ticks of worker %d, whose last write was by %s", w.Number, w.Register.Process), Ticks: true}
	}
	return &lease.HeldError{
		Occupant: stored.Occupant{Worker: w.Number, Standing: w.State, Until: w.Until, Process: w.Register.Process},
		Reason:   w.Damage,
	}
}
