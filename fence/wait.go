package fence

import (
	"context"
	"errors"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

var (
	// errMustWait is what a try ends with that would have had to wait.
	errMustWait = errors.New("the call would have to wait")

	// errWaited ends a try when the call has waited for max-wait in all.
	errWaited = errors.New("the call has waited for max-wait")
)

// noWait returns the context of a call that must not wait: it has ended, and a
// generator looks at it only where a call would join its queue. Such a call takes what
// is there or comes back at once, so only those that really wait read the clock.
func noWait() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errMustWait)
	return ctx
}

// again is the way of a call that began to wait at begun and failed with g: it
// tries once more whenever something changed, for as long as the cause may pass
// and both the outage and its own wait are younger than max-wait. Outages alone
// would not bound it: where each is short, a batch that is too large for what
// lies between two of them begins anew for ever.
//
// A call waits for max-wait in all, be it for numbers, for the clock or for the
// next term or window. So its first wait in a generator's queue, which that bounds
// by itself, counts, and a later one gets what is left.
func (h *Holder) again(ctx context.Context, g *snowfence.Generator, begun time.Duration, err error, try func(context.Context, *snowfence.Generator) error) error {
	if errors.Is(err, errMustWait) {
		if err = try(ctx, g); err == nil {
			return nil
		}
	}
	if !h.passes(g, err) {
		h.heed(g)
		return err
	}
	for {
		// The channel is taken before the try: a change after it wakes the call,
		// a change before it is seen by the try.
		changed := h.changes()
		g = h.current.Load()
		if err = try(h.noWait, g); errors.Is(err, errMustWait) {
			err = h.within(ctx, begun, g, try)
		}
		if err == nil {
			return nil
		}
		if !h.passes(g, err) {
			h.heed(g)
			return err
		}
		left, ended := h.outage(begun, err)
		if ended != nil {
			return ended
		}
		h.nudge()
		expired, stop := h.config.Clock.After(left)
		select {
		case <-changed:
		case <-expired:
		case <-h.closing:
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
		stop()
	}
}

// within tries with what is left of the max-wait of a call that has waited since
// begun. When that is over it fails as a generator does whose own max-wait is.
func (h *Holder) within(ctx context.Context, begun time.Duration, g *snowfence.Generator, try func(context.Context, *snowfence.Generator) error) error {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	expired, stop := h.config.Clock.After(max(0, begun+h.maxWait-h.config.Clock.Monotonic()))
	defer stop()
	go func() {
		select {
		case <-expired:
			cancel(errWaited)
		case <-bounded.Done():
		}
	}()
	err := try(bounded, g)
	if !errors.Is(err, errWaited) {
		return err
	}
	reason := snowfence.ErrSaturated
	if g.Status().Behind > 0 {
		reason = snowfence.ErrClockBehind
	}
	return &snowfence.WaitError{Reason: reason, Need: h.config.Clock.Monotonic() - begun, Limit: h.maxWait}
}

// passes reports whether the holder can do something about what a generator refuses
// with.
func (h *Holder) passes(g *snowfence.Generator, err error) bool {
	return lease.Passes(err, g.Status(), h.config.Worker != nil)
}

// heed lets the loop know of a clock that makes a generator refuse, unless it
// knows already.
func (h *Holder) heed(g *snowfence.Generator) {
	if h.view().Outage.Supply < lease.Refusing && g.Status().ClockLost {
		h.nudge()
	}
}

// outage returns how long a call that has waited since begun, and failed with
// err, may still wait, or the error that it is to return.
func (h *Holder) outage(begun time.Duration, err error) (left time.Duration, ended error) {
	select {
	case <-h.closing:
		return 0, ErrClosed
	default:
	}
	now, o := h.config.Clock.Monotonic(), h.view().Outage
	if o.Supply >= lease.Failing {
		begun, err = min(o.Since, begun), o.Reason
	}
	lasted := now - begun
	if o.Final || lasted >= h.maxWait {
		return 0, &UnavailableError{For: lasted, Reason: err}
	}
	return h.maxWait - lasted, nil
}

// nudge tells the loop that a call found the term unusable. It never blocks:
// one nudge that was not read yet is enough.
func (h *Holder) nudge() {
	select {
	case h.nudges <- struct{}{}:
	default:
	}
}

func (h *Holder) changes() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// view is how the lease stood after its last step.
func (h *Holder) view() lease.View {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}
