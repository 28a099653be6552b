package drive

import (
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// Patience sets how an operator's write on a lossy store becomes certain. The zero value waits
// in silence.
type Patience struct {
	// Waiting is called before a wait, with its end by this machine's clock. It may be nil.
	Waiting func(until time.Time)
}

// UncertainError is returned for a write that took effect, and that a failover of its lossy
// store may have taken back, or still may.
type UncertainError struct {
	What   string    // counter orders, worker 7
	Until  time.Time // when the write is older than the store's loss, by this machine's clock
	Reason error     // why it is not confirmed
}

// Error shows from when on the write is to be repeated.
func (e *UncertainError) Error() string {
	until := e.Until.UTC().Add(time.Second - 1).Format(time.RFC3339) // never too early
	return fmt.Sprintf("snowfence: %s: not certain before %s: %v: repeat it after that time", e.What, until, e.Reason)
}

// Unwrap returns the reason.
func (e *UncertainError) Unwrap() error { return e.Reason }

// Class is [snowfence.ClassUnavailable]: to repeat it later may help.
func (*UncertainError) Class() snowfence.Class { return snowfence.ClassUnavailable }

// Confirm makes an acknowledged write certain. It is the one rule for all writes to a store
// that are not a holder's. It waits until due, on the monotonic clock: the time of the
// acknowledgement plus the store's loss. Then it calls confirm, which swaps the register again and
// returns an error unless the swap shows that the write is still there. Every failure is an
// *[UncertainError].
func (p Patience) Confirm(
	ctx context.Context, clock snowfence.Clock, what string, due time.Duration, confirm func(context.Context) error,
) error {
	left := due - clock.Monotonic()
	until := clock.Wall().Add(left)
	if err := p.Wait(ctx, clock, left); err != nil {
		return &UncertainError{what, until, err}
	}
	if err := confirm(ctx); err != nil {
		return &UncertainError{what, until, err}
	}
	return nil
}

// Wait calls Waiting and waits for d. It returns ctx's cause if that ends first.
func (p Patience) Wait(ctx context.Context, clock snowfence.Clock, d time.Duration) error {
	if p.Waiting != nil && d > 0 {
		p.Waiting(clock.Wall().Add(d))
	}
	expired, stop := clock.After(max(0, d))
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
