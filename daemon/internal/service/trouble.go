package service

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

// trouble is why a generator could not mint when it was last asked to.
type trouble struct {
	problem *front.Problem
	at      time.Duration // on the monotonic clock
}

// lasting is how long trouble counts as the state of a generator: a generator that failed a moment ago
// fails again. After that its state is unknown, and the next request shows it.
const lasting = 10 * time.Second

// failed notes trouble, and logs it when it is new. A generator with a lease reports its state by
// itself. An opaque one has the state of the other.
func (s *Service) failed(g *generator, p *front.Problem) {
	m := g.minter.Load()
	if m == nil || g.stopped.Load() || m.caps.Lease != nil || m.of != nil {
		return
	}
	level := slog.LevelWarn
	switch p.Type {
	case front.CounterChanged:
		level = slog.LevelError
	case front.StoreUnavailable, front.LeaseUnavailable, front.ClockUnsafe:
	case front.NumbersUsedUp:
		if g.hasLeft() { // smaller requests succeed
			return
		}
	default:
		return
	}
	before := g.trouble.Swap(&trouble{p, s.clock.Monotonic()})
	if before == nil || before.problem.Type != p.Type {
		s.changed()
		s.log.Log(context.Background(), level, "the generator gives no ids", "generator", g.name, "problem", p.Type.String(), "error", p.Cause)
	}
}

// succeeded ends the trouble of a generator.
func (s *Service) succeeded(g *generator) {
	if g.trouble.Load() != nil && g.trouble.Swap(nil) != nil {
		s.changed()
		s.log.Info("the generator gives ids again", "generator", g.name)
	}
}

// warnPause is the least time between two lines of a kind that clients can cause, for all clients together.
const warnPause = time.Minute

// mayWarn reports whether a line may be logged now. If so, it notes when the next may be.
func (s *Service) mayWarn(next *atomic.Int64) bool {
	now, until := int64(s.clock.Monotonic()), next.Load()
	return now >= until && next.CompareAndSwap(until, now+int64(warnPause))
}

// Warn implements [front.Client]. Clients can cause any number of warnings, so it logs at most one a minute.
func (c *Client) Warn(text string, arguments ...any) {
	if c.service.mayWarn(&c.service.warned) {
		c.service.log.Warn(text, arguments...)
	}
}
