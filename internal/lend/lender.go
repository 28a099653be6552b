package lend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// ErrUnavailable is wrapped by the error of a request whose outcome is not known in time, or that the store refused: the
// same request again may succeed.
var ErrUnavailable = snowfence.NewError(snowfence.ClassUnavailable, "snowfence: the lease could not be looked after")

// Lender serves borrowers of one generator. It keeps nothing of a lease. It is safe for concurrent use.
type Lender struct {
	Terms Terms
	Store store.Store
	Clock snowfence.Clock

	// Random fills b with unpredictable bits, never the same twice.
	Random func(b []byte) error
}

// Claim claims a worker id. It ends when ctx does. If the borrower has left by then, the worker id is given back at once.
//
// It returns a *[stored.ConfigError] for a borrower that can't be right, a *[lease.ClockError] for its clock, an error that
// wraps [lease.ErrNoWorker] if no worker id is free, and one that wraps [ErrUnavailable] if the store does not do its part.
func (l *Lender) Claim(ctx context.Context, b Borrower) (Answer, error) {
	c, err := l.Terms.Claim(b, l.Clock.Wall())
	if err != nil {
		return Answer{}, err
	}
	if err := l.run(ctx, c.Next); err != nil {
		return Answer{}, err
	}
	answer := c.Answer()
	if ctx.Err() == nil {
		return answer, nil
	}
	l.Return(answer, b)
	return Answer{}, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
}

// Return gives the worker id of a claim back whose answer was not sent. It waits for a second at most.
func (l *Lender) Return(a Answer, b Borrower) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.Release(ctx, Release{Borrower: b, Lease: a.Lease, Mark: "0000000000000000", Next: &a.Floor}) // otherwise it rests for a window
}

// Extend moves the bound of a lease. It returns a *[stored.ConfigError], a *[lease.ClockError], and errors that wrap
// [ErrGone] or [ErrUnavailable].
func (l *Lender) Extend(ctx context.Context, e Extension) (Answer, error) {
	x, err := l.Terms.Extend(e, l.Clock.Wall())
	if err != nil {
		return Answer{}, err
	}
	if err := l.run(ctx, func(r lease.Reply, _ lease.Moment) Step { return x.Next(r) }); err != nil {
		return Answer{}, err
	}
	return x.Answer(), nil
}

// Release gives a worker id back. It returns a *[stored.ConfigError], and errors that wrap [ErrGone] or [ErrUnavailable].
func (l *Lender) Release(ctx context.Context, r Release) error {
	x, err := l.Terms.Release(r, l.Clock.Wall())
	if err != nil {
		return err
	}
	return l.run(ctx, func(r lease.Reply, _ lease.Moment) Step { return x.Next(r) })
}

// run carries out the steps of a request.
func (l *Lender) run(ctx context.Context, next func(lease.Reply, lease.Moment) Step) error {
	reply, last := lease.Reply{}, error(nil)
	for {
		now := lease.Moment{Wall: l.Clock.Wall(), Monotonic: l.Clock.Monotonic()}
		if err := l.Random(now.Random[:]); err != nil {
			return fmt.Errorf("draw random bits: %w", err)
		}
		step := next(reply, now)
		switch {
		case step.Done && step.Err != nil:
			return refusal(step.Err)
		case step.Done:
			return nil
		}
		if step.Pause > 0 {
			if err := (drive.Patience{}).Wait(ctx, l.Clock, step.Pause); err != nil {
				return errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, err), last)
			}
		}
		reply = lease.Reply{}
		if step.Call.Verb != 0 {
			if reply = drive.Ask(ctx, l.Store, step.Call); reply.Err != nil {
				last = reply.Err
			}
		}
	}
}

// refusal is the error of a request with a class, by which its callers distinguish it.
func refusal(err error) error {
	var typed interface{ Class() snowfence.Class }
	if errors.As(err, &typed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Census is how many worker ids are lent.
type Census struct {
	Pool    int64 // how many worker ids a claim may use
	Lent    int64 // how many of them borrowers hold, or gave back with a bound that lies ahead: no claim gets them yet
	ByToken map[string]int64
}

// Census lists the registers and counts. It is for limits: claims under way are not in it.
func (l *Lender) Census(ctx context.Context) (Census, error) {
	config := l.Terms.Config
	has, size, err := config.Pool(l.Terms.Known)
	if err != nil {
		return Census{}, err
	}
	census, wall := Census{Pool: size, ByToken: map[string]int64{}}, l.Clock.Wall()
	for e, err := range l.Store.List(ctx, stored.RegisterPrefix(config.Namespace)) {
		if err != nil {
			return Census{}, fmt.Errorf("%w: count the lent worker ids: %w", ErrUnavailable, err)
		}
		worker, ok := stored.WorkerOf(config.Namespace, config.Layout, e.Key)
		r, err := stored.DecodeRegister(e.Value)
		if !ok || err != nil || !has(worker) {
			continue
		}
		r.Quarantined = false // its borrower has it until the bound
		standing := l.Terms.Known.Judge(r, config.Layout, wall, config.MaxRollback)
		if token, lent := r.Process.Lent(); lent && (standing == stored.Held || standing == stored.Ahead) {
			census.Lent++
			census.ByToken[token]++
		}
	}
	return census, nil
}
