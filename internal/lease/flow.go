package lease

import (
	"fmt"
)

// How the machines follow each other: a search chooses a worker id, a term claims and
// keeps it, and the end of the term begins the next search.

// handle takes an event to the machine that it is for.
func (s *State) handle(x *step, e Event) {
	switch e := e.(type) {
	case Started:
		switch {
		case s.phase != Idle:
		case e.Page != nil:
			s.resume(x, *e.Page)
		default:
			s.search.begin(x)
		}
	case Reply:
		if e.ID == s.awaited && s.awaited != 0 {
			s.awaited = 0
			s.hear(x, e.Err, s.undone(x, e))
			s.reply(x, e)
		}
	case Woken:
		if s.waking && x.now.Monotonic >= s.wake {
			s.waking = false
			s.woken(x)
		}
		s.journalWoken(x)
	case WindowEnded:
		s.windowEnded(x)
	case ClockLost:
		s.clockLost(x, e)
	case ReleaseAsked:
		s.releaseAsked(x)
	case Drained:
		if s.releasing && !s.drained {
			s.drained, s.reserved = true, e.Reserved
			s.release(x)
		}
	case Unfit:
		if !s.releasing && s.phase != Failed {
			s.fail(x, e.Err)
		}
	case Written:
		s.written(x, e)
	}
}

// undone reports whether an answer is a read that shows that the open write had no effect.
func (s *State) undone(x *step, e Reply) bool {
	return x.verb == Get && s.term.write != nil && s.term.write.Settle(e) == Unsent
}

// reply takes an answer of the store to the machine that waits for it. A write with an
// open outcome goes before everything else.
func (s *State) reply(x *step, e Reply) {
	if s.term.write != nil {
		s.settled(x, s.term.settle(x, e, &s.search, s.releasing))
		return
	}
	switch s.phase {
	case Opening, Judging, Probing:
		s.searched(x, s.search.take(x, e))
	case Verifying:
		s.verified(x, e)
	case Resuming:
		s.vouched(x, e)
	case Comparing:
		s.timed(x, e)
	case Holding:
		s.reread(x, e)
	case Releasing:
		s.answers(x, e)
	}
}

// woken goes on at the date that was set.
func (s *State) woken(x *step) {
	if s.term.write != nil {
		s.term.read(x)
		return
	}
	switch s.phase {
	case Opening, Judging, Probing:
		s.searched(x, s.search.woken(x))
	case Verifying:
		x.getNamespace()
	case Holding, Confirming:
		s.extend(x)
	case Comparing:
		s.takeUp(x)
	case Resting:
		s.search.begin(x)
	case Resuming:
		s.goOn(x)
	case Releasing:
		s.release(x)
	}
}

// searched claims the worker id that was chosen.
func (s *State) searched(x *step, v verdict) {
	switch v.what {
	case chosen:
		if err := x.outside(); err != nil {
			s.giveUp(x, err)
			return
		}
		x.enter(Claiming)
		s.send(x, s.term.claim(x, s.search.record, v.look))
	case gaveUp:
		s.giveUp(x, v.err)
	case failed:
		s.fail(x, v.err)
	}
}

// send sends the write that was prepared. With a journal an extension waits for the page.
// Without it there a successor would take the extension for a stranger's, and give the term
// up.
func (s *State) send(x *step, err error) {
	switch {
	case err != nil:
		s.giveUp(x, err)
	case s.term.write.purpose == extending && s.inJournal():
		s.term.write.unsent = true
		x.awaited, x.waking = 0, false
		s.keep(x)
	default:
		s.term.swap(x)
	}
}

// settled goes on when the outcome of a write is known.
func (s *State) settled(x *step, v verdict) {
	w := v.write
	switch v.what {
	case landed:
		s.landed(x, v)
	case missed:
		switch {
		case s.releasing || w.purpose == releasing:
			s.stop(x) // nothing is left to give back
		case w.purpose == claiming:
			s.search.see(x, v.look)
			s.searched(x, s.search.probe(x))
		default:
			s.endTerm(x, s.term.taken(x, w.worker, v.look), false)
		}
	case skipped:
		s.searched(x, s.search.skip(x, v.err))
	case gaveUp:
		s.giveUp(x, v.err)
	}
}

// landed goes on after a write that took effect.
func (s *State) landed(x *step, v verdict) {
	w := v.write
	switch w.purpose {
	case claiming:
		s.term = term{floor: w.register.Floor, compared: x.EngineClock || s.search.agree > 0}
		// The attempt still has to read the namespace's record, and to wait until the
		// claim is safe.
		s.search.attempt = attempt{deadline: s.search.deadline + x.Loss}
	case extending:
		s.term.extensions++
	case releasing:
		s.stop(x)
		return
	}
	s.term.acknowledge(x, w, v.version)
	switch {
	case s.releasing:
		s.release(x)
	case s.term.started:
		s.extended(x)
	default:
		s.ready(x)
	}
}

// verified takes the namespace's record after the claim. Ids are issued only if it is still the
// one of the claim. If a lossy store has lost that one, the claim is void, and the search
// begins again.
func (s *State) verified(x *step, e Reply) {
	if e.Outcome != Found {
		// A store that answers late may not know the record for a while.
		err := e.Err
		if err == nil {
			err = errNamespaceGone
		}
		s.searched(x, s.search.retry(x, fmt.Errorf("read namespace after the claim: %w", err)))
		return
	}
	_, err := s.search.accept(x.Config, e.Entry.Value)
	switch {
	case err == nil:
		x.failures = 0
		s.term.verified, s.search.recordKept = true, true
		s.ready(x)
	case s.search.recordKept:
		s.fail(x, err)
	default:
		s.endTerm(x, err, false)
	}
}

// reread takes the namespace's record in the course of a term. An error proves nothing
// about the term: the record will be read again.
func (s *State) reread(x *step, e Reply) {
	if damaged(e.Err) {
		x.note(fmt.Errorf("read namespace: %w", e.Err), "the term goes on")
	}
	if e.Outcome == Found {
		if _, err := s.search.accept(x.Config, e.Entry.Value); err != nil {
			s.fail(x, err)
		}
	}
}

// ready begins to issue. On a lossy store the claim must be confirmed before. The namespace's
// record must be the one of the claim. With a journal the term's first page must be there.
func (s *State) ready(x *step) {
	switch {
	case s.term.usable == 0:
		s.term.confirm(x)
	case !s.term.verified:
		x.enter(Verifying)
		x.getNamespace()
	case x.ahead == 0 || s.journal.off:
		s.start(x)
	default:
		x.enter(Recording)
		s.keep(x)
	}
}

// start makes the generator. In a resumed term it begins above every tick of the earlier
// generator.
func (s *State) start(x *step) {
	x.enter(Holding)
	t := &s.term
	t.started = true
	x.out = append(x.out, Start{
		Worker: t.worker, Term: t.register.Term,
		Floor: t.floor, Until: s.grant(), Expires: t.expires, Compared: t.compared, Resumed: t.inherited,
	})
	if t.inherited {
		s.takeUp(x)
		return
	}
	t.schedule(x)
}

func (s *State) extend(x *step) { s.send(x, s.term.extend(x)) }

// extended hands the generator its new bound, and sets the next date.
func (s *State) extended(x *step) {
	t := &s.term
	x.out = append(x.out, Extend{Until: s.grant(), Expires: t.expires})
	t.schedule(x)
	s.schedulePage(x)
	if t.extensions%verifyEvery == 0 || t.inherited && t.extensions == 1 {
		due := x.wake
		x.getNamespace()
		x.wakeAt(due)
	}
}

// windowEnded extends now if that helps. It may be the journal's bound that ended.
func (s *State) windowEnded(x *step) {
	if s.holding() {
		s.pageEnded(x)
	}
	if s.phase == Holding && s.term.hasten(x) {
		s.extend(x)
	}
}
