package sim

import (
	"context"
	"iter"
	"time"

	"snowfence.example/snowfence"
)

// caller makes the calls for ids of one process, one after the other. A call may wait, so it is
// a coroutine, which runs in turn with the world: when it waits it yields, and it is resumed
// when its time has come or when the process did something that may concern it.
//
// A generator waits in a select over a timer of its clock and the end of its context. It asks
// for the latter last of all and without its lock, so that is where the call yields: see Done.
type caller struct {
	mint  func(context.Context, []snowfence.ID) (int, error)
	next  func() (bool, bool)
	stop  func()
	yield func(bool) bool

	ids     []snowfence.ID
	n       int
	err     error
	busy    bool // a call is under way
	running bool // and it is its turn
	ended   bool // the process is gone
	sleeps  bool // it waits for due and for nothing else
	expired chan<- time.Time
	due     time.Duration // when its wait ends, on the monotonic clock
	waits   int           // how often this call waited
	number  int           // of this call
}

// newCaller returns a caller of an allocator's Mint.
func newCaller(mint func(context.Context, []snowfence.ID) (int, error)) *caller {
	c := &caller{mint: mint}
	c.next, c.stop = iter.Pull(func(yield func(bool) bool) {
		c.yield = yield
		for {
			c.n, c.err = c.mint(callContext{c}, c.ids)
			if !yield(true) {
				return
			}
		}
	})
	return c
}

// begin makes a call, and reports whether it has ended already.
func (c *caller) begin(ids []snowfence.ID) (done bool) {
	c.ids, c.busy, c.waits = ids, true, 0
	c.number++
	return c.resume(time.Time{})
}

// resume goes on with the call that waits, and reports whether it has ended. A
// generator that is woken too early looks around and waits again.
func (c *caller) resume(now time.Time) (done bool) {
	if c.expired != nil {
		select {
		case c.expired <- now:
		default:
		}
	}
	c.running, c.sleeps = true, false
	done, _ = c.next()
	c.running = false
	c.busy = !done
	return done
}

// end takes the caller away, in the middle of a call or not.
func (c *caller) end() {
	c.ended, c.busy = true, false
	c.stop()
}

// sleep waits on behalf of an allocator without a generator.
func (c *caller) sleep(now, d time.Duration) bool {
	if c.ended {
		return false
	}
	c.due, c.sleeps, c.expired = now+d, true, nil
	c.waits++
	return c.yield(false)
}

// callContext is the context of a call: without a deadline, and without values.
type callContext struct{ c *caller }

// Done yields to the world: a call that asks for the end of its context is about to wait for it.
func (x callContext) Done() <-chan struct{} {
	if !x.c.ended {
		x.c.waits++
		if x.c.yield(false) {
			return nil
		}
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Err implements [context.Context].
func (x callContext) Err() error {
	if x.c.ended {
		return context.Canceled
	}
	return nil
}

// Deadline implements [context.Context].
func (x callContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements [context.Context].
func (x callContext) Value(any) any { return nil }
