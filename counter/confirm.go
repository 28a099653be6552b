package counter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// waitingKept is how many writes of a counter may wait to be confirmed at a time, on a lossy store.
// The record has a place for each, and all of them fit into it.
const waitingKept = 100

// overdue is how long after it was sent a write may lose its place, besides twice the loss. Its
// process has ended, or is very late.
const overdue = 10 * time.Second

// confirm waits until the store can't lose a write any more, and shows that it has not lost
// it: by another swap, sent at least loss after the write was acknowledged, and guarded by a
// record that has the write in its history. When that swap takes effect, the write is there
// and older than loss.
//
// The record's Waiting is the part of its history that is not confirmed yet. It names only effects that
// are in the history:
//
//   - An effect is named by the writer after it alone. That writer's swap is guarded by the version that
//     the effect made, so the effect is the one right before it in the history.
//   - Every other name is copied from the record that guards the swap. By induction it names an
//     effect in that record's history, which is part of the history of the swap.
//   - A failover that takes an effect away takes all records away that were built on it.
//
// Names may go, which proves nothing: a write without its name is not confirmed, and no caller gets its
// numbers. So a process takes its name out when it confirms, and one that is overdue may lose it.
// Safety does not depend on these clocks.
//
// A name is made of the version and of the write's random mark. A version names one effect of one
// write. The very bytes may take effect a second time, when a late copy arrives after a failover took
// the first effect away. That one is younger, and has another version, unless a store draws its versions
// before it sends; so package store rules such copies out. Two effects have the same name by chance
// once in 2^72.
func (r *register) confirm(ctx context.Context, w written) error {
	if err := sleep(ctx, r.Clock, max(0, w.acked+r.loss-r.Clock.Monotonic())); err != nil {
		return err
	}
	_, err := r.write(ctx, func(c *stored.Counter) error {
		i := slices.IndexFunc(c.Waiting, func(other stored.Wait) bool { return other.Effect == w.effect })
		if i < 0 {
			return fmt.Errorf("counter %s: %w", r.Name, errForgotten)
		}
		c.Waiting = slices.Delete(c.Waiting, i, i+1) // if the outcome stays unknown, the numbers are a gap
		c.Unsettled = false                          // the record was begun before w
		return nil
	})
	return err
}

// waiting returns the writes that wait to be confirmed in the history of the record as it was read.
func (r *register) waiting() []stored.Wait {
	list := slices.Clone(r.record.Waiting)
	if r.record.Waits {
		list = append(list, r.record.Effect(r.version))
	}
	return list
}

// enlist makes a write wait to be confirmed, if the store is lossy. If no place is free, or can be
// taken from a write that is overdue, the write must not be sent: it could not be confirmed, and its
// numbers would be lost. Only a full list is looked at by the clock. So a wrong clock costs other
// processes nothing until then.
func (r *register) enlist(c *stored.Counter) error {
	if c.Waits = r.loss > 0; !c.Waits || len(c.Waiting) < waitingKept {
		return nil
	}
	now, late := uint32(r.Clock.Wall().Unix()), 2*r.loss+overdue
	i := slices.IndexFunc(c.Waiting, func(w stored.Wait) bool {
		return (time.Duration(int32(now-w.Sent)) * time.Second).Abs() > late // of a clock far ahead, too
	})
	if i < 0 {
		return fmt.Errorf("counter %s: %d reservations wait to be confirmed, which takes %s each: at most %d can at a time, so this one waits for its turn: run fewer processes, or longer steps",
			r.Name, len(c.Waiting), r.loss, waitingKept)
	}
	c.Waiting = slices.Delete(c.Waiting, i, i+1)
	return nil
}
