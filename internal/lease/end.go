package lease

import (
	"fmt"

	"snowfence.example/snowfence/internal/stored"
)

// clockLost ends the term, unless it is pinned and the clock fell behind: then
// its generator refuses until the clock is back, and no other worker id would
// do. A forward step also begins a claim that is under way again, because the
// clock was judged before it, or would be judged without the care that is due.
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
			s.open(x)
		}
	}
}

// endTerm ends a term against the holder's will and begins to claim again. The
// register is left alone: its holder's ticks end by themselves.
func (s *State) endTerm(x *step, cause error, stepped bool) {
	if s.term.inherited && !s.term.started {
		// Nothing was issued yet, so whatever namespace is there now will do.
		s.search.record, s.search.pool = stored.Namespace{}, pool{}
	}
	if !s.revoke(x, cause) {
		x.report(Noted, cause)
	}
	s.search.stepped = stepped
	s.open(x)
}

// revoke ends the term, if there is one, and reports its loss if it ever had a
// generator: then, and only then, there are ids that its owner must hear of.
func (s *State) revoke(x *step, cause error) (started bool) {
	s.outage.trouble = cause
	if started = s.term.started; started {
		s.outage.losses++
		x.out = append(x.out, Revoke{Cause: cause},
			Report{What: Lost, Err: cause, Worker: s.term.worker, Term: s.term.register.Term})
	}
	s.term = term{}
	// Its page could do no harm, but nobody should go on with a term that ended.
	s.discard(x)
	return started
}

// giveUp ends the attempt. Another one follows after a pause, which the owner
// of the state may not wait for.
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

// fail ends everything: what is wrong stays wrong until somebody mends it.
func (s *State) fail(x *step, err error) {
	s.revoke(x, err)
	x.enter(Failed)
	x.report(Broken, err)
}

// releaseAsked seals the generator, and gives the worker id back once the
// outcome of what was sent before is known.
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
		t.write, x.waking = nil, false
	case t.open != nil:
		// It is not known yet what became of it.
		t.write, t.open = t.open, nil
		x.enter(Releasing)
		t.read(x)
	}
	// The answer to a write is still awaited; nothing else matters any more.
	awaited, waking := x.awaited, t.write != nil && x.waking
	x.enter(Releasing)
	if t.write != nil {
		x.awaited, x.waking = awaited, waking
	}
	if t.started {
		x.out = append(x.out, Drain{})
		return
	}
	s.drained = true
	s.release(x)
}

// release gives the worker id back.
//
// The journal is discarded before. A page that outlived the release would let
// the next process stamp ticks above the lowered until, which others may have
// claimed by then. If it can't be discarded, until does not come down. It goes
// only when the store is seen to answer: without the store nothing can be
// released, and the page is what lets the next process go on. A crash in between
// leaves a register that rests, as any crash without a journal does.
func (s *State) release(x *step) {
	t := &s.term
	if !s.drained || t.write != nil || s.phase != Releasing {
		return
	}
	reserved := max(t.floor, s.reserved)
	if s.inJournal() {
		switch {
		case s.journal.awaited != 0:
			return // its answer leads here again
		case !s.journal.off:
			x.getRegister(t.worker)
			return
		}
		reserved = t.register.Until
	}
	s.send(x, t.release(x, reserved))
}

// answers takes what the store says before a journal is discarded. What the
// register shows does not matter here: the guard of the release will tell.
func (s *State) answers(x *step, e Reply) {
	if e.Outcome != Found && e.Outcome != Absent {
		x.note(fmt.Errorf("release worker %d: %w", s.term.worker, e.Err), "trying again")
		x.backOff()
		return
	}
	s.discard(x)
}

// stop is the end that was asked for.
func (s *State) stop(x *step) {
	s.term = term{}
	s.discard(x)
	x.enter(Stopped)
	x.report(Ended, nil)
}
