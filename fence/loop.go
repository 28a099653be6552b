package fence

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// loop is the holder's one goroutine. It owns the lease's state: it takes
// events to it and carries out what it asks for. It decides nothing.
type loop struct {
	*Holder
	state  lease.State
	events []lease.Event // what happened and was not taken to the state yet
	opened chan<- error  // takes the first claim's result; nil afterwards

	generator *snowfence.Generator // the present term's; nil without one
	lost      <-chan struct{}      // its ClockLost, until that was heard
	told      lease.ClockLost      // what was told of its clock last
	telling   bool                 // and whether anything was

	wake     <-chan time.Time // the state's one timer
	stopWake func() bool

	// The one request to the store that is under way. Its answer counts only
	// while answers is the channel that it was made with.
	answers     chan lease.Reply
	awaited     uint64
	expired     <-chan time.Time
	stopExpired func() bool
	cancel      context.CancelCauseFunc
	calls       sync.WaitGroup // the store's

	written <-chan lease.Event // what the journal's disk did last
	turn    <-chan struct{}    // closed when it is idle again
	hangs   bool               // it has yet to end what was given up before its last call

	certain     bool // the store's traits are known from the store
	traitsFound <-chan traitsFound
	stopTraits  context.CancelFunc

	outage        outage
	horizonWarned bool
	logged        string // the last claim's error that was logged
}

func newLoop(h *Holder, state lease.State, opened chan<- error) *loop {
	none := func() bool { return false }
	return &loop{Holder: h, state: state, opened: opened, turn: idle(), stopWake: none, stopExpired: none, cancel: func(error) {}, stopTraits: func() {}, outage: outage{stopLook: none}}
}

var (
	// errTimeout is the unknown outcome of a request that was not answered in
	// time.
	errTimeout = errors.New("the store did not answer in time")

	// errDropped ends a request whose answer nobody awaits any more.
	errDropped = errors.New("the answer is not awaited any more")
)

func (l *loop) run(page *lease.Page) {
	defer close(l.done)
	l.step(lease.Started{Page: page})
	closing := l.closing
	for l.state.View().Phase != lease.Stopped {
		select {
		case reply := <-l.answers:
			l.settleCalls()
			l.step(reply)
			l.ascertain(reply)
		case event := <-l.written:
			l.step(event)
		case found := <-l.traitsFound:
			l.judgeTraits(found)
		case <-l.expired:
			l.expired = nil
			l.cancel(errTimeout)
			l.step(lease.Reply{ID: l.awaited, Err: errTimeout})
		case <-l.wake:
			l.watchClock()
			l.step(lease.Woken{})
		case <-l.lost:
			l.lost = nil
			l.watchClock()
		case <-l.outage.look:
			l.watchClock()
		case <-l.nudges:
			l.watchClock()
			l.step(lease.WindowEnded{})
		case <-closing:
			closing = nil
			l.step(lease.ReleaseAsked{})
		case <-l.abandon:
			l.leaveBehind()
			return
		}
		l.assess()
	}
	l.settleCalls()
	l.stopWake()
	l.stopTraits()
	ended := make(chan struct{})
	go func() {
		l.calls.Wait()
		if !l.hangs {
			<-l.turn // the page of a term that ended may be going
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-l.abandon: // a store that does not heed its contexts is not waited for
	}
}

// leaveBehind ends without a release: the worker id rests until its ticks are
// over.
func (l *loop) leaveBehind() {
	l.settleCalls()
	l.stopWake()
	l.stopTraits()
	l.outage.stopLook()
	l.seal(ErrClosed)
	if worker, until, rests := l.state.Rests(); rests {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.end = &NotReleasedError{Worker: worker, Until: l.config.Layout.TimeOf(until), Journal: l.state.View().Kept > 0, Reason: l.cause}
	}
}

// settleCalls ends the request that is under way, if any.
func (l *loop) settleCalls() {
	l.cancel(errDropped)
	l.stopExpired()
	l.expired, l.answers = nil, nil
}

// step takes an event, and whatever follows from it at once, to the state.
func (l *loop) step(e lease.Event) {
	l.stopWake()
	if len(l.events) == 0 || !passing(e) {
		l.events = append(l.events, e)
	}
	for len(l.events) > 0 {
		now, err := l.moment()
		if err != nil {
			// Without random bits there is no nonce, and so no step. The term
			// lasts as long as its window. The events are kept: an answer comes
			// once, and so does the wish to end.
			l.config.Logger.Error("draw random bits", "error", err)
			l.stalls(err)
			l.wake, l.stopWake = l.config.Clock.After(time.Second)
			return
		}
		l.stalls(nil)
		var requests []lease.Request
		e, l.events = l.events[0], l.events[1:]
		l.state, requests = l.state.Step(e, now)
		for _, request := range requests {
			if reserved, drained := l.perform(request); drained {
				l.events = append(l.events, lease.Drained{Reserved: reserved})
			}
		}
	}
	l.wake = nil
	if at, ok := l.state.Wake(); ok {
		l.wake, l.stopWake = l.config.Clock.After(max(0, at-l.config.Clock.Monotonic()))
	}
	l.publish()
}

// passing reports whether an event only says what time it is, so that it need
// not be kept behind others.
func passing(e lease.Event) bool {
	switch e.(type) {
	case lease.Woken, lease.WindowEnded:
		return true
	default:
		return false
	}
}

func (l *loop) moment() (lease.Moment, error) {
	now := lease.Moment{Wall: l.config.Clock.Wall(), Monotonic: l.config.Clock.Monotonic()}
	if l.generator != nil && l.config.Journal != nil {
		now.Stamping = l.generator.Status().Now
	}
	_, err := io.ReadFull(l.config.Rand, now.Random[:])
	return now, err
}

// perform carries out a request.
func (l *loop) perform(request lease.Request) (reserved snowfence.Tick, drained bool) {
	switch r := request.(type) {
	case lease.Get:
		l.call(r.ID, "get", func(ctx context.Context) lease.Reply { return get(ctx, l.config.Store, r) })
	case lease.Swap:
		l.call(r.ID, "swap", func(ctx context.Context) lease.Reply { return swap(ctx, l.config.Store, r) })
	case lease.List:
		l.call(r.ID, "list", func(ctx context.Context) lease.Reply { return list(ctx, l.config.Store, r) })
	case lease.Ask:
		l.call(r.ID, "clock", func(ctx context.Context) lease.Reply { return ask(ctx, l.config.Store, r) })
	case lease.Start:
		l.start(r)
	case lease.Extend:
		l.extend(r)
	case lease.Revoke:
		l.seal(r.Cause)
		l.suffers(r.Cause, true, false)
	case lease.Drain:
		return l.seal(ErrClosed), true
	case lease.Keep:
		l.keep(r)
	case lease.Discard:
		l.discard(r)
	case lease.Report:
		l.report(r)
	}
	return 0, false
}

// seal ends the generator, and returns the tick below which all lie that it
// issued.
func (l *loop) seal(cause error) (reserved snowfence.Tick) {
	if l.generator != nil {
		reserved = l.generator.Revoke(cause)
	}
	l.generator, l.lost = nil, nil
	return reserved
}

// start makes the generator of a new term and lets calls have it.
func (l *loop) start(r lease.Start) {
	g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{
		Layout: l.config.Layout, Worker: &r.Worker, Floor: r.Floor, Until: r.Until,
		Policy: l.config.Policy, Clock: l.config.Clock, CachedClock: l.config.CachedClock,
	})
	if err != nil {
		// The lease asks for nothing that a generator refuses.
		l.report(lease.Report{What: lease.Broken, Err: err})
		return
	}
	l.generator, l.lost, l.telling, l.logged = g, g.ClockLost(), false, ""
	l.outage.began = true
	l.current.Store(g)
	l.mayRecover()
	until := l.config.Layout.TimeOf(l.state.View().Usable)
	if r.Resumed {
		l.config.Logger.Info("resumed a term from the journal", "namespace", l.config.Namespace, "worker", r.Worker, "term", r.Term,
			"until", until, "above", l.config.Layout.TimeOf(r.Floor))
	} else {
		l.config.Logger.Info("claimed a worker id", "namespace", l.config.Namespace, "worker", r.Worker, "term", r.Term,
			"until", until, "clock-compared", r.Compared)
	}
	l.publish() // before anybody hears of it and asks how it stands
	l.answerOpen(nil)
}

// extend moves the end of the window. A generator that revoked itself because
// of its clock refuses; that is heard of by ClockLost.
func (l *loop) extend(r lease.Extend) {
	if l.generator == nil {
		return
	}
	if err := l.generator.Extend(r.Until); err != nil {
		l.config.Logger.Debug("extend the generator's window", "error", err)
		return
	}
	l.mayRecover()
}

// mayRecover lets calls go on if the generator issues. What took effect late
// may have brought it a bound that has passed already: then the outage lasts.
func (l *loop) mayRecover() {
	l.generator.CheckClock()
	if refusal(l.config.Layout, l.generator.Status(), l.config.Clock.Wall()) == nil {
		l.recovered()
	}
}

// watchClock looks at the clock on behalf of a generator that may be idle, and
// tells the state what the generator finds, once.
func (l *loop) watchClock() {
	if l.generator == nil {
		return
	}
	l.generator.CheckClock()
	status := l.generator.Status()
	finding := lease.ClockLost{Stepped: errors.Is(status.Revoked, snowfence.ErrClockStepped)}
	if !status.ClockLost {
		l.telling = false
		if status.Revoked == nil && status.Now < status.Until {
			l.recovered()
		}
	} else if !l.telling || l.told != finding {
		l.telling, l.told = true, finding
		l.step(finding)
	}
}

// report tells the log, the calls that wait and the owner.
func (l *loop) report(r lease.Report) {
	log := l.config.Logger.With("namespace", l.config.Namespace)
	switch r.What {
	case lease.Noted:
		log.Warn("lease", "note", r.Err)
	case lease.Waiting:
		l.waits(log, r.Err)
	case lease.GaveUp:
		text := r.Err.Error()
		if outside := new(lease.TimeError); errors.As(r.Err, &outside) {
			text = outside.Reason.Error() // without the time, which is another each time
		}
		if text != l.logged { // it is tried again and again
			l.logged = text
			log.Error("claim a worker id", "error", r.Err)
		}
		l.suffers(r.Err, true, false)
		l.answerOpen(r.Err)
	case lease.Broken:
		log.Error("the holder can issue no more ids", "error", r.Err)
		l.suffers(r.Err, true, true)
		l.answerOpen(r.Err)
	case lease.Lost:
		log.Error("lost a worker id", "worker", r.Worker, "term", r.Term, "error", r.Err)
		l.mu.Lock()
		l.status.Losses++
		l.mu.Unlock()
		if l.config.OnLoss != nil {
			go l.config.OnLoss(Loss{Namespace: l.config.Namespace, Worker: r.Worker, Term: r.Term, Reason: r.Err})
		}
	case lease.Ended:
		log.Info("closed")
	}
}

// waits says what a claim waits for.
func (l *loop) waits(log *slog.Logger, what error) {
	var held *lease.HeldError
	var full *lease.ExhaustedError
	var young *lease.YoungError
	switch limit := l.state.Config().ClaimWait; {
	case errors.As(what, &held):
		log.Info("waiting for "+held.Occupant.String(), "claim-wait", limit)
	case errors.As(what, &full):
		next := "unknown"
		if len(full.First) > 0 {
			next = full.First[0].String()
		}
		log.Info("waiting for a worker id", "workers", full.Workers, "held", full.Held, "ahead", full.Ahead,
			"quarantined", full.Quarantined, "unusable", full.Unusable, "next", next, "claim-wait", limit)
	case errors.As(what, &young):
		log.Info("waiting until the store can't lose "+young.Written+" any more", "for", young.For)
	}
}

// answerOpen lets Open return, the first time.
func (l *loop) answerOpen(err error) {
	if l.opened != nil {
		l.opened <- err
		l.opened = nil
	}
}

// requestTimeout is how long the next request may take: no longer than what is
// left of the claim that it is for, but long enough for one last look.
func (l *loop) requestTimeout() time.Duration {
	limit := l.config.RequestTimeout
	if deadline, ok := l.state.Deadline(); ok {
		limit = min(limit, max(deadline-l.config.Clock.Monotonic(), leastTimeout))
	}
	return limit
}

// call makes a request to the store, in place of one whose answer is not
// awaited any more. The goroutines of a store that heeds no context add up, one
// for each request; to wait for them instead would be to hold still with it.
func (l *loop) call(id uint64, name string, request func(context.Context) lease.Reply) {
	l.settleCalls()
	ctx, cancel := context.WithCancelCause(context.Background())
	answers := make(chan lease.Reply, 1) // room for an answer that nobody awaits
	l.cancel, l.answers, l.awaited = cancel, answers, id
	l.expired, l.stopExpired = l.config.Clock.After(l.requestTimeout())
	l.calls.Go(func() {
		begun := l.config.Clock.Monotonic()
		reply := request(ctx)
		reply.ID = id
		if !errors.Is(context.Cause(ctx), errDropped) {
			l.observe(name, l.config.Clock.Monotonic()-begun, reply)
		}
		answers <- reply
	})
}
