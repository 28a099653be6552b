package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// register is a counter's record in a store. It is safe for concurrent use.
//
// Every write is a swap, guarded by the version from which its value was computed. So two
// writes that took effect never reserve the same number. The outcome of a write is settled
// as a holder's is ([lease.Write.Settle]). A range is used only if its write is known to
// have taken effect.
type register struct {
	Config
	kind  string
	key   string
	loss  time.Duration
	guard guarding
	seen  atomic.Pointer[stored.Counter] // the record as it was read or written last, for people

	turn chan struct{} // has room for one: the writer's. It guards the fields below

	known       bool // record and version are as they were read or written last
	version     store.Version
	record      stored.Counter
	incarnation string // once it is settled: a record that is gone, or another one, is refused then

	mu   sync.Mutex       // guards used, so that a call which has its numbers waits for no other write
	used map[string]int64 // by lane: the greatest number that this process has reserved, and not given back
}

// lanesKept is how many dates a daily sequence holds.
const lanesKept = 10

// open reads the store's traits, and holds the counter to its record if that is there.
func open(ctx context.Context, c Config, kind string) (*register, error) {
	c, err := c.complete()
	switch {
	case err != nil:
		return nil, err
	case c.Store == nil:
		return nil, refuse("store", "nil", "must be given")
	}
	traits, err := c.Store.Traits(ctx)
	if err == nil {
		err = traits.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("ask the store what it guarantees: %w", err)
	}
	if kind == stored.Ticket && traits.Loss > 0 {
		return nil, fmt.Errorf("%w: counter %s: this one can lose what it acknowledged in the last %s, and then a ticket would be given twice: durable=true in the URL of its store says that it loses nothing", ErrLossy, c.Name, traits.Loss)
	}
	c.MaxWait = cmp.Or(c.MaxWait, time.Second+traits.Loss)
	r := &register{
		Config: c, kind: kind, key: stored.CounterPrefix(c.Namespace) + c.Name, loss: traits.Loss,
		guard: guarding{Guard: c.Guard, counter: c.Name, timeout: c.RequestTimeout, limit: c.Limit},
		turn:  make(chan struct{}, 1), used: map[string]int64{},
	}
	// A store that is away shows when numbers are reserved.
	reply := r.call(ctx, lease.Call{Verb: lease.Get, Key: r.key})
	if err := r.take(reply); err != nil && reply.Outcome == lease.Found {
		return nil, err
	}
	return r, nil
}

// reserve reserves numbers of a lane, as [Source] says.
func (r *register) reserve(ctx context.Context, lane string, need func() int64) (Range, error) {
	mark, by, err := r.mark(ctx)
	if err != nil {
		return Range{}, err
	}
	var got Range
	var behind error
	w, err := r.write(ctx, func(c *stored.Counter) error {
		got, behind = Range{}, nil
		i, err := enter(c, r.Name, lane)
		if err != nil {
			return err
		}
		mark, by := mark, by
		if own := r.use(lane, 0); own >= mark {
			mark, by = own, "this process"
		}
		if next := c.Lanes[i].Next; next <= mark {
			// Perhaps only the read is late. The write shows it: it changes no number.
			behind = &BackwardsError{Counter: r.Name, Next: next, Mark: mark, By: by}
			return nil
		}
		if got, err = r.advance(c, i, need()); err != nil {
			return err
		}
		return r.enlist(c)
	})
	if err == nil {
		err = behind
	}
	if err == nil && r.loss > 0 {
		err = r.confirm(ctx, w)
	}
	if err == nil && r.Guard != nil {
		err = r.guard.raise(ctx, got.First, got.Last())
	}
	if err != nil {
		return Range{}, err
	}
	r.use(lane, got.Last())
	return got, nil
}

// use notes that the numbers of a lane are in use up to n, and returns the greatest one that is.
func (r *register) use(lane string, n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[lane] = max(r.used[lane], n)
	return r.used[lane]
}

// mark returns the greatest number that is known to be in use, by the guard.
func (r *register) mark(ctx context.Context) (mark int64, by string, err error) {
	if r.Guard == nil {
		return math.MinInt64, "", nil
	}
	mark, err = r.guard.mark(ctx)
	return mark, r.Guard.String(), err
}

// advance takes n numbers of a lane, or as many as are left.
func (r *register) advance(c *stored.Counter, i int, n int64) (Range, error) {
	l := &c.Lanes[i]
	if n = min(n, r.left(c, l.Name)); n < 1 {
		return Range{}, r.full(l.Name)
	}
	got := Range{l.Next, r.Increment, n}
	l.Next += n * r.Increment
	return got, nil
}

// left is how many numbers of a lane a record has left.
func (r *register) left(c *stored.Counter, lane string) int64 {
	next := r.Start
	if i, ok := c.Lane(lane); ok {
		next = c.Lanes[i].Next
	}
	if next > r.Limit {
		return 0
	}
	return (r.Limit-next)/r.Increment + 1
}

func (r *register) full(lane string) error {
	return &FullError{Counter: r.Name, Date: lane, Limit: r.Limit}
}

// enter returns the place of a lane, which it adds if that is allowed. The earliest date goes
// when there are too many. From then on the list stays full. So no date before its first is
// begun, and a date after it that is missing was never begun before.
func enter(c *stored.Counter, name, lane string) (int, error) {
	i, ok := c.Lane(lane)
	if ok {
		return i, nil
	}
	full := len(c.Lanes) == lanesKept
	if full && i == 0 {
		return 0, &DateError{Counter: name, Date: lane, Oldest: c.Lanes[0].Name}
	}
	c.Lanes = slices.Insert(c.Lanes, i, stored.Lane{Name: lane, Next: c.Start})
	if full {
		c.Lanes, i = c.Lanes[1:], i-1
	}
	return i, nil
}

// lane is one count of a register: that of a date, or the only one, without a name.
type lane struct {
	*register
	name string
}

// Reserve implements [Source].
func (l lane) Reserve(ctx context.Context, need func() int64) (Range, error) {
	return l.reserve(ctx, l.name, need)
}

// errKept says that there is nothing to give back.
var errKept = errors.New("numbers were reserved after these")

// giveBack makes the ranges free again from the last one on, as far as no number was reserved
// after them. It sends one write and no other: if that took effect unseen, another process may
// have the numbers already. A counter with a guard keeps them: they lie below its mark. A source
// of another kind, where r is nil, takes none back.
func (r *register) giveBack(ctx context.Context, lane string, rest []Range) error {
	if r == nil || r.Guard != nil {
		return nil
	}
	sent := false
	_, err := r.write(ctx, func(c *stored.Counter) error {
		i, ok := c.Lane(lane)
		if !ok || sent {
			return errKept
		}
		next := c.Lanes[i].Next
		for _, back := range slices.Backward(rest) {
			if back.Count > 0 && back.Last()+back.Increment == c.Lanes[i].Next {
				c.Lanes[i].Next = back.First
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if c.Lanes[i].Next == next || r.used[lane] >= next {
			return errKept
		}
		r.used[lane] = c.Lanes[i].Next - r.Increment // holds though the write fails: no call ever gets the rest
		sent = true
		return nil
	})
	if errors.Is(err, errKept) {
		return nil
	}
	return err
}
