package counter

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
)

// chain gives the numbers of a source to callers. It reserves ranges ahead of them, or, if it
// is strict, for the callers that wait and for no others.
//
// A call takes numbers from the current range, without a lock. If that is not enough it
// queues. One goroutine at a time reserves for all calls of the queue together, so
// throughput grows with load. It exists only while something is to be reserved.
type chain struct {
	source Source
	name   string
	clock  snowfence.Clock
	wait   time.Duration // how long a call waits
	strict bool          // no number is reserved before its call began
	demand demand        // of ranges ahead; not looked at if the chain is strict

	current atomic.Pointer[run] // never nil

	mu      sync.Mutex // guards the fields below
	ready   []Range    // reserved and not begun, ascending
	queue   list.List  // of *call
	busy    bool       // the goroutine is there
	trouble error      // the last failed reservation's error; nil after one that succeeded
	closed  bool
	stop    context.CancelCauseFunc
	context context.Context //nolint:containedctx // of all reservations; ended by close
	done    sync.WaitGroup
}

// demand says how far ahead ranges are reserved. Its methods are called with the chain's lock.
type demand interface {
	// step is the length of the next range.
	step() int64
	// ahead is how many ranges are to be ready.
	ahead() int
	// began says that a range was begun, and whether a call had to wait for it.
	began(r Range, waited bool)
	// took says how long a reservation took.
	took(time.Duration)
}

// call is a call that waits.
type call struct {
	ids   []snowfence.ID // still to be filled
	rides bool           // the reservation under way is for it
	ended chan error     // has room for the result
}

func newChain(s Source, c Config, strict bool, d demand) *chain {
	ch := &chain{source: s, name: c.Name, clock: c.Clock, wait: c.MaxWait, strict: strict, demand: d}
	ch.current.Store(new(run))
	ch.context, ch.stop = context.WithCancelCause(context.Background())
	return ch
}

// fill fills ids.
func (ch *chain) fill(ctx context.Context, ids []snowfence.ID) error {
	if !ch.strict {
		if ids = ids[ch.current.Load().take(ids):]; len(ids) == 0 {
			return nil
		}
	}
	ch.mu.Lock()
	if ch.closed {
		ch.mu.Unlock()
		return ErrClosed
	}
	if ch.queue.Len() == 0 && !ch.strict {
		if ids = ids[ch.serve(ids, false):]; len(ids) == 0 {
			ch.start()
			ch.mu.Unlock()
			return nil
		}
	}
	c := &call{ids: ids, ended: make(chan error, 1)}
	place := ch.queue.PushBack(c)
	ch.start()
	ch.mu.Unlock()
	begun := ch.clock.Monotonic()
	expired, stop := ch.clock.After(ch.wait)
	defer stop()
	var err error
	select {
	case err = <-c.ended:
		return err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-expired:
		err = ErrUnavailable
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	select {
	case err = <-c.ended: // at the same time
		return err
	default:
	}
	ch.queue.Remove(place)
	if errors.Is(err, ErrUnavailable) {
		err = &UnavailableError{Counter: ch.name, For: ch.clock.Monotonic() - begun, Reason: ch.trouble}
	}
	return err
}

// prime waits until a first range is there.
func (ch *chain) prime(ctx context.Context) error {
	c := &call{ended: make(chan error, 1)}
	ch.mu.Lock()
	ch.queue.PushBack(c)
	ch.start()
	ch.mu.Unlock()
	var err error
	select {
	case err = <-c.ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		ch.close(ctx, 0)
	}
	return err
}

// serve fills ids from the current range and from those that are ready. It needs the lock.
func (ch *chain) serve(ids []snowfence.ID, waited bool) (n int) {
	for {
		if n += ch.current.Load().take(ids[n:]); n == len(ids) || len(ch.ready) == 0 {
			return n
		}
		next := &run{Range: ch.ready[0]}
		ch.ready = ch.ready[1:]
		ch.demand.began(next.Range, waited)
		ch.current.Store(next)
	}
}

// start starts the goroutine if something is to be reserved. It needs the lock.
func (ch *chain) start() {
	if ch.busy || !ch.wanted() {
		return
	}
	ch.busy = true
	ch.done.Go(ch.run)
}

// wanted reports whether something is to be reserved. It needs the lock.
func (ch *chain) wanted() bool {
	return ch.queue.Len() > 0 || !ch.strict && !ch.closed && len(ch.ready) < ch.demand.ahead()
}

// closeTakes is how long the numbers that are left may take to be given back.
const closeTakes = 5 * time.Second

// retryAfter is the pause after a failed reservation.
const retryAfter = 50 * time.Millisecond

// run reserves until enough is there.
func (ch *chain) run() {
	for {
		begun := ch.clock.Monotonic()
		got, err := ch.source.Reserve(ch.context, ch.need)
		ch.mu.Lock()
		ch.trouble = err
		switch {
		case err == nil:
			if !ch.strict {
				ch.demand.took(ch.clock.Monotonic() - begun)
			}
			ch.distribute(got)
		case final(err) || ch.context.Err() != nil:
			ch.fail(err)
		}
		if err != nil && ch.queue.Len() == 0 || !ch.wanted() {
			ch.busy = false
			ch.mu.Unlock()
			return
		}
		ch.mu.Unlock()
		if err != nil {
			expired, stop := ch.clock.After(retryAfter)
			select {
			case <-expired:
			case <-ch.context.Done():
			}
			stop()
		}
	}
}

// need is how many numbers to reserve. The calls that wait now are those that the reservation
// is for, because it is sent after they began. Its numbers are greater than all that were
// reserved before it was sent. So on a strict chain a call gets a greater number than every
// call that returned before it began.
func (ch *chain) need() int64 {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	n := int64(0)
	for place := ch.queue.Front(); place != nil; place = place.Next() {
		c := place.Value.(*call)
		c.rides = true
		n += int64(len(c.ids))
	}
	if !ch.strict {
		n = max(n, ch.demand.step())
	}
	return n
}

// distribute gives the numbers of a range to the calls that wait, in their order. What is left
// is for later calls, or for none if the chain is strict. It needs the lock.
func (ch *chain) distribute(got Range) {
	if ch.strict {
		ch.current.Store(&run{Range: got})
	} else {
		ch.ready = append(ch.ready, got)
	}
	for place := ch.queue.Front(); place != nil; place = ch.queue.Front() {
		c := place.Value.(*call)
		if ch.strict && !c.rides {
			return
		}
		if c.ids = c.ids[ch.serve(c.ids, true):]; len(c.ids) > 0 {
			return // near the counter's limit: the rest needs another reservation
		}
		ch.queue.Remove(place)
		c.ended <- nil
	}
}

// fail ends every call of the queue. It needs the lock.
func (ch *chain) fail(err error) {
	for place := ch.queue.Front(); place != nil; place = ch.queue.Front() {
		ch.queue.Remove(place)
		place.Value.(*call).ended <- err
	}
}

// close ends the chain, and returns the numbers that no call took. The calls that wait may
// still get theirs, for as long as patience and no longer than ctx.
func (ch *chain) close(ctx context.Context, patience time.Duration) []Range {
	ch.mu.Lock()
	ch.closed = true
	ch.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		ch.done.Wait()
		close(ended)
	}()
	expired, stop := ch.clock.After(patience)
	defer stop()
	select {
	case <-ended:
	case <-expired:
	case <-ctx.Done():
	}
	ch.stop(ErrClosed)
	<-ended
	ch.mu.Lock()
	defer ch.mu.Unlock()
	rest := append([]Range{ch.current.Load().seal()}, ch.ready...)
	ch.ready = nil
	return rest
}
