package fence

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence/internal/lease"
)

// Waiting is a wait of [Open], of a later claim, or of a call for ids. See [Config].OnWait.
type Waiting struct {
	Namespace string

	// For is the reason. It is a *[HeldError] or an *[ExhaustedError] while a claim waits for a worker id. A
	// call's wraps the error that it would return now.
	For error

	// Since is when the wait began, and Until when it can end: when the worker id comes free unless its holder
	// extends, or when the store can't lose the claim any more. Both are by this machine's clock. Until is zero
	// if that is not known.
	Since, Until time.Time

	// Limit is for how long the claim or the call waits at most, from Since on. Zero means no limit.
	Limit time.Duration
}

// String reads "waiting for worker 7: held by …, for 1m5s at most".
func (w Waiting) String() string {
	var held *HeldError
	var full *ExhaustedError
	var text string
	switch {
	case errors.As(w.For, &held):
		text = "waiting for " + held.Occupant.String()
	case errors.As(w.For, &full):
		text = fmt.Sprintf("waiting for a worker id: of %d, %d are held, %d were released with ticks ahead of this clock, %d are quarantined, %d can't be used; next: %s",
			full.Workers, full.Held, full.Ahead, full.Quarantined, full.Unusable, next(full))
	case w.Until.IsZero():
		text = fmt.Sprintf("waiting %v", w.For)
	default:
		text = fmt.Sprintf("waiting %v, for %s", w.For, w.Until.Sub(w.Since))
	}
	if w.Limit > 0 {
		text += fmt.Sprintf(", for %s at most", w.Limit)
	}
	return text
}

// Standing is whether a holder issues ids. See [Config].OnStanding.
type Standing uint8

// The standings.
const (
	Idle     Standing = iota // it issues none
	StandsBy                 // it issues none, and nothing is wrong: by the store's last answer its worker id is another's
	Issues                   // it issues ids
)

// stand calls OnStanding if the standing has changed.
func (l *loop) stand() {
	v, now := l.driver.State().View(), Idle
	switch {
	case v.Holding && v.Outage.Supply == lease.Issuing:
		now = Issues
	case v.Unanswered == nil && errors.Is(l.waiting.For, ErrNoWorker): // no other goroutine writes it
		now = StandsBy
	}
	if now != l.standing && l.config.OnStanding != nil {
		l.config.OnStanding(now)
	}
	l.standing = now
}

// next names the worker id that comes free first.
func next(full *ExhaustedError) string {
	if len(full.First) == 0 {
		return "unknown"
	}
	return full.First[0].String()
}

// endless is a claim-wait that means none: 73 years.
const endless time.Duration = 1 << 61

// wait notes what a claim waits for, and reports it to the log and to OnWait.
func (l *loop) wait(log *slog.Logger, r lease.Report) {
	now := l.config.Clock.Wall()
	w := Waiting{Namespace: l.config.Namespace, For: r.Err, Since: now}
	limit := "none"
	if wait := l.driver.State().Config().ClaimWait; wait < endless {
		limit, w.Limit = wait.String(), wait
	}
	var held *HeldError
	var full *ExhaustedError
	switch {
	case errors.As(r.Err, &held):
		w.Until = held.Until
		log.Info("waiting for "+held.Occupant.String(), "claim-wait", limit)
	case errors.As(r.Err, &full):
		if len(full.First) > 0 {
			w.Until = full.First[0].Until
		}
		log.Info("waiting for a worker id", "workers", full.Workers, "held", full.Held, "ahead", full.Ahead,
			"quarantined", full.Quarantined, "unusable", full.Unusable, "next", next(full), "claim-wait", limit)
	default:
		w.Until, w.Limit = now.Add(r.For), 0
		log.Info("waiting "+r.Err.Error(), "for", r.For)
	}
	l.waitsFor(w)
}

// waitsFor keeps what the claim waits for now, and calls OnWait. The zero Waiting ends the wait.
func (l *loop) waitsFor(w Waiting) {
	l.mu.Lock()
	if errors.Is(w.For, ErrNoWorker) && errors.Is(l.waiting.For, ErrNoWorker) {
		w.Since = l.waiting.Since // it still waits
	}
	l.waiting = w
	l.mu.Unlock()
	if w.For != nil && l.config.OnWait != nil {
		l.config.OnWait(w)
	}
}
