package lease

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// clockLost ends the term. A pinned term is an exception when the clock fell behind: no
// other worker id would do, so its generator refuses until the clock is back. A forward
// step also restarts a claim: its clock was judged before the step, or would be judged
// without the care that a step needs.
func (s *State) clockLost(x *step, e ClockLost) {
	switch s.phase {
	case Holding, Comparing, Confirming, Verifying, Resuming, Recording:
		switch {
		case e.Stepped:
			s.endTerm(x, fmt.Errorf("the clock stepped forward by more than %s", stored.ClockTolerance), true)
		case x.Worker == nil:
			s.endTerm(x, fmt.Errorf("the clock is behind by more than %s", x.MaxRollback), false)
		default:
			x.report(Noted, fmt.Errorf("the clock is behind by more than %s: nothing is issued until it is back", x.MaxRollback))
		}
	case Opening, Judging, Probing, Claiming, Resting:
		if e.Stepped {
			s.term.write, s.search.stepped = nil, true
			s.search.begin(x)
		}
	}
}

// endTerm ends a term against the holder's will and begins to claim again. The
// register is left alone: its holder's ticks end by themselves.
func (s *State) endTerm(x *step, cause error, stepped bool) {
	if s.term.inherited && !s.term.started {
		// Nothing was issued yet, so any namespace will do.
		s.search.recordKept = false
	}
	if !s.revoke(x, cause) {
		x.report(Noted, cause)
	}
	s.search.stepped = stepped
	s.search.begin(x)
}

// revoke ends the term, if there is one. It reports the loss of a term with a generator,
// because the owner has ids of that term.
func (s *State) revoke(x *step, cause error) (started bool) {
	s.outage.trouble = cause
	if started = s.term.started; started {
		s.outage.Losses++
		x.out = append(x.out, Revoke{Cause: cause},
			Report{What: Lost, Err: cause, Worker: s.term.worker, Term: s.term.register.Term})
	}
	s.term = term{}
	// Its page is harmless, but a process should not go on with an ended term.
	s.discard(x)
	return started
}

// giveUp ends the attempt. Another one follows after a pause, unless the owner of the
// state ends before.
func (s *State) giveUp(x *step, err error) {
	if s.releasing {
		s.stop(x) // a release that can't be written down is no reason to claim again
		return
	}
	s.revoke(x, err)
	x.report(GaveUp, err)
	x.enter(Resting)
	x.wakeIn(x.poll())
}

// fail ends everything: the fault stays until people mend it.
func (s *State) fail(x *step, err error) {
	s.revoke(x, err)
	x.enter(Failed)
	x.report(Broken, err)
}

// releaseAsked seals the generator. It gives the worker id back once the outcome of the
// last write is known.
func (s *State) releaseAsked(x *step) {
	if s.releasing {
		return
	}
	s.releasing = true
	t := &s.term
	if t.write == nil && t.register.Holder == "" {
		s.stop(x) // there is nothing to give back
		return
	}
	switch {
	case t.write != nil && t.write.unsent:
		t.write = nil
	case t.open != nil: // its outcome is still open
		t.write, t.open = t.open, nil
		t.read(x)
	}
	if x.phase = Releasing; t.write == nil { // otherwise its answer is still awaited
		x.enter(Releasing)
	}
	if t.started {
		x.out = append(x.out, Drain{})
		return
	}
	s.drained = true
	s.release(x)
}

// release gives the worker id back, after the journal's page, or leaves both as they are.
func (s *State) release(x *step) {
	t := &s.term
	switch {
	case !s.drained || s.phase != Releasing:
	case s.leaves(x):
		if s.journal.awaited == 0 { // otherwise its answer leads here again
			s.leave(x)
		}
	case t.write == nil && s.unkept(x):
		s.send(x, t.release(x, max(t.floor, s.reserved)))
	}
}

// mostLeft is the longest window whose term is left. If no process goes on with it, its worker id rests for as long.
const mostLeft = 10 * time.Minute

// leaves reports whether the page is left to the next process on this machine. On a lossy store
// every other start waits for loss. The worker id rests then, so a very long window is not left. A page
// whose window has ended is of no use. It is left only if the store is away, because a release would wait then.
func (s *State) leaves(x *step) bool {
	return x.Loss > 0 && x.Window <= mostLeft && s.inJournal() && !s.journal.off && (x.tick() < s.term.usable || s.outage.Unanswered != nil)
}

// leave ends as a crash would: with the page, and with the requests under way.
func (s *State) leave(x *step) {
	x.out = append(x.out, Report{
		What: Ended, Worker: s.term.worker, Term: s.term.register.Term, For: max(0, x.Layout.TimeOf(s.term.usable).Sub(x.now.Wall)),
	})
	s.term = term{}
	x.enter(Stopped)
}

// stop is the end that was asked for.
func (s *State) stop(x *step) {
	s.term = term{}
	s.discard(x)
	x.enter(Stopped)
	x.report(Ended, nil)
}
