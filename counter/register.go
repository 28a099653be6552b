package counter

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
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
	kind string
	key  string
	loss time.Duration
	seen atomic.Pointer[stored.Counter] // the record as it was read or written last, for people

	turn chan struct{} // has room for one: the writer's. It guards the fields below

	known       bool // record and version are as they were read or written last
	version     store.Version
	record      stored.Counter
	incarnation string           // once it was read
	nonce       string           // of this process's writes on a lossy store; see confirm
	sent        int64            // writes under the nonce
	landed      int64            // the last of them that took effect
	used        map[string]int64 // by lane: the greatest number that this process has reserved
}

// lanesKept is how many dates a daily sequence holds.
const lanesKept = 10

// writersKept is how many processes can confirm at a time on a lossy store.
const writersKept = 40

// open reads the store's traits, and the record if it is there.
func open(ctx context.Context, c Config, kind string) (*register, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	traits, err := c.Store.Traits(ctx)
	if err == nil {
		err = traits.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("read the store's traits: %w", err)
	}
	if kind == stored.Ticket && traits.Loss > 0 {
		return nil, fmt.Errorf("%w: counter %s: this one can lose what it acknowledged in the last %s, and then a ticket would be given twice", ErrLossy, c.Name, traits.Loss)
	}
	r := &register{
		Config: c, kind: kind, key: stored.CounterPrefix(c.Namespace) + c.Name, loss: traits.Loss,
		turn: make(chan struct{}, 1), used: map[string]int64{},
	}
	if r.nonce, err = r.random(16); err != nil {
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
		i, err := r.enter(c, lane)
		if err != nil {
			return err
		}
		l := &c.Lanes[i]
		mark, by := mark, by
		if own, ok := r.used[lane]; ok && own >= mark {
			mark, by = own, "this process"
		}
		if l.Next <= mark {
			// Perhaps only the read is late. The write shows it: it changes no number.
			behind = &BackwardsError{Counter: r.Name, Next: l.Next, Mark: mark, By: by}
			return nil
		}
		got, err = r.advance(l, need())
		return err
	})
	if err == nil {
		err = behind
	}
	if err == nil && r.loss > 0 {
		err = r.confirm(ctx, w)
	}
	if err == nil && r.Guard != nil {
		err = r.Guard.Raise(ctx, got.Last())
	}
	if err != nil {
		return Range{}, err
	}
	r.turn <- struct{}{}
	r.used[lane] = max(r.used[lane], got.Last())
	<-r.turn
	return got, nil
}

// mark returns the greatest number that is known to be in use, by the guard.
func (r *register) mark(ctx context.Context) (mark int64, by string, err error) {
	if r.Guard == nil {
		return math.MinInt64, "", nil
	}
	if mark, err = r.Guard.Mark(ctx); err != nil {
		return 0, "", fmt.Errorf("counter %s: read its guard: %w", r.Name, err)
	}
	return mark, r.Guard.String(), nil
}

// advance takes n numbers of a lane, or as many as are left.
func (r *register) advance(l *stored.Lane, n int64) (Range, error) {
	if l.Next > r.Limit {
		return Range{}, &FullError{Counter: r.Name, Date: l.Name, Limit: r.Limit}
	}
	n = min(max(n, 1), (r.Limit-l.Next)/r.Increment+1)
	got := Range{l.Next, r.Increment, n}
	l.Next += n * r.Increment
	return got, nil
}

// enter returns the place of a lane, which it adds if that is allowed. The earliest date goes
// when there are too many. From then on the list stays full. So no date before its first is
// begun, and a date after it that is missing was never begun before.
func (r *register) enter(c *stored.Counter, lane string) (int, error) {
	i, ok := c.Lane(lane)
	if ok {
		return i, nil
	}
	full := len(c.Lanes) == lanesKept
	if full && i == 0 {
		return 0, &DateError{Counter: r.Name, Date: lane, Oldest: c.Lanes[0].Name}
	}
	c.Lanes = slices.Insert(c.Lanes, i, stored.Lane{Name: lane, Next: r.Start})
	if full {
		c.Lanes, i = c.Lanes[1:], i-1
	}
	return i, nil
}

// written is a write that took effect.
type written struct {
	nonce  string
	number int64 // under the nonce
	acked  time.Duration
}

// write changes the record, once. The change is computed from the record as it is, again for
// each try that another process's write has prevented. It returns when the write is known to
// have taken effect.
func (r *register) write(ctx context.Context, change func(*stored.Counter) error) (written, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return written{}, context.Cause(ctx)
	}
	var last error // of the store
	for try := 0; ; try++ {
		if err := r.pause(ctx, try); err != nil {
			if last != nil {
				err = fmt.Errorf("%w: %w", err, last)
			}
			return written{}, err
		}
		fresh := !r.known
		if fresh {
			reply := r.call(ctx, lease.Call{Verb: lease.Get, Key: r.key})
			if err := r.take(reply); err != nil {
				if last = err; final(err) {
					return written{}, err
				}
				continue
			}
		}
		next := r.record
		next.Lanes, next.Writers = slices.Clone(next.Lanes), slices.Clone(next.Writers)
		if err := change(&next); err != nil {
			if fresh {
				return written{}, err
			}
			r.known = false // it may not hold any more
			continue
		}
		value, err := r.sign(&next)
		if err != nil {
			return written{}, err
		}
		outlook, reply := drive.Settle(lease.Write{Key: r.key, Guard: r.version, Value: value},
			func(c lease.Call) lease.Reply { return r.call(ctx, c) },
			func(_ lease.Outlook, reply lease.Reply) error {
				if last = reply.Err; final(last) {
					return last
				}
				try++
				return r.pause(ctx, try-1)
			})
		switch outlook {
		case lease.Landed:
			r.version, r.record, r.incarnation = reply.Landed(), next, next.Incarnation
			r.landed = r.sent
			r.seen.Store(&next)
			return written{r.nonce, r.sent, r.Clock.Monotonic()}, nil
		case lease.Missed:
			if err := r.take(reply); err != nil && final(err) {
				return written{}, err
			}
		default:
			r.known = false
			if final(last) {
				return written{}, last
			}
		}
	}
}

// confirm waits until the store can't lose a write any more, and shows that it has not lost
// it: by another swap, sent at least loss after the write was acknowledged, and guarded by a
// record that has the write in its history. When that swap takes effect, the write is there
// and older than loss.
//
// The history is the record's Writers: a nonce of this process, and the number of its last
// write. No two writes have both in common, also not one that was given up. Each write is
// guarded by a record with the write that took effect before it. So a record with a number
// has every write up to it that was acknowledged. A process that finds one of its writes gone
// goes on under a new nonce.
func (r *register) confirm(ctx context.Context, w written) error {
	expired, stop := r.Clock.After(max(0, w.acked+r.loss-r.Clock.Monotonic()))
	defer stop()
	select {
	case <-expired:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_, err := r.write(ctx, func(c *stored.Counter) error {
		if !history(*c, w.nonce, w.number) {
			return fmt.Errorf("counter %s: %w", r.Name, errForgotten)
		}
		return nil
	})
	return err
}

// history reports whether a record has a write in its history.
func history(c stored.Counter, nonce string, number int64) bool {
	return slices.ContainsFunc(c.Writers, func(w stored.Writer) bool { return w.Nonce == nonce && w.Writes >= number })
}

// sign completes a record that is to be written.
func (r *register) sign(c *stored.Counter) (value []byte, err error) {
	if c.Write, err = r.random(8); err != nil {
		return nil, err
	}
	c.Clock, c.Process, c.Limit = r.Clock.Wall(), r.Process, r.Limit
	if r.loss > 0 {
		r.sent++
		c.Writers = slices.DeleteFunc(c.Writers, func(w stored.Writer) bool { return w.Nonce == r.nonce })
		c.Writers = append(c.Writers, stored.Writer{Nonce: r.nonce, Writes: r.sent})
		c.Writers = c.Writers[max(0, len(c.Writers)-writersKept):]
	}
	return c.Encode()
}

// take takes what a read shows. An absent record is a new one, but never a second time.
func (r *register) take(reply lease.Reply) error {
	r.known = false
	switch {
	case reply.Outcome == lease.Absent && r.incarnation == "":
		incarnation, err := r.random(16)
		if err != nil {
			return err
		}
		r.version = ""
		r.record = stored.Counter{
			Kind: r.kind, Incarnation: incarnation, Start: r.Start, Increment: r.Increment,
			Zone: r.zone, Digits: r.digits, Created: r.Clock.Wall(),
		}
		if r.kind != stored.Daily {
			r.record.Lanes = []stored.Lane{{Next: r.Start}}
		}
	case reply.Outcome == lease.Absent:
		return fmt.Errorf("%w: counter %s is gone", ErrReplaced, r.Name)
	case reply.Outcome != lease.Found:
		return fmt.Errorf("read counter %s: %w", r.Name, reply.Err)
	default:
		record, err := stored.DecodeCounter(reply.Entry.Value)
		if err == nil {
			err = r.fits(record)
		}
		if err != nil {
			return err
		}
		r.version, r.record, r.incarnation = reply.Entry.Version, record, record.Incarnation
		r.seen.Store(&record)
		if r.landed > 0 && !history(record, r.nonce, r.landed) {
			if r.nonce, err = r.random(16); err != nil {
				return err
			}
			r.sent, r.landed = 0, 0
		}
	}
	r.known = true
	return nil
}

// fits returns an error unless the record is this counter's.
func (r *register) fits(c stored.Counter) error {
	for _, f := range []struct{ field, stored, configured string }{
		{"kind", c.Kind, r.kind},
		{"start", strconv.FormatInt(c.Start, 10), strconv.FormatInt(r.Start, 10)},
		{"increment", strconv.FormatInt(c.Increment, 10), strconv.FormatInt(r.Increment, 10)},
		{"zone", c.Zone, r.zone},
		{"digits", strconv.Itoa(c.Digits), strconv.Itoa(r.digits)},
	} {
		if f.stored != f.configured {
			return &MismatchError{r.Name, f.field, f.stored, f.configured}
		}
	}
	if r.incarnation != "" && c.Incarnation != r.incarnation {
		return fmt.Errorf("%w: counter %s has incarnation %s, before %s", ErrReplaced, r.Name, c.Incarnation, r.incarnation)
	}
	return nil
}

// final reports whether an error is one that no retry mends.
func final(err error) bool {
	switch snowfence.ClassOf(err) {
	case snowfence.ClassUnknown, snowfence.ClassUnavailable:
		return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrClosed)
	}
	return true
}

// call makes one call to the store, within the request timeout.
func (r *register) call(ctx context.Context, c lease.Call) lease.Reply {
	ctx, cancel := context.WithTimeoutCause(ctx, r.RequestTimeout, drive.ErrTimeout)
	defer cancel()
	return drive.Ask(ctx, r.Store, c)
}

// pause waits before a try: not before the first two, then for up to 5 ms, and longer after
// each until a quarter of a second. Each wait is by chance, so that processes that met don't
// meet again.
func (r *register) pause(ctx context.Context, try int) error {
	if err := context.Cause(ctx); err != nil || try < 2 {
		return err
	}
	most := min(5*time.Millisecond<<min(try-2, 6), 250*time.Millisecond)
	var chance [2]byte
	if _, err := io.ReadFull(r.Rand, chance[:]); err != nil {
		return fmt.Errorf("read random bytes: %w", err)
	}
	expired, stop := r.Clock.After(most * time.Duration(binary.BigEndian.Uint16(chance[:])) >> 16)
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// random returns n random bytes in hexadecimal.
func (r *register) random(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.Rand, b); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// Reserve implements [Source] for a counter with one lane.
func (r *register) Reserve(ctx context.Context, need func() int64) (Range, error) {
	return r.reserve(ctx, "", need)
}

// errKept says that there is nothing to give back.
var errKept = errors.New("numbers were reserved after these")

// giveBack makes the ranges free again from the last one on, as far as no number was reserved
// after them. A counter with a guard keeps them: they lie below its mark.
func (r *register) giveBack(ctx context.Context, lane string, rest []Range) error {
	if r.Guard != nil {
		return nil
	}
	_, err := r.write(ctx, func(c *stored.Counter) error {
		i, ok := c.Lane(lane)
		if !ok {
			return errKept
		}
		next := c.Lanes[i].Next
		for _, back := range slices.Backward(rest) {
			if back.Count > 0 && back.Last()+back.Increment == c.Lanes[i].Next {
				c.Lanes[i].Next = back.First
			}
		}
		if c.Lanes[i].Next == next {
			return errKept
		}
		return nil
	})
	if errors.Is(err, errKept) {
		return nil
	}
	return err
}
