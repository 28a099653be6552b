package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// again is the way of a call that failed: it tries once more whenever
// something changed, for as long as the cause may pass and the outage is
// younger than max-wait.
func (h *Holder) again(ctx context.Context, err error, try func(*snowfence.Generator) error) error {
	if !h.passes(h.current.Load(), err) {
		return err
	}
	for {
		// The channel is taken before the try: a change after it wakes the call,
		// a change before it is seen by the try.
		changed := h.changes()
		g := h.current.Load()
		if err = try(g); err == nil || !h.passes(g, err) {
			return err
		}
		left, ended := h.outage(err)
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

// outage returns how long a call that failed with err may still wait, or the
// error that it is to return. The outage begins with the first call or the loop that notices it.
func (h *Holder) outage(err error) (left time.Duration, ended error) {
	now := h.config.Clock.Monotonic()
	select {
	case <-h.closing:
		return 0, ErrClosed
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.failing {
		h.failing, h.since = true, now
	}
	switch {
	case h.reason != nil:
		err = h.reason
	case h.refused != nil:
		err = fmt.Errorf("%w: %w", err, h.refused)
	}
	age := now - h.since
	if h.broken || age >= h.maxWait {
		return 0, &UnavailableError{For: age, Reason: err}
	}
	return h.maxWait - age, nil
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

// suffers notes why ids can't be issued. A term that lives on may still issue:
// the outage begins when it can't.
func (h *Holder) suffers(reason error, outage, broken bool) {
	now := h.config.Clock.Monotonic()
	h.mu.Lock()
	defer h.mu.Unlock()
	if outage && !h.failing {
		h.failing, h.since = true, now
	}
	h.reason, h.broken = reason, broken
	if broken {
		h.wakeAll()
	}
}

// wakeAll needs h.mu.
func (h *Holder) wakeAll() {
	close(h.changed)
	h.changed = make(chan struct{})
}
