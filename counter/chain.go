package counter

import (
	"cmp"
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
// queues. One reservation at a time is made for all calls of the queue together, so throughput
// grows with load. A goroutine makes it, which exists only while something is to be reserved.
//
// On a strict chain a call that finds no reservation under way makes one by itself, because the way
// to a goroutine and back takes more than a tenth of a database's swap. Its reservation ends with
// the call: a store answers soon then, but a source of another kind may not. The other calls stay
// in the queue, and a goroutine reserves for them. Until a reservation has succeeded again a
// goroutine makes them all: if each call ended its own, a store that takes longer than max-wait to
// connect would never be reached.
type chain struct {
	source Source
	name   string
	clock  snowfence.Clock
	wait   time.Duration // how long a call waits
	strict bool          // no number is reserved before its call began
	demand demand        // of ranges ahead; not looked at if the chain is strict

	register *register // the source; nil with one of another kind

	current atomic.Pointer[run] // never nil

	mu      sync.Mutex // guards the fields below
	ready   []Range    // reserved and not begun, ascending
	queue   list.List  // of *call
	busy    bool       // a reservation is under way, or about to be; so it is while a call waits
	steady  bool       // the last reservation succeeded, so a call may make the next one
	watched bool       // watch runs
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
	// began says that a range was begun now, and whether a call had to wait for it.
	began(now time.Duration, r Range, waited bool)
	// took says how long a reservation took.
	took(time.Duration)
}

// call is a call that waits.
type call struct {
	ids   []snowfence.ID // still to be filled
	rides bool           // the reservation under way is for it
	ended chan error     // has room for the result
	begun time.Duration
	place *list.Element
	leave func() // ends the reservation that the call makes by itself, if it makes one
}

func newChain(s Source, c Config, strict bool, d demand) *chain {
	c.MaxWait, c.Clock = cmp.Or(c.MaxWait, time.Second), cmp.Or(c.Clock, snowfence.SystemClock())
	ch := &chain{source: s, name: c.Name, clock: c.Clock, wait: c.MaxWait, strict: strict, demand: d}
	ch.register, _ = s.(*register)
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
	c, stop := ch.enqueue(ctx, ids)
	defer stop()
	if !ch.watched {
		ch.watched = true
		go ch.watch()
	}
	if !ch.strict || ch.register == nil || ch.busy || !ch.steady || ctx.Err() != nil {
		ch.start()
		ch.mu.Unlock()
		return <-c.ended
	}
	own, leave := context.WithCancel(ch.context)
	defer leave()
	c.leave, ch.busy = leave, true
	ch.done.Add(1) // close waits for this reservation, too
	defer ch.done.Done()
	ch.mu.Unlock()
	if more, err := ch.reserve(own); more {
		ch.done.Go(func() { ch.run(err) })
	}
	return <-c.ended
}

// firstTakes is how long the first range may take, and what a lossy store needs in addition. It is
// more than a call waits, because the store may have to be connected to.
const firstTakes = 10 * time.Second

// prime waits until a first range is there, or it is known that there is none.
func (ch *chain) prime(ctx context.Context) error {
	limit := firstTakes
	if ch.register != nil {
		limit += ch.register.loss
	}
	expired, cancel := ch.clock.After(max(limit, ch.wait))
	defer cancel()
	ch.mu.Lock()
	c, stop := ch.enqueue(ctx, nil)
	defer stop()
	ch.start()
	ch.mu.Unlock()
	var err error
	select {
	case err = <-c.ended:
	case <-expired:
		ch.mu.Lock()
		err = ch.unavailable(c)
		ch.mu.Unlock()
	}
	if errors.Is(err, ErrFull) {
		return nil // a call fails then, not a program that has other counters
	}
	if err != nil {
		ch.close(ctx, 0)
	}
	return err
}

// unavailable is the error of a call that has waited for too long. It needs the lock.
func (ch *chain) unavailable(c *call) error {
	return &UnavailableError{Counter: ch.name, For: ch.clock.Monotonic() - c.begun, Reason: ch.trouble}
}

// enqueue puts a call into the queue, until ctx ends. Then stop must be called. It needs the lock.
func (ch *chain) enqueue(ctx context.Context, ids []snowfence.ID) (c *call, stop func() bool) {
	c = &call{ids: ids, ended: make(chan error, 1), begun: ch.clock.Monotonic(), leave: func() {}}
	c.place = ch.queue.PushBack(c)
	return c, context.AfterFunc(ctx, func() {
		ch.mu.Lock()
		defer ch.mu.Unlock()
		ch.end(c, context.Cause(ctx))
	})
}

// end ends a call, and the reservation that it makes by itself. It needs the lock.
func (ch *chain) end(c *call, err error) {
	ch.queue.Remove(c.place)
	select {
	case c.ended <- err:
	default: // it has ended already
	}
	c.leave()
}

// watch ends the calls that have waited for max-wait. They queue in the order in which they
// began, so one timer serves all of them, and a call that is served soon sets none.
func (ch *chain) watch() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for ch.queue.Len() > 0 && ch.context.Err() == nil {
		c := ch.queue.Front().Value.(*call)
		left := c.begun + ch.wait - ch.clock.Monotonic()
		if left <= 0 {
			ch.end(c, ch.unavailable(c))
			continue
		}
		ch.mu.Unlock()
		_ = sleep(ch.context, ch.clock, left)
		ch.mu.Lock()
	}
	ch.watched = false
}

// serve fills ids from the current range and from those that are ready. It needs the lock.
func (ch *chain) serve(ids []snowfence.ID, waited bool) (n int) {
	for {
		if n += ch.current.Load().take(ids[n:]); n == len(ids) || len(ch.ready) == 0 {
			return n
		}
		next := &run{Range: ch.ready[0]}
		ch.ready = ch.ready[1:]
		ch.demand.began(ch.clock.Monotonic(), next.Range, waited)
		ch.current.Store(next)
	}
}

// start starts the goroutine if something is to be reserved. It needs the lock.
func (ch *chain) start() {
	if !ch.busy && ch.wanted() {
		ch.busy = true
		ch.done.Go(func() { ch.run(nil) })
	}
}

// wanted reports whether something is to be reserved. It needs the lock.
func (ch *chain) wanted() bool {
	return ch.queue.Len() > 0 || !ch.strict && !ch.closed && len(ch.ready) < ch.demand.ahead()
}

// closeTakes is how long the numbers that are left may take to be given back.
const closeTakes = 5 * time.Second

// retryAfter is the pause after a failed reservation.
const retryAfter = 50 * time.Millisecond

// run reserves until enough is there, after a reservation that failed with err.
func (ch *chain) run(err error) {
	for more := true; more; {
		if err != nil {
			_ = sleep(ch.context, ch.clock, retryAfter) // at its end the next reservation fails
		}
		more, err = ch.reserve(ch.context)
	}
}

// reserve makes one reservation. It returns its error, and whether another one has to follow.
func (ch *chain) reserve(ctx context.Context) (more bool, err error) {
	begun := ch.clock.Monotonic()
	got, err := ch.source.Reserve(ctx, ch.need)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.steady = err == nil
	switch {
	case err == nil:
		if !ch.strict {
			ch.demand.took(ch.clock.Monotonic() - begun)
		}
		ch.distribute(got)
	case ctx.Err() != nil && ch.context.Err() == nil:
		err = nil // its call has left, which says nothing of the store
	case final(err) || ch.context.Err() != nil:
		for ch.queue.Len() > 0 {
			ch.end(ch.queue.Front().Value.(*call), err)
		}
	}
	ch.trouble = err
	ch.busy = ch.wanted() && (err == nil || ch.queue.Len() > 0)
	return ch.busy, err
}

// need is how many numbers to reserve. The calls that wait now are those that the reservation
// is for, because it is sent after they began. Its numbers are greater than all that were
// reserved before it was sent. So on a strict chain a call gets a greater number than every
// call that returned before it began. That holds whichever goroutine reserves, because no other
// reservation is made at the same time. One that failed may still take effect, but no call gets
// its numbers.
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
		ch.end(c, nil)
	}
}

// close ends the chain, and returns the numbers that no call took. The calls that wait may
// still get theirs, for as long as patience and no longer than ctx.
func (ch *chain) close(ctx context.Context, patience time.Duration) []Range {
	ch.mu.Lock()
	ch.closed = true
	ch.mu.Unlock()
	ending, ended := context.WithCancel(ctx)
	go func() {
		ch.done.Wait()
		ended()
	}()
	_ = sleep(ending, ch.clock, patience) // or until all have ended, or ctx has
	ch.stop(ErrClosed)
	ch.done.Wait()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	rest := append([]Range{ch.current.Load().seal()}, ch.ready...)
	ch.ready = nil
	return rest
}

// sleep waits for d. It returns ctx's cause if that ends first.
func sleep(ctx context.Context, clock snowfence.Clock, d time.Duration) error {
	expired, stop := clock.After(d)
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
