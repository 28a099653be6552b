package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
)

// Holder gives a running program the ids of a namespace, across terms. It is
// safe for concurrent use.
//
// Within a term its ids strictly increase. Over terms they are unique, and
// ordered as well as the clocks of the worker ids agree.
type Holder struct {
	// current is the present term's generator, or the last one's, revoked. A call reads
	// nothing else while there is a term. Only the loop writes it. It is not nil after Open.
	current atomic.Pointer[snowfence.Generator]

	noWait  context.Context //nolint:containedctx // a constant: it has ended, see noWait
	config  Config
	maxWait time.Duration

	nudges  chan struct{} // a call found the term unusable; room for one
	closing chan struct{} // closed by Close
	abandon chan struct{} // closed when Close may wait no longer
	done    chan struct{} // closed when the loop has ended
	close   sync.Once
	give    sync.Once

	mu sync.Mutex // guards the fields below
	// changed is closed, and replaced, when a call that failed may now succeed or now
	// fails for good.
	changed chan struct{}
	lease   lease.View // as the loop last saw it
	status  Status     // computed from lease
	waiting Waiting    // of the claim; zero if it has not waited
	cause   error      // why Close waits no longer
	end     error      // the result of Close
}

// Open creates the namespace if it is new, claims a worker id and returns a holder that
// issues with it. It keeps one goroutine until [Holder.Close]. With the journal of an
// earlier process it goes on with that process's term, and waits for a silent store for two
// seconds at most.
//
// It returns within the claim-wait, twice the store's loss and a little more, or when ctx is
// done. When ctx ends it, Open gives back a worker id that it has claimed, which takes a second at
// most. It may return a *[LayoutMismatchError], *[HeldError], *[ExhaustedError], *[ClockError],
// *[TimeError], *[ConfigError], or the store's error: at once if that is [store.ErrDamaged]. An error of
// a store that fails or does not answer also wraps [ErrUnavailable].
func Open(ctx context.Context, config Config) (*Holder, error) {
	if config.Store == nil {
		return nil, errors.New("snowfence: fence: store is nil: must be given")
	}
	const most = 10 * time.Second // for the store's traits, and the namespace's layout
	limit := min(most, cmp.Or(config.ClaimWait, most), cmp.Or(config.RequestTimeout, most))
	if err := config.own(ctx, limit); err != nil {
		return nil, err
	}
	// A config that no store can use must not cost the journal's page.
	state, err := config.prepare()
	if err != nil {
		return nil, err
	}
	was, err := drive.Recall(ctx, config.Store, config.StoreName, config.Journal, config.Clock, config.Logger.With("namespace", config.Namespace), limit)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, fmt.Errorf("ask the store what it guarantees: %w", err) // the caller has left
	}
	if err != nil {
		return nil, fmt.Errorf("%w: ask the store what it guarantees: %w", ErrUnavailable, err)
	}
	if err := was.Traits.Validate(); err != nil {
		return nil, fmt.Errorf("ask the store what it guarantees: %w", err)
	}
	if state, err = state.Adapt(was.Traits.Loss, was.Journal); err != nil {
		return nil, err
	}
	if s, ok := config.Store.(interface{ Warnings() []string }); ok {
		for _, warning := range s.Warnings() {
			config.Logger.Warn(warning, "namespace", config.Namespace)
		}
	}
	h := &Holder{
		noWait:  noWait(),
		config:  config,
		maxWait: state.Config().MaxWait,
		nudges:  make(chan struct{}, 1),
		closing: make(chan struct{}),
		abandon: make(chan struct{}),
		done:    make(chan struct{}),
		changed: make(chan struct{}),
		status:  Status{Namespace: config.Namespace, Layout: config.Layout, Policy: config.Policy, Window: config.Window, Traits: was.Traits},
	}
	opened := make(chan error, 1)
	l := newLoop(h, opened)
	l.before = was.Page != nil
	if was.Certain {
		l.line.Trust()
	}
	l.driver = drive.New(drive.Config{State: state, Policy: config.Policy, Clock: config.Clock}, l)
	go l.run(was.Page)
	select {
	case err = <-opened:
	case <-ctx.Done():
		select {
		case err = <-opened: // the claim's outcome shows more
		default:
			err = h.cut(ctx)
		}
	}
	if err == nil {
		return h, nil
	}
	h.withdraw(err)
	return nil, err
}

// withdraw ends a holder that Open does not return. It gives a worker id back that it has claimed, if the store is
// quick. It leaves a term that it has resumed in the journal, where the next process finds it.
func (h *Holder) withdraw(cause error) {
	h.mu.Lock()
	quick := h.lease.Unanswered == nil && !h.lease.Inherited
	h.mu.Unlock()
	if quick {
		h.close.Do(func() { close(h.closing) })
		expired, stop := h.config.Clock.After(min(time.Second, h.config.RequestTimeout))
		defer stop()
		select {
		case <-h.done:
		case <-expired:
		}
	}
	h.leave(cause)
	<-h.done
}

// cut is the error of an Open whose context ended, with that of a store that did not answer.
func (h *Holder) cut(ctx context.Context) error {
	cause := context.Cause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if refused := h.lease.Unanswered; refused != nil {
		return fmt.Errorf("%w: claim a worker id: %w: %w", ErrUnavailable, cause, refused)
	}
	if h.waiting.For != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("snowfence: claim a worker id: %w: it waited for this: %w", cause, h.waiting.For)
	}
	return fmt.Errorf("snowfence: claim a worker id: %w", cause)
}

// Next returns the next id. While there is a term, it costs as little as the Next of a
// [snowfence.Generator]. When the term ends, it waits for the next one, unless there has been none for
// the policy's max-wait already. It waits for at most max-wait in all, in one term or over several.
//
// A *[UnavailableError] is returned when no term can issue, also if the context's time ends while Next waits for one: it
// wraps the context's error then. [ErrClosed] is returned after Close, and the generator's errors otherwise. An id that is
// there at once is returned whatever the context is.
func (h *Holder) Next(ctx context.Context) (snowfence.ID, error) {
	g := h.current.Load()
	id, err := g.Next(h.noWait)
	if err != nil {
		var one [1]snowfence.ID
		err = h.again(ctx, g, h.config.Clock.Monotonic(), err, numbers(one[:]))
		id = one[0]
	}
	return id, err
}

// NextWide is [Holder.Next] for a wide layout.
func (h *Holder) NextWide(ctx context.Context) (snowfence.WideID, error) {
	g := h.current.Load()
	id, err := g.NextWide(h.noWait)
	if err != nil {
		var one [1]snowfence.WideID
		err = h.again(ctx, g, h.config.Clock.Monotonic(), err, wides(one[:]))
		id = one[0]
	}
	return id, err
}

// Fill fills ids, in increasing order, and all from one term. It waits and fails as
// [Holder.Next] does. When it fails, no id of the batch may be used.
func (h *Holder) Fill(ctx context.Context, ids []snowfence.ID) error {
	return h.fill(ctx, numbers(ids))
}

// FillWide is [Holder.Fill] for a wide layout.
func (h *Holder) FillWide(ctx context.Context, ids []snowfence.WideID) error {
	return h.fill(ctx, wides(ids))
}

func (h *Holder) fill(ctx context.Context, fill fill) error {
	// In a hurry a batch could lose the slots that it has reserved already. Reading the
	// clock costs less.
	begun, g := h.config.Clock.Monotonic(), h.current.Load()
	err := fill(ctx, g, h.maxWait)
	if err != nil {
		// A new start keeps the batch within one term, and so in order.
		err = h.again(ctx, g, begun, err, fill)
	}
	return err
}

func numbers(ids []snowfence.ID) fill {
	return func(ctx context.Context, g *snowfence.Generator, limit time.Duration) error {
		return g.FillWithin(ctx, limit, ids)
	}
}

func wides(ids []snowfence.WideID) fill {
	return func(ctx context.Context, g *snowfence.Generator, limit time.Duration) error {
		return g.FillWideWithin(ctx, limit, ids)
	}
}

// Close ends the holder: no more ids are issued, the worker id is given back or left to the
// next process (see [Config.Journal]), and the goroutine ends. Close waits for the store and the journal until ctx is done, for two
// request timeouts at most: 20 s with the default window, 1.7 s with a pinned worker's. It does not wait when the store
// is away and anybody may claim the worker id: the window has ended, and so has that of a write under way.
//
// A *[NotReleasedError] is returned when the worker id could not be given back, and its window has not ended. It shows
// until when, and wraps the context's error if that ended the wait. Close does not wait for a store that
// was closed before it. Ids are safe then.
// A second Close waits for the same, and returns the same.
func (h *Holder) Close(ctx context.Context) error {
	h.close.Do(func() { close(h.closing) })
	limit := 2 * h.config.RequestTimeout
	expired, stop := h.config.Clock.After(limit)
	defer stop()
	select {
	case <-h.done:
	case <-ctx.Done():
		h.leave(context.Cause(ctx))
	case <-expired:
		h.leave(h.silence(limit))
	}
	<-h.done
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end
}

// silence is the error of a store, with its last error, or of a journal without an answer.
func (h *Holder) silence(lasted time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease.OnDisk {
		return fmt.Errorf("the journal's disk did not answer for %s", lasted)
	}
	if refused := h.lease.Unanswered; refused != nil && !errors.Is(refused, drive.ErrTimeout) && !errors.Is(refused, context.Canceled) {
		return fmt.Errorf("the store did not answer for %s: %w", lasted, refused)
	}
	return fmt.Errorf("the store did not answer for %s", lasted)
}

// leave makes the loop end at once.
func (h *Holder) leave(cause error) {
	h.give.Do(func() {
		h.mu.Lock()
		h.cause = cause
		h.mu.Unlock()
		close(h.abandon)
	})
}
