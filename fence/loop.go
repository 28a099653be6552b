package fence

import (
	"errors"
	"fmt"
	"io"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// loop is the holder's one goroutine, the shell around the driver of its lease. It brings the
// answers of the store and of the journal, and wakes the driver. It decides nothing.
type loop struct {
	*Holder
	driver *drive.Driver
	opened chan<- error    // takes the first claim's result; nil afterwards
	lost   <-chan struct{} // the generator's ClockLost, until it was closed

	wake     <-chan time.Time
	stopWake func() bool

	line          *drive.Line
	disk          *drive.Disk
	before        bool // the journal has a term of an earlier process
	horizonWarned bool
	standing      Standing
	logged        string // the type of the last claim's error that was logged
	loggedAt      time.Duration
}

func newLoop(h *Holder, opened chan<- error) *loop {
	l := &loop{Holder: h, opened: opened, disk: drive.NewDisk(h.config.Journal, h.config.StoreName), stopWake: func() bool { return false }}
	l.line = &drive.Line{Store: h.config.Store, Clock: h.config.Clock, Judge: l.judgeTraits, Answered: l.count}
	return l
}

func (l *loop) run(page *stored.Page) {
	defer close(l.done)
	l.take(lease.Started{Page: page})
	closing := l.closing
	for l.driver.State().View().Phase != lease.Stopped {
		select {
		case answer := <-l.line.Answers():
			l.line.Drop()
			l.take(answer)
			if reply, ok := answer.(lease.Reply); ok && closing == nil && errors.Is(reply.Err, store.ErrClosed) {
				l.leave(fmt.Errorf("%w before the holder: close the holder first", reply.Err)) // it stays closed
			}
		case event := <-l.disk.Written():
			l.take(event)
		case <-l.wake:
			l.take(lease.Woken{})
		case <-l.lost:
			l.lost = nil
			l.take(lease.Woken{})
		case <-l.nudges:
			l.take(lease.WindowEnded{})
		case <-closing:
			closing = nil
			if l.free() && l.driver.State().View().Unanswered != nil {
				l.leaveBehind() // without a wait for a store that is away
				return
			}
			l.take(lease.ReleaseAsked{})
		case <-l.abandon:
			l.leaveBehind()
			return
		}
	}
	l.line.Drop()
	l.stopWake()
	ended := make(chan struct{})
	go func() {
		l.line.Rest()
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
	l.stand()
}

// free reports whether there is nothing to give back: any process may claim the worker id.
func (l *loop) free() bool {
	_, tick, rests := l.driver.State().Rests()
	return !rests || l.config.Layout.Workers() > 1 && !l.config.Layout.TimeOf(tick).After(l.config.Clock.Wall())
}

// leaveBehind ends without a release. The worker id rests until its ticks are over.
func (l *loop) leaveBehind() {
	l.line.Drop()
	l.stopWake()
	l.driver.Abandon()
	log := l.config.Logger.With("namespace", l.config.Namespace)
	if l.free() {
		log.Info("closed")
		return
	}
	state := l.driver.State()
	worker, tick, _ := state.Rests()
	l.mu.Lock()
	defer l.mu.Unlock()
	end := &NotReleasedError{Worker: worker, Until: l.config.Layout.TimeOf(tick), Journal: state.View().Kept > 0, Reason: l.cause}
	l.end = end
	log.Warn("did not give the worker id back, which can't be claimed until then", "worker", worker, "until", end.Until.UTC(), "reason", end.Reason)
}

// Random implements [drive.Shell].
func (l *loop) Random(b []byte) error {
	_, err := io.ReadFull(l.config.Rand, b)
	return err
}

// Began implements [drive.Shell].
func (l *loop) Began(g *snowfence.Generator, r lease.Start) {
	l.lost, l.logged = g.ClockLost(), ""
	l.waitsFor(Waiting{})
	l.current.Store(g)
	l.logTerm(r)
	l.publish() // before Open returns and its caller asks for the status
	l.answerOpen(nil)
}

// Sealed implements [drive.Shell].
func (l *loop) Sealed(snowfence.Tick) { l.lost = nil }

// Request implements [drive.Shell].
func (l *loop) Request(request lease.Request) {
	if call, ok := request.(lease.Call); ok {
		l.line.Call(call, l.driver.State().Patience(l.config.Clock.Monotonic()))
	} else {
		l.disk.Do(request)
	}
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
