package fence

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// outage is a time in which no ids are issued, as the loop sees it, whether or
// not anybody asks for one. It begins when the term can't issue any more, and
// is told when calls begin to be refused: at once, or after the policy's
// max-wait where they wait for the next term or window.
type outage struct {
	began  bool // there was a generator: before the first one nothing is missing
	on     bool
	since  time.Duration // on the monotonic clock
	told   bool          // of its beginning
	window bool          // it began because a window ended

	look     <-chan time.Time // when to look again
	stopLook func() bool
}

// errNoTerm is the reason of an outage of which no other is known yet.
var errNoTerm = errors.New("no worker id is held")

// refusal returns why a generator that stands so refuses every call, or nil.
func refusal(layout snowfence.Layout, s snowfence.GeneratorStatus, wall time.Time) error {
	switch outside := lease.CheckTime(layout, wall); {
	case s.Revoked != nil:
		return s.Revoked
	case outside != nil:
		return outside
	case s.ClockLost:
		return fmt.Errorf("%w: by %s", snowfence.ErrClockBehind, s.Behind)
	case s.Now >= s.Until:
		return snowfence.ErrWindowEnded
	}
	return nil
}

// assess looks whether ids can be issued, and tells of an outage when it begins
// and when it ends, once each. The loop calls it after every event, and when it
// asked to be woken for it: at the end of the window, when calls begin to be
// refused, and while the clock is waited for.
func (l *loop) assess() {
	l.outage.stopLook()
	l.outage.look = nil
	phase := l.state.View().Phase
	if !l.outage.began || phase == lease.Releasing || phase == lease.Stopped {
		return
	}
	var again time.Duration
	now, reason := l.config.Clock.Monotonic(), errNoTerm
	if l.generator != nil {
		s := l.generator.Status()
		reason = refusal(l.config.Layout, s, l.config.Clock.Wall())
		again = l.left(s, s.Until)
	}
	if reason == nil {
		l.resumed(now)
		l.lookAgain(again)
		return
	}
	o := &l.outage
	if !o.on {
		o.on, o.since, o.told = true, now, false
		o.window = errors.Is(reason, snowfence.ErrWindowEnded)
		l.mu.Lock()
		if o.window {
			l.status.WindowsEnded++
		}
		l.fails(now) // also if no call meets it
		l.mu.Unlock()
	}
	switch waits := o.since + l.patience(reason, phase) - now; {
	case o.told:
	case waits > 0:
		l.lookAgain(waits)
		return
	default:
		l.stopped(l.because(reason))
	}
	if l.generator != nil {
		l.lookAgain(time.Second) // nothing else tells that the clock is back
	}
}

func (l *loop) lookAgain(in time.Duration) {
	l.outage.look, l.outage.stopLook = l.config.Clock.After(max(in, time.Millisecond))
}

// left is how long a generator that stands so takes to reach a bound.
func (h *Holder) left(s snowfence.GeneratorStatus, until snowfence.Tick) time.Duration {
	layout := h.config.Layout
	return max(0, layout.TimeOf(until).Sub(layout.TimeOf(s.Now)))
}

// patience is how long a call waits for such an outage to end.
func (l *loop) patience(reason error, phase lease.Phase) time.Duration {
	if phase == lease.Failed || l.generator != nil && !l.passes(l.generator, reason) {
		return 0
	}
	return l.maxWait
}

// errJournalLags says that there are ticks that may be stamped, and that the
// disk has not taken note of them.
var errJournalLags = errors.New("the journal's disk does not keep up")

// lags reports whether it is the journal that ends the window. It needs h.mu.
func (h *Holder) lags() bool {
	return h.status.Journal.Kept && h.status.Journal.Used < h.status.Until
}

// because adds what the loop knows besides.
func (h *Holder) because(reason error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case errors.Is(reason, errNoTerm) && h.reason != nil:
		return h.reason
	case errors.Is(reason, snowfence.ErrWindowEnded) && h.lags():
		return fmt.Errorf("%w: %w", reason, errJournalLags)
	case errors.Is(reason, snowfence.ErrWindowEnded) && h.stalled != nil:
		return fmt.Errorf("%w: %w", reason, h.stalled)
	case errors.Is(reason, snowfence.ErrWindowEnded) && h.refused != nil:
		return fmt.Errorf("%w: %w", reason, h.refused)
	}
	return reason
}

// stopped tells that calls are refused from now on.
func (l *loop) stopped(reason error) {
	l.outage.told = true
	l.down.Store(true)
	l.mu.Lock()
	l.status.Outages++
	l.mu.Unlock()
	l.config.Logger.Error("issues no ids", "namespace", l.config.Namespace, "reason", reason)
}

// resumed tells that an outage is over, if there was one that was told of.
func (l *loop) resumed(now time.Duration) {
	if l.outage.on && l.outage.told {
		l.config.Logger.Info("issues ids again", "namespace", l.config.Namespace,
			"after", (now - l.outage.since).Round(time.Millisecond))
	}
	l.outage.on = false
	l.down.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = false
}
