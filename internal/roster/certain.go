package roster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/lease/drive"
)

// Patience sets how a write on a lossy store becomes certain.
type Patience = drive.Patience

// UncertainError is returned for a write that a failover of the store may have taken back, or
// still may.
type UncertainError = drive.UncertainError

var (
	errTaken   = errors.New("the store lost the write, or somebody wrote the register since")
	errClaimed = errors.New("it was claimed before the write was certain, perhaps also by a process that the write did not bind")
	errBusy    = errors.New("other operators keep writing the register")
)

// Desk has the verbs that write registers. Each takes a worker id as it was read.
type Desk struct {
	r    *Roster
	kept []kept
}

// kept is a write that is to be confirmed: its worker id as it was written, or as it was found.
type kept struct {
	Worker
	at    time.Duration     // when it was acknowledged or read, on the monotonic clock
	still func(Worker) bool // whether a register still has what was written
}

// Operate calls do, whose verbs write registers, and makes certain that the store keeps them. On
// a durable store it returns at once. On a lossy store it waits until the store can't lose the
// writes any more, and confirms each by another write. If it can't, it returns an
// *[UncertainError], joined to the error of do. Only a desk can write, so that no verb can forget
// this.
func (r *Roster) Operate(ctx context.Context, p Patience, do func(*Desk) error) error {
	d := &Desk{r: r}
	err := do(d)
	if uncertain := d.confirm(ctx, p); err == nil {
		err = uncertain
	} else if uncertain != nil {
		err = errors.Join(err, uncertain)
	}
	return err
}

// keep notes that the write of a verb is to be confirmed. The verb may have found its change already there.
// Then it keeps the earlier write, if the store can lose it: its operator may have been
// interrupted.
func (d *Desk) keep(before, after Worker, still func(Worker) bool) {
	written := after.version != before.version
	if d.r.dry || d.r.traits.Loss == 0 || !written && !d.r.Losable(after) {
		return
	}
	d.kept = append(d.kept, kept{after, d.r.config.Clock.Monotonic(), still})
}

// tries is how often a register that others write to is read again, and a write confirmed anew.
const tries = 8

// confirm makes the writes certain, all of them by one wait. Registers that others have written over
// take another wait.
func (d *Desk) confirm(ctx context.Context, p Patience) error {
	for try := 0; len(d.kept) > 0; try++ {
		batch := d.kept
		d.kept = nil
		what := fmt.Sprintf("%d worker ids", len(batch))
		if len(batch) == 1 {
			what = fmt.Sprintf("worker %d", batch[0].Number)
		}
		due := batch[len(batch)-1].at + d.r.traits.Loss
		err := p.Confirm(ctx, d.r.config.Clock, what, due, func(ctx context.Context) error {
			if try == tries {
				return errBusy
			}
			if err := d.r.unchanged(ctx); err != nil { // or the registers are judged by a record that was lost
				return err
			}
			for _, k := range batch {
				if err := d.again(ctx, k); err != nil {
					return fmt.Errorf("confirm worker %d: %w", k.Number, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// again writes a register once more as it is, with a new mark of the write. If the version was
// still the one that was kept, this shows that the write is there and older than the loss. Any
// other version may have been written after the store had lost the write: a register has
// no history to show it. So the new write is kept in its place.
//
// A holder's claim is not written over, as that would end its term. A claim that was there when the
// verb looked, a loss ago, and is still there, is old enough. A later term proves nothing, though it keeps
// what was written: the store may have lost the write. Then another process, whose clock is behind, may
// have claimed before, and stamped below the floor. A release and a quarantine keep term and floor.
func (d *Desk) again(ctx context.Context, k kept) error {
	_, err := d.r.Insist(ctx, k.Number, func(w Worker) (Worker, error) {
		now, then := w.Register, k.Register
		claimed := now.Holder != "" && !now.Quarantined
		switch {
		case !k.still(w):
			return w, fmt.Errorf("%w: worker %d is %s", errTaken, k.Number, w)
		case now.Term != then.Term, now.Floor != then.Floor, claimed && now.Holder != then.Holder:
			return w, fmt.Errorf("%w: worker %d is %s", errClaimed, k.Number, w)
		case w.State == Foreign, claimed:
			return w, nil
		}
		after, err := d.r.write(ctx, w, w.Register)
		if err == nil && w.version != k.version {
			d.keep(w, after, k.still)
		}
		return after, err
	})
	return err
}

// Insist reads a register and does something to it, again after others wrote to it.
func (r *Roster) Insist(ctx context.Context, worker int64, do func(Worker) (Worker, error)) (Worker, error) {
	var err error
	for range tries {
		var w Worker
		if w, err = r.Worker(ctx, worker); err != nil {
			return w, err
		}
		if w, err = do(w); err == nil {
			return w, nil
		}
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			return w, err
		}
	}
	return Worker{}, err
}
