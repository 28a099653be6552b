package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// errMustWait ends a try that would have to wait.
var errMustWait = errors.New("the call would have to wait")

// noWait returns the context of a call that must not wait. It has ended, and a generator
// looks at it only where a call would join its queue. So only a call that really waits reads
// the clock.
func noWait() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errMustWait)
	return ctx
}

// fill fills the ids of a call from a generator, and waits for at most limit.
type fill func(ctx context.Context, g *snowfence.Generator, limit time.Duration) error

// again fills for a call that began at begun and failed with g. It tries once more
// whenever something changed, for as long as the cause may pass.
//
// A call waits for max-wait in all: for numbers, for the clock, and for the next term or
// window. Each of several outages may be short, and a large batch could begin again for
// ever. So every wait counts, and each try gets what is left.
func (h *Holder) again(ctx context.Context, g *snowfence.Generator, begun time.Duration, err error, fill fill) error {
	if errors.Is(err, errMustWait) {
		err = fill(ctx, g, h.maxWait)
	}
	for told := false; h.passes(g, err); told = true {
		// The channel is taken before the try: a change after it wakes the call,
		// a change before it is seen by the try.
		_, changed := h.present()
		g = h.current.Load()
		if err = fill(ctx, g, max(0, begun+h.maxWait-h.config.Clock.Monotonic())); !h.passes(g, err) {
			break
		}
		left, ended := h.outage(begun, err)
		if ended != nil {
			return ended
		}
		h.nudge()
		if h.config.OnWait != nil && !told {
			h.config.OnWait(Waiting{Namespace: h.config.Namespace, For: fmt.Errorf("for ids: %w", err), Since: h.config.Clock.Wall(), Limit: left})
		}
		expired, stop := h.config.Clock.After(left)
		select {
		case <-changed:
		case <-expired:
		case <-h.closing:
		case <-ctx.Done():
			stop()
			return h.cutShort(ctx, begun, err)
		}
		stop()
	}
	if err != nil {
		h.heed(g)
	}
	return err
}

// cutShort is the error of a call whose context ended while there were no ids.
func (h *Holder) cutShort(ctx context.Context, begun time.Duration, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause // the caller has left
	}
	if o, _ := h.present(); o.Reason != nil {
		begun, err = min(o.Since, begun), o.Reason
	}
	return &UnavailableError{For: h.config.Clock.Monotonic() - begun, Reason: fmt.Errorf("%w: %w", cause, err)}
}

// passes reports whether the holder can end the reason of a generator's refusal.
func (h *Holder) passes(g *snowfence.Generator, err error) bool {
	return lease.Passes(err, g.Status(), h.config.Worker != nil)
}

// heed lets the loop know of a clock that makes a generator refuse.
func (h *Holder) heed(g *snowfence.Generator) {
	if o, _ := h.present(); o.Supply < lease.Refusing && g.Status().ClockLost {
		h.nudge()
	}
}

// outage returns how long a call that began at begun and failed with err may still wait, or
// the error that it is to return.
func (h *Holder) outage(begun time.Duration, err error) (left time.Duration, ended error) {
	select {
	case <-h.closing:
		return 0, ErrClosed
	default:
	}
	now := h.config.Clock.Monotonic()
	o, _ := h.present()
	if o.Supply >= lease.Failing {
		begun, err = min(o.Since, begun), o.Reason
	}
	lasted := now - begun
	if o.Final || lasted >= h.maxWait {
		return 0, &UnavailableError{For: lasted, Reason: err}
	}
	return h.maxWait - lasted, nil
}

// nudge wakes the loop because a call found the term unusable. It never blocks.
func (h *Holder) nudge() {
	select {
	case h.nudges <- struct{}{}:
	default:
	}
}

// present returns the outage after the last step, and what is closed when that may have ended.
func (h *Holder) present() (lease.Outage, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Outage, h.changed
}
