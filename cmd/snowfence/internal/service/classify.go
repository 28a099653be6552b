package service

import (
	"context"
	"errors"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
)

// retrySoon is when to come back where nothing better is known. A lost lease
// is claimed again within a second if the store answers.
const retrySoon = time.Second

// classify makes a problem of a minter's error.
func classify(err error) *Problem {
	p := &Problem{Type: typeOf(err), RetryAfter: retrySoon, cause: err}
	p.Detail = p.Type.describe().detail
	var wait *snowfence.WaitError
	switch {
	case errors.As(err, &wait):
		p.Detail, p.RetryAfter = wait.Error(), max(wait.Need, retrySoon)
	case p.Type == HorizonPassed, p.Type == Internal, p.Type == RequestCancelled && errors.Is(err, context.Canceled), errors.Is(err, fence.ErrNamespaceReplaced):
		p.RetryAfter = 0 // time alone does not mend it
	}
	return p
}

// typeOf returns what a minter's error means to a client.
func typeOf(err error) Type {
	switch {
	case errors.Is(err, snowfence.ErrPastHorizon):
		return HorizonPassed
	case errors.Is(err, snowfence.ErrSaturated):
		return Saturated
	case errors.Is(err, fence.ErrClosed):
		return Stopped
	}
	switch snowfence.ClassOf(err) {
	case snowfence.ClassClock:
		return ClockUnsafe
	case snowfence.ClassLease, snowfence.ClassUnavailable:
		return LeaseUnavailable
	}
	// After the classes: a store that did not answer in time wraps one of these.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return RequestCancelled
	}
	return Internal
}
