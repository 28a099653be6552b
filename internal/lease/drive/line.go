package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/store"
)

// Line makes the calls to a store, one at a time, beside the goroutine that owns it. The
// goroutines of a store that ignores its contexts add up, one for each call. Waiting for
// them would stop the holder too.
type Line struct {
	Store store.Store
	Clock snowfence.Clock

	// Judge takes the store's traits before the first call. After an error no call is made,
	// and its answer is [lease.Unfit].
	Judge func(store.Traits) error

	// Answered is called with each answer, and how long it took.
	Answered func(took time.Duration, reply lease.Reply)

	judged  atomic.Bool
	answers <-chan lease.Event // of the last call; nil while idle
	cancel  context.CancelCauseFunc
	calls   sync.WaitGroup
}

// mostLate is how long a store may take to report why it did not answer in time.
const mostLate = 100 * time.Millisecond

// timedOut is ErrTimeout with the store's own error. That its context ended explains nothing.
func timedOut(err error) error {
	if err == nil || errors.Is(err, ErrTimeout) {
		return err
	}
	if strings.HasSuffix(err.Error(), context.Canceled.Error()) {
		return ErrTimeout
	}
	return fmt.Errorf("%w: %w", ErrTimeout, err)
}

// errDropped ends a call whose answer is not awaited any more.
var errDropped = errors.New("the answer is not awaited any more")

// Answers yields the answer to the last call. It is [ErrTimeout] if none came in time, with the store's
// own error when its call is ended: that no connection came about, for one.
func (l *Line) Answers() <-chan lease.Event { return l.answers }

// Trust means that the traits are taken as they are.
func (l *Line) Trust() { l.judged.Store(true) }

// Call makes a call, and awaits its answer for as long as patience. The answer to an earlier
// one is dropped.
func (l *Line) Call(call lease.Call, patience time.Duration) {
	l.Drop()
	ctx, cancel := context.WithCancelCause(context.Background())
	answers := make(chan lease.Event, 2) // room for the answer and for ErrTimeout
	l.cancel, l.answers = cancel, answers
	begun := l.Clock.Monotonic()
	expired, stop := l.Clock.After(patience)
	ended := make(chan struct{})
	go func() {
		defer stop()
		select {
		case <-expired:
			cancel(ErrTimeout)
		case <-ctx.Done():
			return
		}
		late, stop := l.Clock.After(min(patience/10, mostLate))
		defer stop()
		select {
		case <-late: // the store ignores its contexts
			answers <- lease.Reply{ID: call.ID, Err: ErrTimeout}
		case <-ended:
		}
	}()
	l.calls.Go(func() {
		defer close(ended)
		answer := l.ask(ctx, call)
		if reply, ok := answer.(lease.Reply); ok && !errors.Is(context.Cause(ctx), errDropped) {
			l.Answered(l.Clock.Monotonic()-begun, reply)
			if errors.Is(context.Cause(ctx), ErrTimeout) {
				reply.Err = timedOut(reply.Err)
				answer = reply
			}
		}
		answers <- answer
	})
}

// ask makes a call, after the store has returned its traits.
func (l *Line) ask(ctx context.Context, call lease.Call) lease.Event {
	if !l.judged.Load() {
		traits, err := l.Store.Traits(ctx)
		if err == nil {
			err = traits.Validate()
		}
		if err != nil {
			return lease.Reply{ID: call.ID, Err: err}
		}
		if unfit := l.Judge(traits); unfit != nil {
			return lease.Unfit{Err: unfit}
		}
		l.judged.Store(true)
	}
	return Ask(ctx, l.Store, call)
}

// Drop ends the call that is under way, if there is one.
func (l *Line) Drop() {
	if l.cancel != nil {
		l.cancel(errDropped)
	}
	l.answers = nil
}

// Rest waits until every call has ended.
func (l *Line) Rest() { l.calls.Wait() }
