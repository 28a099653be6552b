package service

import (
	"context"
	"errors"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/kind"
)

// retrySoon is when to come back where nothing better is known. A lost lease
// is claimed again within a second if the store answers.
const retrySoon = time.Second

// cause is what a minter may fail with, and what that means to a client.
type cause struct {
	is     error
	means  Type
	detail string
	retry  time.Duration
}

// causes returns what minters fail with. The first that an error wraps counts:
// what is wrong with the clock comes before what follows from it, and an ended
// context last, since a store that did not answer in time wraps one as well.
func causes() []cause {
	return []cause{
		{snowfence.ErrPastHorizon, HorizonPassed, "the layout's time bits are used up: an operator must move to another namespace", 0},
		{snowfence.ErrBeforeEpoch, ClockUnsafe, "the server's clock stands before the layout's epoch", retrySoon},
		{snowfence.ErrClockStepped, ClockUnsafe, "the server's clock stepped forward", retrySoon},
		{snowfence.ErrClockBehind, ClockUnsafe, "the server's clock is behind ids already minted", retrySoon},
		{fence.ErrClosed, Stopped, "the server is ending", retrySoon},
		{fence.ErrNamespaceReplaced, LeaseUnavailable, "the namespace was replaced in the store: an operator must look", 0},
		{snowfence.ErrWindowEnded, LeaseUnavailable, "the lease's window ended and could not be extended", retrySoon},
		{fence.ErrUnavailable, LeaseUnavailable, "the server has no lease and is claiming one", retrySoon},
		{snowfence.ErrRevoked, LeaseUnavailable, "the lease was lost", retrySoon},
		{kind.ErrUnavailable, LeaseUnavailable, "no ids can be minted at present", retrySoon},
		{context.Canceled, RequestCancelled, "the request was given up", 0},
		{context.DeadlineExceeded, RequestCancelled, "the request took longer than it may", retrySoon},
	}
}

// classify makes a problem of a minter's error. It is the only place that
// knows what went wrong in the terms of those who mint.
func classify(err error) *Problem {
	var wait *snowfence.WaitError
	if errors.As(err, &wait) {
		p := &Problem{Type: ClockUnsafe, Detail: wait.Error(), RetryAfter: max(wait.Need, retrySoon), cause: err}
		if errors.Is(err, snowfence.ErrSaturated) {
			p.Type = Saturated
		}
		return p
	}
	var clock *fence.ClockError
	if errors.As(err, &clock) {
		return &Problem{Type: ClockUnsafe, Detail: "the server's clock was refused by its reference", RetryAfter: retrySoon, cause: err}
	}
	for _, c := range causes() {
		if errors.Is(err, c.is) {
			return &Problem{Type: c.means, Detail: c.detail, RetryAfter: c.retry, cause: err}
		}
	}
	return &Problem{Type: Internal, Detail: "the server's log says more", cause: err}
}
