package counter

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
)

// chain gives the numbers of a source to callers. It reserves ranges ahead of them, or, if it
// is strict, for the callers that wait and for no others.
//
// A call takes all its numbers from what is in hand, or none: from the current range without a
// lock, otherwise with those that are ready. If that is not enough it queues. One reservation at a
// time is made for all calls of the queue together, so throughput grows with load. A goroutine
// makes it, which exists only while something is to be reserved.
//
// On a strict chain a call that finds no reservation under way makes one by itself: the way to a
// goroutine and back takes more than a tenth of a database's swap. If the call leaves, its
// reservation ends, and a goroutine reserves for the calls that stay. Until a reservation succeeds
// again the goroutine makes all of them, because a store may take longer than max-wait to connect.
// A source of another kind may ignore its context, so there the goroutine makes all of them, too.
type chain struct {
	source Source
	name   string
	clock  snowfence.Clock
	wait   time.Duration // how long a call waits
	strict bool          // no number is reserved before its call began
	demand demand        // of ranges ahead; not looked at if the chain is strict

	register *register // the source; nil with one of another kind
	lane     string    // of the register

	current atomic.Pointer[run] // never nil

	mu      sync.Mutex    // guards the fields below
	ready   []Range       // reserved and not begun, ascending
	queue   list.List     // of *call
	busy    bool          // a reservation is under way, or about to be: always while a call waits
	steady  bool          // the last reservation succeeded, so a call may make the next one
	watched bool          // watch runs
	trouble error         // the last failed reservation's error; nil after one that succeeded
	backoff time.Duration // the pause after the last reservation; 0 after one that succeeded
	resume  time.Duration // when that pause ends
	failing time.Duration // since when reservations fail, on the monotonic clock
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
	ids     []snowfence.ID // still to be filled
	rides   bool           // the reservation under way is for it
	refused error          // why it is not: fewer numbers are left than the call is for
	ended   chan error     // has room for the result
	begun   time.Duration
	place   *list.Element
	leave   func() // ends the reservation that the call makes by itself, if it makes one
}

func newChain(s Source, c Config, strict bool, d demand) *chain {
	c.MaxWait, c.Clock = cmp.Or(c.MaxWait, time.Second), cmp.Or(c.Clock, snowfence.SystemClock())
	ch := &chain{source: s, name: c.Name, clock: c.Clock, wait: c.MaxWait, strict: strict, demand: d}
	if l, ok := s.(lane); ok {
		ch.register, ch.lane = l.register, l.name
	}
	ch.current.Store(new(run))
	ch.context, ch.stop = context.WithCancelCause(context.Background())
	return ch
}

// fill fills ids.
func (ch *chain) fill(ctx context.Context, ids []snowfence.ID) error {
	if len(ids) == 0 || !ch.strict && ch.current.Load().take(ids) {
		return nil
	}
	ch.mu.Lock()
	if ch.closed {
		ch.mu.Unlock()
		return ErrClosed
	}
	if !ch.strict && ch.serve(ids, false) > 0 {
		ch.start()
		ch.mu.Unlock()
		return nil
	}
	c := ch.enqueue(ids)
	if !ch.watched {
		ch.watched = true
		go ch.watch()
	}
	if !ch.strict || ch.register == nil || ch.busy || !ch.steady || ctx.Err() != nil {
		ch.start()
		ch.mu.Unlock()
		return ch.await(ctx, c)
	}
	own, leave := context.WithCancel(ch.context)
	defer leave()
	c.leave, ch.busy = leave, true
	ch.done.Add(1) // close waits for this reservation, too
	defer ch.done.Done()
	ch.mu.Unlock()
	defer context.AfterFunc(ctx, func() { ch.quit(ctx, c) })()
	if ch.reserve(own) {
		ch.done.Go(ch.run)
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
	c := ch.enqueue(nil)
	ch.start()
	ch.mu.Unlock()
	var err error
	select {
	case err = <-c.ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-expired:
		ch.mu.Lock()
		err = ch.unavailable(c)
		ch.mu.Unlock()
	}
	if err == nil || errors.Is(err, ErrFull) { // its calls fail then, not a program that has other counters
		return nil
	}
	ch.close(ctx, 0)
	return err
}

// unavailable is the error of a call that has waited for too long. It needs the lock.
func (ch *chain) unavailable(c *call) error {
	return &UnavailableError{Counter: ch.name, For: ch.clock.Monotonic() - c.begun, Reason: ch.trouble}
}

// enqueue puts a call into the queue. It needs the lock.
func (ch *chain) enqueue(ids []snowfence.ID) *call {
	c := &call{ids: ids, ended: make(chan error, 1), begun: ch.clock.Monotonic(), leave: func() {}}
	c.place = ch.queue.PushBack(c)
	return c
}

// await waits until a call has ended, or ctx has.
func (ch *chain) await(ctx context.Context, c *call) error {
	select {
	case err := <-c.ended:
		return err
	case <-ctx.Done():
		ch.quit(ctx, c)
		return <-c.ended
	}
}

// quit ends a call whose ctx has ended.
func (ch *chain) quit(ctx context.Context, c *call) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.end(c, context.Cause(ctx))
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

// serve fills ids from the current range and from those that are ready. If they are not enough it
// fills none, or, if the chain is strict, as many as there are. It needs the lock.
func (ch *chain) serve(ids []snowfence.ID, waited bool) (n int) {
	if ch.current.Load().take(ids) {
		return len(ids)
	}
	rest := ch.current.Load().seal() // from here on no call takes numbers without the lock
	for most := rest.Count + ch.held(); ch.strict || most >= int64(len(ids)); {
		k := rest.fill(ids[n:])
		n, rest = n+k, rest.from(int64(k))
		if n == len(ids) || len(ch.ready) == 0 {
			break
		}
		rest, ch.ready = ch.ready[0], ch.ready[1:]
		ch.demand.began(ch.clock.Monotonic(), rest, waited)
	}
	ch.current.Store(&run{Range: rest})
	return n
}

// held is how many numbers are reserved for calls to come. It needs the lock.
func (ch *chain) held() int64 {
	if ch.strict {
		return 0
	}
	n := ch.current.Load().left()
	for _, r := range ch.ready {
		n += r.Count
	}
	return n
}

// start starts the goroutine if something is to be reserved. It needs the lock.
func (ch *chain) start() {
	if !ch.busy && ch.wanted() {
		ch.busy = true
		ch.done.Go(ch.run)
	}
}

// wanted reports whether something is to be reserved. It needs the lock.
func (ch *chain) wanted() bool {
	return ch.queue.Len() > 0 || !ch.strict && !ch.closed && len(ch.ready) < ch.demand.ahead()
}

const (
	closeTakes = 5 * time.Second // the numbers that are left are given back within it

	// After each reservation that failed the pause doubles, because each may have reserved numbers
	// that no call gets. It stays below half of max-wait, so each call that waits sees another try.
	leastPause = 50 * time.Millisecond
	mostPause  = 2 * time.Second
)

// run reserves until enough is there.
func (ch *chain) run() {
	for more := true; more; more = ch.reserve(ch.context) {
		ch.mu.Lock()
		left := ch.resume - ch.clock.Monotonic()
		ch.mu.Unlock()
		if left > 0 {
			_ = sleep(ch.context, ch.clock, left) // at its end the next reservation fails
		}
	}
}

// reserve makes one reservation, and reports whether another one has to follow.
func (ch *chain) reserve(ctx context.Context) (more bool) {
	begun := ch.clock.Monotonic()
	got, err := ch.source.Reserve(ctx, ch.need)
	now := ch.clock.Monotonic()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.steady = err == nil
	pause := time.Duration(0)
	switch {
	case err == nil:
		if !ch.strict {
			ch.demand.took(now - begun)
		}
		ch.distribute(got)
	case ctx.Err() != nil && ch.context.Err() == nil:
		err = nil // its call has left, which says nothing of the store
	case final(err) || ch.context.Err() != nil:
		some := errors.Is(err, ErrFull) && ch.refuses() // a smaller call that came since may be served
		for c := range ch.waiting() {
			if !some || c.refused != nil {
				ch.end(c, err)
			}
		}
	default:
		pause = min(max(leastPause, 2*ch.backoff), mostPause, ch.wait/2)
	}
	if err != nil && ch.trouble == nil {
		ch.failing = begun
	}
	ch.trouble = err
	ch.backoff, ch.resume = pause, now+pause
	ch.busy = ch.wanted() && (err == nil || ch.queue.Len() > 0)
	return ch.busy
}

// need is how many numbers to reserve; 0 if each call is for more than is left. A register calls it
// in its turn. The calls that wait now are those that the reservation is for, because it is sent
// after they began. Its numbers are greater than all that were reserved before it was sent. So on a
// strict chain a call gets a greater number than every call that returned before it began. That
// holds whichever goroutine reserves, because no other reservation is made at the same time. One
// that failed, or whose call left, may still take effect. But no call gets its numbers.
func (ch *chain) need() (n int64) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	left := int64(math.MaxInt64)
	if ch.register != nil {
		left = ch.register.left(&ch.register.record, ch.lane) + ch.held()
	}
	for c := range ch.waiting() {
		all := n + int64(len(c.ids))
		if c.rides, c.refused = max(all, 1) <= left, nil; c.rides {
			n = all
		} else {
			c.refused = ch.register.full(ch.lane)
		}
	}
	switch {
	case !ch.strict && (n > 0 || len(ch.ready) < ch.demand.ahead()):
		return max(n, ch.demand.step())
	case ch.queue.Len() == 0:
		return 1 // the callers have left
	}
	return n
}

// refuses reports whether a call that waits is for more numbers than are left. It needs the lock.
func (ch *chain) refuses() bool {
	for c := range ch.waiting() {
		if c.refused != nil {
			return true
		}
	}
	return false
}

// waiting yields the calls of the queue, which may end meanwhile. It needs the lock.
func (ch *chain) waiting() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for place := ch.queue.Front(); place != nil; {
			c := place.Value.(*call)
			if place = place.Next(); !yield(c) {
				return
			}
		}
	}
}

// distribute gives the numbers of a range to the calls that wait, in their order. What is left
// is for later calls, or for none if the chain is strict. It needs the lock.
func (ch *chain) distribute(got Range) {
	if ch.strict {
		ch.current.Store(&run{Range: got})
	} else {
		ch.ready = append(ch.ready, got)
	}
	for c := range ch.waiting() {
		if c.refused != nil { // as the record was that this reservation has replaced
			ch.end(c, c.refused)
			continue
		}
		if ch.strict && !c.rides {
			return
		}
		if c.ids = c.ids[ch.serve(c.ids, true):]; len(c.ids) == 0 {
			ch.end(c, nil)
		}
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
