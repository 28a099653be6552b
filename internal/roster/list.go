package roster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Workers lists the worker ids with a register, and the strays, in any order, each once. A
// worker id that was never claimed has no register. The list needs a few bits a register,
// so that a million fit. An error ends the sequence.
func (r *Roster) Workers(ctx context.Context) iter.Seq2[Worker, error] {
	return func(yield func(Worker, error) bool) {
		l := listing{r: r, yield: yield}
		l.under(ctx, stored.RegisterPrefix(r.config.Namespace), 0)
	}
}

// listing is one walk over the registers.
type listing struct {
	r     *Roster
	yield func(Worker, error) bool
	seen  seen
	stray map[string]bool // yielded keys that are no worker id's
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
	}
	if digits == l.r.digits() {
		return l.leaf(ctx, prefix, err)
	}
	found := l.seen.damaged
	for digit := range 10 {
		if !l.under(ctx, prefix+string(rune('0'+digit)), digits+1) {
			return false
		}
	}
	if l.seen.damaged > found {
		return true
	}
	// Not among those that a worker number can have.
	l.seen.damaged++
	return l.yield(l.r.damaged(prefix, err), nil)
}

// leaf yields the register of a whole worker number, below which the list broke.
func (l *listing) leaf(ctx context.Context, key string, listed error) bool {
	entry, err := limited(ctx, l.r.config, func(ctx context.Context) (store.Entry, error) {
		return l.r.config.Store.Get(ctx, key)
	})
	switch {
	case err == nil:
		if !l.show(l.r.decode(entry)) {
			return false
		}
		fallthrough // what is damaged has a longer key
	case errors.Is(err, store.ErrNotFound):
		l.seen.damaged++
		w := l.r.damaged(key, listed)
		w.Number = Stray
		return l.yield(w, nil)
	case errors.Is(err, store.ErrDamaged):
		l.seen.damaged++
		return l.show(l.r.damaged(key, err))
	default:
		l.yield(Worker{}, fmt.Errorf("read %s: %w", key, err))
		return false
	}
}

// errStopped says that the loop over the list has ended.
var errStopped = errors.New("stopped")

// list yields the registers under a prefix, as far as the store can read them.
func (l *listing) list(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var progress atomic.Int64
	finished := make(chan struct{})
	defer close(finished)
	go watch(l.r.config, &progress, finished, cancel)
	for entry, err := range l.r.config.Store.List(ctx, prefix) {
		if err != nil {
			if errors.Is(context.Cause(ctx), errTimeout) {
				err = fmt.Errorf("%w: %w", errTimeout, err)
			}
			return err
		}
		progress.Add(1)
		if !l.show(l.r.decode(entry)) {
			return errStopped
		}
		progress.Add(1)
	}
	return nil
}

// watch cancels a list that does not move on. It looks once in a request timeout,
// so it takes up to two.
func watch(c Config, progress *atomic.Int64, finished <-chan struct{}, cancel context.CancelCauseFunc) {
	last := int64(0)
	for {
		expired, stop := c.Clock.After(c.RequestTimeout)
		select {
		case <-expired:
		case <-finished:
			stop()
			return
		}
		// An odd number means that the reader takes the time.
		now := progress.Load()
		if now == last && now%2 == 0 {
			cancel(errTimeout)
			return
		}
		last = now
	}
}

// show yields a worker unless it was yielded before.
func (l *listing) show(w Worker) bool {
	if w.Number == Stray {
		if l.stray[w.Key] {
			return true
		}
		if l.stray == nil {
			l.stray = map[string]bool{}
		}
		l.stray[w.Key] = true
		return l.yield(w, nil)
	}
	if !l.seen.add(w.Number) {
		return true
	}
	return l.yield(w, nil)
}

// digits is how many digits the key of a worker number has.
func (r *Roster) digits() int {
	n := 1
	for most := r.layout.Workers() - 1; most >= 10; most /= 10 {
		n++
	}
	return n
}

// Census counts worker ids by state.
type Census struct {
	// Capacity is how many there are.
	Capacity int64
	// Counts has the number in each state. Worker ids that were never claimed are free.
	Counts map[State]int64
	// Silent are the held ones of which [Worker.Silent] is true.
	Silent int64
	// Outside counts registers of no worker id of this store: strays, and those of
	// datacenters outside the record. They are in no other count.
	Outside int64
	// Registers counts all registers.
	Registers int64
	// Youngest and Oldest are the held worker ids with the least and the greatest
	// [Worker.Age], without the silent ones. Their clocks differ by the difference of the
	// ages at most, give or take a third of a window. Both are zero if there is none.
	Youngest, Oldest Sight
}

// Sight is how old a register looked.
type Sight struct {
	Worker int64
	Age    time.Duration
	Exists bool
}

// Census returns a count of no registers.
func (r *Roster) Census() Census {
	return Census{Capacity: r.Capacity(), Counts: map[State]int64{Free: r.Capacity()}}
}

// Count adds a worker that was listed.
func (r *Roster) Count(c *Census, w Worker) {
	c.Registers++
	if w.Number == Stray || !r.Own(w.Number) {
		c.Outside++
		return
	}
	c.Counts[Free]--
	c.Counts[w.State]++
	switch {
	case w.State != Held:
	case w.Silent():
		c.Silent++
	default:
		s := Sight{Worker: w.Number, Age: w.Age(), Exists: true}
		if !c.Youngest.Exists || s.Age < c.Youngest.Age {
			c.Youngest = s
		}
		if !c.Oldest.Exists || s.Age > c.Oldest.Age {
			c.Oldest = s
		}
	}
}

// Taken returns how many worker ids can't be claimed now.
func (c Census) Taken() int64 { return c.Capacity - c.Counts[Free] }

// seen is a set of worker numbers, a bit each. There are chunks only where there are
// registers.
type seen struct {
	chunks  map[int64]*[chunkWords]uint64
	damaged int // how many registers the store could not read
}

const chunkWords = 16

// add puts a number in, and reports whether it was not there.
func (s *seen) add(n int64) bool {
	const size = chunkWords * 64
	if s.chunks == nil {
		s.chunks = map[int64]*[chunkWords]uint64{}
	}
	chunk := s.chunks[n/size]
	if chunk == nil {
		chunk = new([chunkWords]uint64)
		s.chunks[n/size] = chunk
	}
	word, bit := n%size/64, uint64(1)<<(n%64)
	if chunk[word]&bit != 0 {
		return false
	}
	chunk[word] |= bit
	return true
}
