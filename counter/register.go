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
	guard *guarding                      // nil without one
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
		return nil, stored.Refuse("store", "nil", "must be given")
	}
	traits, err := c.Store.Traits(ctx)
	if err == nil {
		err = traits.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("ask the store what it guarantees: %w", err)
	}
	if kind == stored.Ticket && traits.Loss > 0 {
		return nil, fmt.Errorf("%w: counter %s: this one can lose what it acknowledged in the last %s, and then a ticket would be given twice: durable=true in its store's URL declares that it loses nothing", ErrLossy, c.Name, traits.Loss)
	}
	c.MaxWait = cmp.Or(c.MaxWait, time.Second+traits.Loss)
	r := &register{
		Config: c, kind: kind, key: stored.CounterPrefix(c.Namespace) + c.Name, loss: traits.Loss,
		turn: make(chan struct{}, 1), used: map[string]int64{},
	}
	if c.Guard != nil {
		r.guard = &guarding{Guard: c.Guard, counter: c.Name, timeout: c.RequestTimeout, limit: c.Limit}
	}
	// A store that is away shows when numbers are reserved.
	reply := r.call(ctx, lease.Call{Verb: lease.Get, Key: r.key})
	if err := r.take(reply); err != nil && reply.Outcome == lease.Found {
		return nil, err
	}
	return r, nil
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

// lane is one count of a register: that of a date, or the only one, without a name. A nil lane stands
// for a source of another kind, which shows less.
type lane struct {
	*register
	name string
}

// Reserve implements [Source].
func (l *lane) Reserve(ctx context.Context, need func() int64) (Range, error) {
	mark, err := l.guard.mark(ctx)
	if err != nil {
		return Range{}, err
	}
	var got Range
	var behind error
	w, err := l.write(ctx, func(c *stored.Counter) error {
		got, behind = Range{}, nil
		i, err := enter(c, l.Name, l.name)
		if err != nil {
			return err
		}
		next, own := c.Lanes[i].Next, l.use(0)
		if next <= max(mark, own) {
			// Perhaps only the read is late. The write shows it: it changes no number.
			back := &BackwardsError{Counter: l.Name, Next: next, Mark: max(mark, own), By: "this process"}
			if mark > own {
				back.By = l.guard.String()
			}
			behind = back
			return nil
		}
		n := min(need(), l.leftOf(c))
		if n < 1 {
			return l.full()
		}
		got = Range{next, l.Increment, n}
		c.Lanes[i].Next += n * l.Increment
		return l.enlist(c)
	})
	if err == nil {
		err = behind
	}
	if err == nil && l.loss > 0 {
		err = l.confirm(ctx, w)
	}
	if err == nil {
		err = l.guard.raise(ctx, got.First, got.Last())
	}
	if err != nil {
		return Range{}, err
	}
	l.use(got.Last())
	return got, nil
}

// use notes that numbers are in use up to n, and returns the greatest one that is.
func (l *lane) use(n int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[l.name] = max(l.used[l.name], n)
	return l.used[l.name]
}

// left is how many numbers there are, with those that are in hand. It needs the register's turn.
func (l *lane) left(held int64) int64 {
	if l == nil {
		return math.MaxInt64
	}
	return l.leftOf(&l.record) + held
}

// leftOf is how many numbers a record has left.
func (l *lane) leftOf(c *stored.Counter) int64 {
	next := l.Start
	if i, ok := c.Lane(l.name); ok {
		next = c.Lanes[i].Next
	}
	if next > l.Limit {
		return 0
	}
	return (l.Limit-next)/l.Increment + 1
}

func (l *lane) full() error { return &FullError{Counter: l.Name, Date: l.name, Limit: l.Limit} }

// mayLose is for how long the store can lose a write.
func (l *lane) mayLose() time.Duration {
	if l == nil {
		return 0
	}
	return l.loss
}

// errKept means that there is nothing to give back.
var errKept = errors.New("numbers were reserved after these")

// giveBack makes the ranges free again from the last one on, up to the first number reserved after
// them. It sends exactly one write: if that took effect unseen, another process may have the
// numbers already. A counter with a guard keeps them: they lie below its mark. A source of another kind
// takes none back.
func (l *lane) giveBack(ctx context.Context, rest []Range) error {
	if l == nil || l.guard != nil || len(rest) == 0 {
		return nil
	}
	sent := false
	_, err := l.write(ctx, func(c *stored.Counter) error {
		i, ok := c.Lane(l.name)
		if !ok || sent {
			return errKept
		}
		next := c.Lanes[i].Next
		for _, back := range slices.Backward(rest) {
			if back.Count > 0 && back.Last()+back.Increment == c.Lanes[i].Next {
				c.Lanes[i].Next = back.First
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.Lanes[i].Next == next || l.used[l.name] >= next {
			return errKept
		}
		l.used[l.name] = c.Lanes[i].Next - l.Increment // holds though the write fails: no call ever gets the rest
		sent = true
		return nil
	})
	if errors.Is(err, errKept) {
		return nil
	}
	return err
}
