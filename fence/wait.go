package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// hurry is the context of a call that is not to wait: it has ended, which a
// generator notices only where a call would have to join its queue. A try with it
// takes what is there and otherwise comes back at once, so that the clock is read
// by those calls alone that really wait.
type hurry struct{ done chan struct{} }

func newHurry() hurry {
	done := make(chan struct{})
	close(done)
	return hurry{done}
}

func (hurry) Deadline() (time.Time, bool) { return time.Time{}, false }
func (h hurry) Done() <-chan struct{}     { return h.done }
func (hurry) Err() error                  { return errMustWait }
func (hurry) Value(any) any               { return nil }

var (
	// errMustWait is what a try ends with that would have had to wait.
	errMustWait = errors.New("the call would have to wait")

	// errWaited ends a try when the call has waited for max-wait in all.
	errWaited = errors.New("the call has waited for max-wait")
)

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
		if err = try(h.hurry, g); errors.Is(err, errMustWait) {
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

// passes reports whether what a generator refuses with passes with its term,
// its window or its clock, so that the holder can do something about it.
func (h *Holder) passes(g *snowfence.Generator, err error) bool {
	switch {
	case errors.Is(err, snowfence.ErrRevoked), errors.Is(err, snowfence.ErrWindowEnded):
		return true
	case errors.Is(err, snowfence.ErrClockBehind):
		// A pool has another worker id; it takes one when the generator stands
		// still, not when it merely lags.
		return h.config.Worker == nil && g.Status().ClockLost
	}
	return false
}

// heed lets the loop know of a clock that makes a generator refuse, unless it
// knows already.
func (h *Holder) heed(g *snowfence.Generator) {
	if !h.down.Load() && g.Status().ClockLost {
		h.nudge()
	}
}

// outage returns how long a call that has waited since begun, and failed with
// err, may still wait, or the error that it is to return. The outage begins with
// the first call or the loop that notices it.
func (h *Holder) outage(begun time.Duration, err error) (left time.Duration, ended error) {
	now := h.config.Clock.Monotonic()
	select {
	case <-h.closing:
		return 0, ErrClosed
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails(now)
	switch {
	case h.reason != nil:
		err = h.reason
	case errors.Is(err, snowfence.ErrWindowEnded) && h.lags():
		err = fmt.Errorf("%w: %w", err, errJournalLags)
	case h.stalled != nil:
		err = fmt.Errorf("%w: %w", err, h.stalled)
	case h.refused != nil:
		err = fmt.Errorf("%w: %w", err, h.refused)
	}
	lasted := now - min(h.since, begun)
	if h.broken || lasted >= h.maxWait {
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

// recovered says that ids can be issued again.
func (h *Holder) recovered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failing, h.reason = false, nil
	h.wakeAll()
}

// fails begins an outage, if there is none. It needs h.mu.
func (h *Holder) fails(now time.Duration) {
	if !h.failing {
		h.failing, h.since = true, now
	}
}

// suffers notes why ids can't be issued. A term that lives on may still issue:
// the outage begins when it can't.
func (h *Holder) suffers(reason error, outage, broken bool) {
	now := h.config.Clock.Monotonic()
	h.mu.Lock()
	defer h.mu.Unlock()
	if outage {
		h.fails(now)
	}
	h.reason, h.broken = reason, broken
	if broken {
		h.wakeAll()
	}
}

// stalls notes why the loop can make no step, or with nil that it can. It says
// nothing about the term, which lasts as long as its window.
func (h *Holder) stalls(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stalled = why
}

// wakeAll needs h.mu.
func (h *Holder) wakeAll() {
	close(h.changed)
	h.changed = make(chan struct{})
}
