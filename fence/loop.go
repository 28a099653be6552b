package fence

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
)

// loop is the holder's one goroutine, around the driver of its lease. It brings the
// answers of the store and of the journal, and wakes the driver when it is time. It is the
// driver's shell and decides nothing.
type loop struct {
	*Holder
	driver *drive.Driver
	opened chan<- error    // takes the first claim's result; nil afterwards
	lost   <-chan struct{} // the generator's ClockLost, until it was closed

	wake     <-chan time.Time
	stopWake func() bool

	// The one request to the store that is under way. Its answer counts only while
	// answers is still the request's own channel.
	answers     <-chan lease.Event
	awaited     uint64
	expired     <-chan time.Time
	stopExpired func() bool
	cancel      context.CancelCauseFunc
	calls       sync.WaitGroup // the store's
	certain     atomic.Bool    // the store itself has returned its traits

	disk          *drive.Disk
	horizonWarned bool
	logged        string // the last claim's error that was logged
}

func newLoop(h *Holder, opened chan<- error) *loop {
	none := func() bool { return false }
	return &loop{Holder: h, opened: opened, disk: drive.NewDisk(h.config.Journal), stopWake: none, stopExpired: none, cancel: func(error) {}}
}

var (
	// errDropped ends a request whose answer is not awaited any more.
	errDropped = errors.New("the answer is not awaited any more")
)

func (l *loop) run(page *stored.Page) {
	defer close(l.done)
	l.take(lease.Started{Page: page})
	closing := l.closing
	for l.driver.State().View().Phase != lease.Stopped {
		select {
		case answer := <-l.answers:
			l.drop()
			l.take(answer)
		case event := <-l.disk.Written():
			l.take(event)
		case <-l.expired:
			l.expired = nil
			l.cancel(drive.ErrTimeout)
			l.take(lease.Reply{ID: l.awaited, Err: drive.ErrTimeout})
		case <-l.wake:
			l.take(lease.Woken{})
		case <-l.lost:
			l.lost = nil
			l.take(lease.Woken{})
		case <-l.nudges:
			l.take(lease.WindowEnded{})
		case <-closing:
			closing = nil
			l.take(lease.ReleaseAsked{})
		case <-l.abandon:
			l.leaveBehind()
			return
		}
	}
	l.drop()
	l.stopWake()
	ended := make(chan struct{})
	go func() {
		l.calls.Wait()
		l.disk.Rest() // the page of a term that ended may be going
		close(ended)
	}()
	select {
	case <-ended:
	case <-l.abandon: // the store may ignore its contexts: do not wait for it
	}
}

// take takes an event to the driver, and sets the timer.
func (l *loop) take(e lease.Event) {
	l.stopWake()
	l.wake = nil
	err := l.driver.Take(e)
	if err != nil {
		l.config.Logger.Error("draw random bits", "error", err)
		l.wake, l.stopWake = l.config.Clock.After(time.Second)
	} else if at, ok := l.driver.Wake(); ok {
		l.wake, l.stopWake = l.config.Clock.After(max(0, at-l.config.Clock.Monotonic()))
	}
	l.publish()
}

// leaveBehind ends without a release. The worker id rests until its ticks are over.
func (l *loop) leaveBehind() {
	l.drop()
	l.stopWake()
	l.driver.Abandon()
	state := l.driver.State()
	if worker, until, rests := state.Rests(); rests {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.end = &NotReleasedError{Worker: worker, Until: l.config.Layout.TimeOf(until), Journal: state.View().Kept > 0, Reason: l.cause}
	}
}

// Random implements [drive.Shell].
func (l *loop) Random(b []byte) error {
	_, err := io.ReadFull(l.config.Rand, b)
	return err
}

// Began implements [drive.Shell].
func (l *loop) Began(g *snowfence.Generator, r lease.Start) {
	l.lost, l.logged = g.ClockLost(), ""
	l.current.Store(g)
	l.logTerm(r)
	l.publish() // before Open returns and its caller asks for the status
	l.answerOpen(nil)
}

// Sealed implements [drive.Shell].
func (l *loop) Sealed(snowfence.Tick) { l.lost = nil }

// Request implements [drive.Shell].
func (l *loop) Request(request lease.Request) {
	switch request.(type) {
	case lease.Keep, lease.Discard:
		l.disk.Do(request)
	default:
		l.call(request)
	}
}

// call makes a request to the store, and drops the answer of an earlier one. The goroutines
// of a store that ignores its contexts add up, one for each request. Waiting for them
// would stop the holder too.
func (l *loop) call(request lease.Request) {
	l.drop()
	ctx, cancel := context.WithCancelCause(context.Background())
	answers := make(chan lease.Event, 1) // room for an answer that is not awaited
	l.cancel, l.answers, l.awaited = cancel, answers, drive.ID(request)
	l.expired, l.stopExpired = l.config.Clock.After(l.requestTimeout())
	l.calls.Go(func() {
		begun := l.config.Clock.Monotonic()
		answer := l.ask(ctx, request)
		if reply, ok := answer.(lease.Reply); ok && !errors.Is(context.Cause(ctx), errDropped) {
			l.count(l.config.Clock.Monotonic()-begun, reply)
		}
		answers <- answer
	})
}

// ask makes a request, after the store has returned its traits.
func (l *loop) ask(ctx context.Context, request lease.Request) lease.Event {
	if !l.certain.Load() {
		traits, err := l.config.Store.Traits(ctx)
		if err == nil {
			err = traits.Validate()
		}
		if err != nil {
			return lease.Reply{ID: drive.ID(request), Err: err}
		}
		if unfit := l.judgeTraits(traits); unfit != nil {
			return lease.Unfit{Err: unfit}
		}
		l.certain.Store(true)
	}
	return drive.Ask(ctx, l.config.Store, request)
}

// drop ends the request that is under way, if there is one.
func (l *loop) drop() {
	l.cancel(errDropped)
	l.stopExpired()
	l.expired, l.answers = nil, nil
}

// requestTimeout is how long the next request may take: no longer than the rest of its
// claim, but long enough for one last look.
func (l *loop) requestTimeout() time.Duration {
	limit := l.config.RequestTimeout
	if deadline, ok := l.driver.State().Deadline(); ok {
		limit = min(limit, max(deadline-l.config.Clock.Monotonic(), leastTimeout))
	}
	return limit
}

// count counts a request that was answered.
func (l *loop) count(took time.Duration, reply lease.Reply) {
	wall := l.config.Clock.Wall()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status
	s.Store.Requests++
	s.Store.Latency = took
	if reply.Err != nil {
		s.Store.Errors++
		s.Store.LastError = reply.Err
	}
	if reply.Outcome == lease.Told {
		s.ClockOffset, s.ClockCompared = wall.Sub(reply.Time), true
	}
}

// answerOpen lets Open return, the first time.
func (l *loop) answerOpen(err error) {
	if l.opened != nil {
		l.opened <- err
		l.opened = nil
	}
}
