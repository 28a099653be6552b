package counters

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// errNothing is an operator's who finds no counter.
var errNothing = errors.New("there is nothing to set yet")

// name is the counter's.
const name = "drawn"

// bounds is the operator's settings when a process began: no number of the process lies below.
type bounds struct {
	least map[string]int64 // by date; "" if the counter lacks it
	past  int              // restores until then
}

// wereSet returns the bounds of a process that begins now.
func (w *world) wereSet() bounds {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bounds{maps.Clone(w.least), w.past}
}

// above checks that a number lies above the set one. It needs the lock.
func (w *world) above(set bounds, date string, number int64) {
	if least := set.least[date]; set.past == w.past && number < least {
		w.t.Errorf("seed %d (loss %s): a process that began after %q was set to %d gave %d", w.seed, w.loss, date, least, number)
	}
}

// restore puts the store back to a backup. Only the guard knows then which numbers are in use.
func (w *world) restore(backup memstore.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory.Restore(backup)
	clear(w.least)
	w.past++
	w.tally.Restores++
}

// operate is an operator, who sets the counter now and then: above the guard's mark if the guard
// has refused it, otherwise anywhere.
func (w *world) operate(rng *rand.Rand) {
	clock := &hostClock{Clock: snowfence.SystemClock()}
	for !w.over.Load() {
		pass(time.Duration(rng.IntN(6000)) * time.Millisecond)
		s := faultstore.New(w.memory.Client(), faultstore.Seeded(rng.Uint64(), w.rates), nil)
		began := w.wereSet()
		date, next, err := w.set(rng, clock, s)
		w.mu.Lock()
		if err == nil && began.past == w.past {
			w.least[date] = max(w.least[date], next)
		}
		w.mu.Unlock()
		w.count(func(t *tally) {
			if err == nil {
				t.Sets++
			} else {
				t.Unset++
			}
		})
		_ = s.Deliver(context.Background())
	}
}

func (w *world) set(rng *rand.Rand, clock *hostClock, s *faultstore.Store) (date string, next int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(10))*time.Second)
	defer cancel()
	info, err := counter.Show(ctx, s, "default", name)
	if err != nil || len(info.Lanes) == 0 {
		return "", 0, cmp.Or(err, errNothing)
	}
	lane := info.Lanes[rng.IntN(len(info.Lanes))]
	next = lane.Next + rng.Int64N(200)
	if w.marks != nil && rng.IntN(2) == 0 {
		guard, err := counter.OpenStoreGuard(ctx, w.marks.Client(), "default", name)
		if err != nil {
			return "", 0, err
		}
		mark, err := guard.Mark(ctx)
		if err != nil {
			return "", 0, err
		}
		next = max(next, mark+1)
	}
	raised, err := info.Raised(lane.Name, next)
	if err != nil {
		return "", 0, err
	}
	_, err = counter.Set(ctx, s, raised, counter.Operator{Clock: clock})
	if next == lane.Next {
		next = 0 // the counter was there already: a process that runs may still give numbers back
	}
	return lane.Name, next, err
}
