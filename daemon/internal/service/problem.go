package service

import (
	"context"
	"errors"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/fence"
)

// unasked reports whether problems of a type are found before a minter is asked.
func unasked(t front.Type) bool {
	switch t {
	case front.UnknownGenerator, front.CountOutOfRange, front.NeedsReservation, front.NotLent, front.Starting, front.Refused, front.Standby:
		return true
	}
	return false
}

// classify makes a problem of a minter's error. A generator that stands by is healthy without a lease,
// while another process holds its worker id. A counter that is not full yet has refused a large request.
func (g *generator) classify(err error) *front.Problem {
	p := classify(err)
	switch {
	case g.settings.Standby && p.Type == front.LeaseUnavailable:
		return front.Standby.Problem(err)
	case p.Type == front.NumbersUsedUp && g.hasLeft():
		p.Detail = "fewer numbers are left than were asked for"
	}
	return p
}

// hasLeft reports whether the generator's counter is known to have numbers.
func (g *generator) hasLeft() bool {
	m := g.minter.Load()
	if m == nil || m.caps.Counter == nil {
		return false
	}
	c := m.caps.Counter()
	return c.Limit > 0 && c.Left > 0
}

// classify makes a problem of a minter's error. Another generator's problem is that already.
func classify(err error) *front.Problem {
	if p := new(front.Problem); errors.As(err, &p) {
		return p
	}
	p := typeOf(err).Problem(err)
	var wait *snowfence.WaitError
	var full *counter.FullError
	switch {
	case errors.As(err, &wait):
		p.Detail, p.RetryAfter = wait.Error(), max(wait.Need, front.RetrySoon)
	case p.Type == front.CounterChanged:
		p.Detail, p.RetryAfter = err.Error(), 0
	case errors.As(err, &full) && full.Date != "":
		p.Detail, p.RetryAfter = "the numbers of "+full.Date+" are used up: they begin again with the next date", 0
	case p.Type == front.HorizonPassed, p.Type == front.NumbersUsedUp, p.Type == front.Internal, p.Type == front.RequestCancelled && errors.Is(err, context.Canceled), errors.Is(err, fence.ErrNamespaceReplaced):
		p.RetryAfter = 0 // time alone does not mend it
	}
	return p
}

// typeOf returns the type of a client's problem for a minter's error.
func typeOf(err error) front.Type {
	switch {
	case errors.Is(err, snowfence.ErrPastHorizon):
		return front.HorizonPassed
	case errors.Is(err, snowfence.ErrSaturated):
		return front.Saturated
	case errors.Is(err, counter.ErrFull):
		return front.NumbersUsedUp
	case errors.As(err, new(*counter.BackwardsError)), errors.Is(err, counter.ErrReplaced):
		return front.CounterChanged
	case errors.Is(err, counter.ErrUnavailable):
		return front.StoreUnavailable
	case errors.Is(err, fence.ErrClosed), errors.Is(err, counter.ErrClosed):
		return front.Stopped
	}
	switch snowfence.ClassOf(err) {
	case snowfence.ClassClock:
		return front.ClockUnsafe
	case snowfence.ClassLease, snowfence.ClassUnavailable:
		return front.LeaseUnavailable
	}
	// After the classes: a store that did not answer in time wraps one of these.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return front.RequestCancelled
	}
	return front.Internal
}
