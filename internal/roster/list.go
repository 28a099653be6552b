package roster

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Workers lists the worker ids with a register, and the strays, in any order, each once. A
// worker id that was never claimed has no register. The list needs a few bits a register,
// so that a million fit. An error ends the sequence.
func (r *Roster) Workers(ctx context.Context) iter.Seq2[Worker, error] {
	return func(yield func(Worker, error) bool) {
		l := listing{r: r, yield: yield, seen: map[int64]uint64{}, strays: map[string]bool{}}
		l.under(ctx, stored.RegisterPrefix(r.config.Namespace), 0)
	}
}

// listing is one walk over the registers.
type listing struct {
	r       *Roster
	yield   func(Worker, error) bool
	seen    map[int64]uint64 // the worker numbers that were yielded, a bit each in words of 64
	strays  map[string]bool  // the keys that were
	damaged int              // how many registers the store could not read
}

// under lists the keys of a prefix, with that many digits of a worker number in it, and
// reports whether the walk goes on.
//
// A store's list ends at a register that it can't read. Then under lists again with each
// next digit. So it finds the registers behind the damage, walks only the way to the damage
// twice, and finds the key of the damaged register.
func (l *listing) under(ctx context.Context, prefix string, digits int) bool {
	err := l.list(ctx, prefix)
	switch {
	case errors.Is(err, errStopped):
		return false
	case err == nil:
		return true
	case !errors.Is(err, store.ErrDamaged):
		l.yield(Worker{}, fmt.Errorf("list registers: %w", err))
		return false
	case digits == len(stored.WorkerDigits(l.r.layout, 0)):
		return l.leaf(ctx, prefix, err)
	}
	found := l.damaged
	for digit := range 10 {
		if !l.under(ctx, prefix+string(rune('0'+digit)), digits+1) {
			return false
		}
	}
	// Or else it is not among those that a worker number can have.
	return l.damaged > found || l.hurt(l.r.damaged(prefix, err))
}

// leaf yields the register of a whole worker number, below which the list broke.
func (l *listing) leaf(ctx context.Context, key string, listed error) bool {
	entry, err := l.r.get(ctx, key)
	switch {
	case errors.Is(err, store.ErrDamaged):
		return l.hurt(l.r.damaged(key, err))
	case err != nil && !errors.Is(err, store.ErrNotFound):
		l.yield(Worker{}, fmt.Errorf("read %s: %w", key, err))
		return false
	case err == nil && !l.show(l.r.decode(entry)):
		return false
	}
	// A damaged register has a longer key.
	w := l.r.damaged(key, listed)
	w.Number = Stray
	return l.hurt(w)
}

// hurt yields a register that the store can't read.
func (l *listing) hurt(w Worker) bool {
	l.damaged++
	return l.show(w)
}

// errStopped means that the loop over the list has ended.
var errStopped = errors.New("stopped")

// list yields the registers under a prefix, as far as the store can read them. The wait for each
// register is bounded, but not the work on it.
func (l *listing) list(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	await := func() (answered func()) {
		waiting, end := context.WithTimeout(ctx, requestTimeout)
		stop := context.AfterFunc(waiting, func() { cancel(errTimeout) })
		return func() { stop(); end() }
	}
	answered := await()
	defer func() { answered() }()
	for entry, err := range l.r.config.Store.List(ctx, prefix) {
		answered()
		if err != nil {
			if errors.Is(context.Cause(ctx), errTimeout) {
				err = fmt.Errorf("%w: %w", errTimeout, err)
			}
			return err
		}
		if !l.show(l.r.decode(entry)) {
			return errStopped
		}
		answered = await()
	}
	return nil
}

// show yields a worker unless it was yielded before.
func (l *listing) show(w Worker) bool {
	if w.Number == Stray {
		if l.strays[w.Key] {
			return true
		}
		l.strays[w.Key] = true
		return l.yield(w, nil)
	}
	word, bit := w.Number/64, uint64(1)<<(w.Number%64)
	if l.seen[word]&bit != 0 {
		return true
	}
	l.seen[word] |= bit
	return l.yield(w, nil)
}

// Census counts worker ids by state.
type Census struct {
	Capacity  int64           // how many there are
	Counts    map[State]int64 // in each state; unclaimed ones are free
	Lent      int64           // the held ones that borrowers have
	Silent    int64           // the held ones of which [Worker.Silent] is true
	Registers int64           // all registers
	// Outside counts registers of no worker id of this store: strays, and worker ids of datacenters
	// outside the record. Only Registers counts them too.
	Outside int64
	// Youngest and Oldest are the held worker ids, silent ones left out, whose
	// [Worker.Age] is the least and the greatest: their clocks are apart by the
	// difference at most, give or take a third of a window. Both may be nil.
	Youngest, Oldest *Worker
	// Latest is the one with the greatest Until, of any state: a wait for all ids that can have been
	// issued waits for it. It is nil without a register.
	Latest *Worker
}

// Census returns a count of no registers.
func (r *Roster) Census() Census {
	return Census{Capacity: r.Capacity(), Counts: map[State]int64{Free: r.Capacity()}}
}

// Count adds a worker that was listed.
func (r *Roster) Count(c *Census, w Worker) {
	c.Registers++
	if w.Register.Term > 0 && (c.Latest == nil || w.Until.After(c.Latest.Until)) {
		c.Latest = &w
	}
	if w.Number == Stray || !r.Own(w.Number) {
		c.Outside++
		return
	}
	c.Counts[Free]--
	c.Counts[w.State]++
	if _, lent := w.Register.Process.Lent(); lent && w.State == Held {
		c.Lent++
	}
	switch {
	case w.State != Held:
	case w.Silent():
		c.Silent++
	default:
		if c.Youngest == nil || w.Age() < c.Youngest.Age() {
			c.Youngest = &w
		}
		if c.Oldest == nil || w.Age() > c.Oldest.Age() {
			c.Oldest = &w
		}
	}
}

// Taken returns how many worker ids can't be claimed now.
func (c Census) Taken() int64 { return c.Capacity - c.Counts[Free] }
