package lease

import (
	"fmt"
)

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
