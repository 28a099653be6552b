package snowfence

import (
	"container/list"
	"context"
	"time"
)

// queue holds the calls that wait, first come first served.
//
// While a call waits the gate is closed, so that later calls queue behind it and do not take
// its slots. The call at the front leads. It alone sleeps on a timer. When it wakes, it
// reserves the slots that have come free, for all waiting calls in their order, and wakes
// the calls that are done. So there is one timer, however many wait. Every
// reserved slot is issued at once, so a call that gives up has used nothing up.
type queue struct {
	calls list.List // of *call
	ids   uint64    // the sum of what they still need
}

// call is one call that waits.
type call struct {
	ids      []ID          // still to be filled
	limit    time.Duration // how long it may wait
	deadline time.Duration // on the monotonic clock
	wake     chan struct{} // signalled when it is done and when it comes to lead
	leads    bool
	done     bool
	err      error
	place    *list.Element
}

// signal returns at once: one signal that was not read yet is enough.
func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// acquire fills ids, and waits if it must, for as long as limit. Every call without free slots comes here.
func (g *Generator) acquire(ctx context.Context, limit time.Duration, ids []ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, err := g.admit(ctx, limit, ids)
	if c == nil {
		return err
	}
	for !c.done {
		var expired <-chan time.Time
		stop := func() bool { return true }
		if c.leads {
			expired, stop = g.clock.After(g.pause(c))
		}
		g.mu.Unlock()
		var ended error
		select {
		case <-c.wake:
		case <-expired:
		case <-ctx.Done():
			ended = context.Cause(ctx)
		}
		stop()
		g.mu.Lock()
		if ended != nil && !c.done {
			g.finish(c, ended)
		}
		if c.leads {
			g.serve()
		}
	}
	return c.err
}

// admit fills a call's ids if there are slots now. It refuses the call if there won't be in
// time, and otherwise lets it join the queue. It needs g.mu.
func (g *Generator) admit(ctx context.Context, limit time.Duration, ids []ID) (*call, error) {
	v := g.look()
	if v.err != nil {
		g.serve() // the waiting calls get the same error
		return nil, v.err
	}
	next := max(g.state.Load(), uint64(v.now)<<g.seqBits)
	last := Tick((next + g.queue.ids + uint64(len(ids)) - 1) >> g.seqBits)
	if last >= g.horizon {
		return nil, ErrPastHorizon
	}
	need := g.due(v, last)
	if need == 0 && last < g.until && g.queue.ids == 0 {
		if ids = ids[g.take(v, ids):]; len(ids) == 0 {
			return nil, nil
		}
	}
	if err := g.refuse(v, last, need, limit); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := &call{ids: ids, limit: limit, deadline: add(g.clock.Monotonic(), limit), wake: make(chan struct{}, 1)}
	c.place = g.queue.calls.PushBack(c)
	c.leads = g.queue.calls.Front() == c.place
	g.queue.ids += uint64(len(ids))
	g.waits++
	g.serve() // the gate closes; what fits is reserved if it is the first
	return c, nil
}

// refuse returns the error of a call that would wait for longer than it may, or nil.
func (g *Generator) refuse(v view, last Tick, need, limit time.Duration) error {
	switch {
	case g.policy.WallEveryCall && v.still:
		return &WaitError{Reason: ErrClockBehind, Need: v.behind, Limit: g.policy.MaxRollback}
	case need <= limit:
		return nil
	}
	// Is it the clock or the demand: would the wait be too long with a right clock?
	ideal := g.due(view{now: v.now, rest: v.rest}, last)
	if g.policy.WallEveryCall {
		ideal = need - v.behind
	}
	if v.behind > 0 && ideal <= limit {
		return &WaitError{Reason: ErrClockBehind, Need: need, Limit: limit}
	}
	return &WaitError{Reason: ErrSaturated, Need: need, Limit: limit}
}

// serve reserves free slots for the waiting calls, in their order. It ends the calls that
// are complete, too late, or beyond help. It opens the gate when none is left and closes it
// otherwise. It needs g.mu.
func (g *Generator) serve() {
	if g.queue.calls.Len() > 0 {
		v, monotonic := g.look(), g.clock.Monotonic()
		for place := g.queue.calls.Front(); place != nil; place = g.queue.calls.Front() {
			c := place.Value.(*call)
			if v.err != nil {
				g.finish(c, v.err)
				continue
			}
			n := g.take(v, c.ids)
			c.ids, g.queue.ids = c.ids[n:], g.queue.ids-uint64(n)
			if len(c.ids) == 0 {
				g.finish(c, nil)
				continue
			}
			if monotonic < c.deadline {
				if !c.leads {
					c.leads = true
					c.signal()
				}
				break
			}
			g.finish(c, g.late(v, c))
		}
	}
	g.reopen()
}

// late returns the error of a call that has waited in vain.
func (g *Generator) late(v view, c *call) error {
	reason := ErrSaturated
	if v.behind > 0 {
		reason = ErrClockBehind
	}
	last := Tick((g.state.Load() + uint64(len(c.ids)) - 1) >> g.seqBits)
	return &WaitError{Reason: reason, Need: add(c.limit, g.due(v, last)), Limit: c.limit}
}

// finish takes a call out of the queue. It needs g.mu, and, if the call leads,
// serve after it: otherwise a leader goes on in front of it.
func (g *Generator) finish(c *call, err error) {
	g.queue.calls.Remove(c.place)
	g.queue.ids -= uint64(len(c.ids))
	c.done, c.err = true, err
	c.signal()
}

// reopen opens or closes the gate. It needs g.mu.
func (g *Generator) reopen() {
	if g.revoked != nil || g.queue.calls.Len() > 0 {
		g.gate.Store(0)
		return
	}
	g.gate.Store(uint64(g.until) << g.seqBits)
}

// take reserves as many ids as may be stamped now, at most len(ids), fills them in, and returns how
// many. Calls that read the gate before it closed may still be taking slots at the same time. A
// stopped generator issues nothing. It needs g.mu.
func (g *Generator) take(v view, ids []ID) int {
	if v.still && !g.policy.WallEveryCall {
		return 0
	}
	now, taken := uint64(v.now), 0
	bound := min(uint64(g.until)<<g.seqBits, now<<g.seqBits+g.ahead)
	for taken < len(ids) {
		old := g.state.Load()
		slot := g.enter(old, now)
		if slot >= bound {
			break
		}
		n := min(uint64(len(ids)-taken), bound-slot, g.run(slot))
		if g.move(old, slot+n, now) {
			g.write(ids[taken:taken+int(n)], slot)
			taken += int(n)
		}
	}
	return taken
}

// pause returns how long the leader sleeps: until all its slots may be stamped. It sleeps at
// least an eighth of a burst longer than the next tick, so that at full rate there are fewer
// wake-ups with more slots each. It sleeps no longer than half a burst, so that the burst's
// ticks are never all in the past. And it sleeps no longer than an anchor lasts, to notice a
// clock that was set right. It needs g.mu.
func (g *Generator) pause(c *call) time.Duration {
	v, next := g.look(), g.state.Load()
	if v.err != nil {
		return 0
	}
	first := next >> g.seqBits
	last := min(max((next+uint64(len(c.ids))-1)>>g.seqBits, first+g.burst/8), first+g.burst/2)
	d := g.due(v, Tick(last))
	if Tick(next>>g.seqBits) >= g.until {
		// Nothing but an extension helps, until now reaches the window's end.
		d = g.due(v, g.until+Tick(g.burst))
	}
	return max(0, min(d, compareEvery, c.deadline-g.clock.Monotonic()))
}

// due returns how long it takes until the tick may be stamped: until it lies no more than a
// burst ahead of now. It is zero if the tick may be stamped already.
func (g *Generator) due(v view, tick Tick) time.Duration {
	gap := time.Duration(0)
	if tick -= Tick(g.burst); tick > v.now {
		gap = g.span(tick-v.now) - v.rest
	}
	switch {
	case g.policy.WallEveryCall:
		return gap
	case v.still:
		// First the clock comes within MaxRollback, then now goes on at half
		// pace until the clock has caught up.
		return add(v.behind-g.policy.MaxRollback, gap, min(gap, g.policy.MaxRollback))
	case v.half:
		return add(gap, min(gap, v.behind))
	}
	return gap
}

// add returns the sum of durations that are not negative, or the longest duration if it is longer.
func add(ds ...time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range ds {
		if sum += d; sum < 0 {
			return 1<<63 - 1
		}
	}
	return sum
}
