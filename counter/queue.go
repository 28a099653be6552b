package counter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
)

// queue is the calls that wait for numbers of a source, and the reservations that are made for them.
//
// One reservation at a time is made for all calls that wait, so throughput grows with load. A
// goroutine makes it, which exists only while something is to be reserved. With a [stock] it
// reserves ahead, too, and most calls need not wait.
//
// Without a stock a call that finds no reservation under way makes one by itself: the way to a
// goroutine and back takes more than a tenth of a database's swap. If the call leaves, its
// reservation ends, and a goroutine reserves for the calls that stay. Until a reservation succeeds
// again the goroutine makes all of them, because a store may take longer than max-wait to connect.
// A source of another kind may ignore its context, so there the goroutine makes all of them, too.
type queue struct {
	source Source
	lane   *lane // the source, if it is one; nil with a source of another kind
	name   string
	clock  snowfence.Clock
	wait   time.Duration // how long a call waits
	stock  *stock        // nil if nothing is reserved ahead

	mu      sync.Mutex    // guards the fields below, and the stock
	calls   []*call       // that wait, in the order in which they began
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

// call is a call that waits.
type call struct {
	ids     []snowfence.ID // still to be filled
	rides   bool           // the reservation under way is for it
	refused error          // why it is not: fewer numbers are left than the call is for
	ended   chan error     // has room for the result
	begun   time.Duration
	leave   func() // ends the reservation that the call makes by itself, if it makes one
}

func newQueue(s Source, c Config, ahead *stock) *queue {
	q := &queue{source: s, name: c.Name, clock: cmp.Or(c.Clock, snowfence.SystemClock()), wait: cmp.Or(c.MaxWait, time.Second), stock: ahead}
	q.lane, _ = s.(*lane)
	q.context, q.stop = context.WithCancelCause(context.Background())
	return q
}

// fill fills ids.
func (q *queue) fill(ctx context.Context, ids []snowfence.ID) error {
	if len(ids) == 0 || q.stock.take(ids) {
		return nil
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	if q.stock.serve(ids, q.clock.Monotonic(), false) {
		q.start()
		q.mu.Unlock()
		return nil
	}
	c := q.enqueue(ids)
	if !q.watched {
		q.watched = true
		go q.watch()
	}
	var own context.Context
	if q.stock != nil || q.lane == nil || q.busy || !q.steady || ctx.Err() != nil {
		q.start()
	} else {
		own, c.leave = context.WithCancel(q.context)
		defer c.leave()
		q.busy = true
		q.done.Add(1) // close waits for this reservation, too
		defer q.done.Done()
	}
	q.mu.Unlock()
	defer context.AfterFunc(ctx, func() { // the caller has left
		q.mu.Lock()
		defer q.mu.Unlock()
		q.end(c, context.Cause(ctx))
	})()
	if own != nil && q.reserve(own) {
		q.done.Go(q.run)
	}
	return <-c.ended
}

// firstTakes is the longest time of the first range, with a lossy store's addition. It is
// more than a call waits, because the store may have to be connected to.
const firstTakes = 10 * time.Second

// prime waits for the first range, or for its failure.
func (q *queue) prime(ctx context.Context) error {
	expired, cancel := q.clock.After(max(firstTakes+q.lane.mayLose(), q.wait))
	defer cancel()
	q.mu.Lock()
	c := q.enqueue(nil)
	q.start()
	q.mu.Unlock()
	var err error
	select {
	case err = <-c.ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-expired:
		q.mu.Lock()
		err = q.unavailable(c)
		q.mu.Unlock()
	}
	if err == nil || errors.Is(err, ErrFull) { // its calls fail then, not a program that has other counters
		return nil
	}
	q.close(ctx, 0)
	return err
}

// unavailable is the error of a call that has waited for too long. It needs the lock.
func (q *queue) unavailable(c *call) error {
	return &UnavailableError{Counter: q.name, For: q.clock.Monotonic() - c.begun, Reason: q.trouble}
}

// enqueue makes a call wait. It needs the lock.
func (q *queue) enqueue(ids []snowfence.ID) *call {
	c := &call{ids: ids, ended: make(chan error, 1), begun: q.clock.Monotonic(), leave: func() {}}
	q.calls = append(q.calls, c)
	return c
}

// end ends a call, and the reservation that it makes by itself. It needs the lock.
func (q *queue) end(c *call, err error) {
	i := slices.Index(q.calls, c)
	switch {
	case i < 0: // it has ended already
		return
	case i == 0: // as most do
		q.calls = q.calls[1:]
	default:
		q.calls = slices.Delete(q.calls, i, i+1)
	}
	c.ended <- err
	c.leave()
}

// watch ends the calls that have waited for max-wait. They wait in the order in which they
// began, so one timer serves all of them, and a call that is served soon sets none.
func (q *queue) watch() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.calls) > 0 && q.context.Err() == nil {
		c := q.calls[0]
		left := c.begun + q.wait - q.clock.Monotonic()
		if left <= 0 {
			q.end(c, q.unavailable(c))
			continue
		}
		q.mu.Unlock()
		_ = sleep(q.context, q.clock, left)
		q.mu.Lock()
	}
	q.watched = false
}

// start starts the goroutine if something is to be reserved. It needs the lock.
func (q *queue) start() {
	if !q.busy && q.wanted() {
		q.busy = true
		q.done.Go(q.run)
	}
}

// wanted reports whether something is to be reserved. It needs the lock.
func (q *queue) wanted() bool { return len(q.calls) > 0 || !q.closed && q.stock.wants() }

const (
	closeTakes = 5 * time.Second // the numbers that are left are given back within it

	// After each reservation that failed the pause doubles, because each may have reserved numbers
	// that no call gets. It stays below half of max-wait, so each call that waits sees another try.
	leastPause = 50 * time.Millisecond
	mostPause  = 2 * time.Second
)

// run reserves until enough is there.
func (q *queue) run() {
	for more := true; more; more = q.reserve(q.context) {
		q.mu.Lock()
		left := q.resume - q.clock.Monotonic()
		q.mu.Unlock()
		if left > 0 {
			_ = sleep(q.context, q.clock, left) // at its end the next reservation fails
		}
	}
}

// reserve makes one reservation, and reports whether another one has to follow.
func (q *queue) reserve(ctx context.Context) (more bool) {
	begun := q.clock.Monotonic()
	got, err := q.source.Reserve(ctx, q.need)
	now := q.clock.Monotonic()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.steady = err == nil
	pause := time.Duration(0)
	switch {
	case err == nil:
		q.distribute(got, now, now-begun)
	case ctx.Err() != nil && q.context.Err() == nil:
		err = nil // its call has left, which shows nothing of the store
	case final(err) || q.context.Err() != nil:
		refused := func(c *call) bool { return c.refused != nil }
		some := errors.Is(err, ErrFull) && slices.ContainsFunc(q.calls, refused) // a smaller call that came since may be served
		for _, c := range slices.Clone(q.calls) {
			if !some || refused(c) {
				q.end(c, err)
			}
		}
	default:
		pause = min(max(leastPause, 2*q.backoff), mostPause, q.wait/2)
	}
	if err != nil && q.trouble == nil {
		q.failing = begun
	}
	q.trouble = err
	q.backoff, q.resume = pause, now+pause
	q.busy = q.wanted() && (err == nil || len(q.calls) > 0)
	return q.busy
}

// need is how many numbers to reserve; 0 if each call is for more than is left. A lane calls it in its
// turn. The reservation is for the calls that wait now, because it is sent after they
// began. Its numbers are greater than all that were reserved before it was sent. So without a stock a
// call gets a greater number than every call that returned before it began. That holds whichever
// goroutine reserves, because no other reservation is made at the same time. One that failed, or
// whose call left, may still take effect. But no call gets its numbers.
func (q *queue) need() (n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := q.lane.left(q.stock.left())
	for _, c := range q.calls {
		all := n + int64(len(c.ids))
		if c.rides, c.refused = max(all, 1) <= left, nil; c.rides {
			n = all
		} else {
			c.refused = q.lane.full()
		}
	}
	switch {
	case q.stock != nil && (n > 0 || q.stock.wants()):
		return max(n, q.stock.pace.now)
	case len(q.calls) == 0:
		return 1 // the callers have left
	}
	return n
}

// distribute gives the numbers of a range to the calls that wait, in their order. The rest goes into
// the stock, or becomes a gap: one that began after the range was reserved does not ride on it. It
// needs the lock.
func (q *queue) distribute(got Range, now, took time.Duration) {
	q.stock.add(got, took)
	for _, c := range slices.Clone(q.calls) {
		switch {
		case c.refused != nil: // as the record was that this reservation has replaced
			q.end(c, c.refused)
		case q.stock != nil:
			if q.stock.serve(c.ids, now, true) {
				q.end(c, nil)
			}
		case !c.rides:
			return
		default:
			n := got.fill(c.ids)
			got = got.from(int64(n))
			if c.ids = c.ids[n:]; len(c.ids) == 0 {
				q.end(c, nil)
			}
		}
	}
}

// close ends the queue, and returns the numbers of the stock that no call took. The calls that wait may
// still get theirs, for as long as patience and no longer than ctx.
func (q *queue) close(ctx context.Context, patience time.Duration) []Range {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	ending, ended := context.WithCancel(ctx)
	go func() {
		q.done.Wait()
		ended()
	}()
	_ = sleep(ending, q.clock, patience) // or until all have ended, or ctx has
	q.stop(ErrClosed)
	q.done.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stock.empty()
}
