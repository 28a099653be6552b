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

// State is the state of a worker id, by the reference's clock.
type State string

// The states. All but Free keep a worker id from being claimed.
const (
	// Free may be claimed now.
	Free State = "free"
	// Held has a holder with future ticks. It may have crashed: see [Worker.Silent].
	Held State = "held"
	// Resting was released, but its used ticks reach further ahead of the clock
	// than max-rollback. It comes free by itself.
	Resting State = "resting"
	// Quarantined is kept back by an operator's mark.
	Quarantined State = "quarantined"
	// Foreign is of another incarnation or layout of the namespace.
	Foreign State = "foreign"
	// Unreadable can't be decoded, can't be read from the store, or was written
	// by a newer program.
	Unreadable State = "unreadable"
	// UsedUp has no tick left before the layout's horizon.
	UsedUp State = "used-up"
)

// States returns all states, in the order in which they are shown.
func States() []State {
	return []State{Held, Resting, Quarantined, Foreign, Unreadable, UsedUp, Free}
}

// stateOf is the state of a standing.
func stateOf(s stored.Standing) State {
	switch s {
	case stored.Free:
		return Free
	case stored.Held:
		return Held
	case stored.Ahead:
		return Resting
	case stored.Quarantined:
		return Quarantined
	case stored.Foreign:
		return Foreign
	case stored.UsedUp:
		return UsedUp
	default:
		return Unreadable
	}
}

// Stray is the number of a [Worker] whose key is no worker id's.
const Stray int64 = -1

// Worker is one worker id as it was read.
type Worker struct {
	// Number is the worker number, or [Stray].
	Number int64
	// Key is the register's key in the store.
	Key string
	// Exists is false if the worker id has no register: it was never claimed, nor written
	// by an operator.
	Exists bool
	State  State
	// Register is the register; zero if there is none or it is unreadable.
	Register stored.Register
	// Damage is why it is unreadable.
	Damage error
	// Read is when it was read, by the reference's clock.
	Read time.Time
	// Floor and Until are the register's bounds as times; zero without one.
	Floor, Until time.Time

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
		return "free"
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
	default:
		return string(w.State)
	}
}

// Worker reads the register of a worker number. A *[snowfence.RangeError] is returned for a
// number outside the layout, and the store's own error when it does not answer. A register
// that the store can't read is an Unreadable worker.
func (r *Roster) Worker(ctx context.Context, number int64) (Worker, error) {
	if _, _, err := r.layout.SplitWorker(number); err != nil {
		return Worker{}, err
	}
	key := stored.RegisterKey(r.config.Namespace, r.layout, number)
	entry, err := limited(ctx, r.config, func(ctx context.Context) (store.Entry, error) {
		return r.config.Store.Get(ctx, key)
	})
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
	w := Worker{Number: Stray, Key: e.Key, Exists: true, State: Unreadable, Read: r.Now(), version: e.Version}
	number, ok := stored.WorkerOf(r.config.Namespace, r.layout, e.Key)
	if ok {
		w.Number = number
	}
	register, err := stored.DecodeRegister(e.Value)
	switch {
	case err != nil:
		w.Damage = err
		return w
	case !ok:
		w.Damage = errStray
	default:
		w.State = stateOf(r.record.Judge(register, r.layout, w.Read, r.config.MaxRollback))
	}
	w.Register = register
	w.Floor, w.Until = r.layout.TimeOf(register.Floor), r.layout.TimeOf(register.Until)
	return w
}

// errStray is the damage of a register under a key that no claim reads.
var errStray = errors.New("its key is no worker id of the layout")

// damaged is the worker of a register that the store can't read.
func (r *Roster) damaged(key string, err error) Worker {
	w := Worker{Number: Stray, Key: key, Exists: true, State: Unreadable, Damage: err, Read: r.Now()}
	if number, ok := stored.WorkerOf(r.config.Namespace, r.layout, key); ok {
		w.Number = number
	}
	return w
}

// Refusal returns the error of a claim of this pinned worker id, made now with the
// reference's clock and default durations. It is nil if the claim would succeed, a
// *[lease.ClockError] if its ticks are too far ahead to wait for, and else a
// *[lease.HeldError], perhaps after waiting.
func (r *Roster) Refusal(w Worker) error {
	if w.State == Free {
		return nil
	}
	standing := map[State]stored.Standing{
		Held: stored.Held, Resting: stored.Ahead, Quarantined: stored.Quarantined, Foreign: stored.Foreign, UsedUp: stored.UsedUp,
	}[w.State]
	if standing == 0 {
		standing = stored.Unreadable
	}
	ahead := w.Until.Sub(w.Read)
	if w.State == Resting && ahead > lease.DefaultPinnedWindow+2*r.config.MaxRollback {
		return &lease.ClockError{Offset: -ahead, Reference: fmt.Sprintf("the ticks that worker %d has used, under %s", w.Number, w.Register.Process)}
	}
	return &lease.HeldError{
		Occupant: stored.Occupant{Worker: w.Number, Standing: standing, Until: w.Until, Process: w.Register.Process},
		Reason:   w.Damage,
	}
}
