package lease

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// resumePatience is how long the store may take to show the register of a journal's term.
// Its answer decides. A process that starts while the store is away does not wait longer.
const resumePatience = time.Second

// resume goes on with the term of a journal's page, if it may; otherwise it
// claims as if there were no journal.
//
// The page was consumed, so this process alone has it. Every tick that was stamped under the term lies
// below its used, and later stamps are at or above used. So the ticks of [used, usable) are this
// process's own, as they were the earlier one's. It does not matter whether the register is still the
// term's: every later claim's floor is at or above the acknowledged until.
func (s *State) resume(x *step, p stored.Page) {
	if err := s.mayResume(x, p); err != nil {
		x.report(Noted, fmt.Errorf("the journal's term of worker %d is not resumed: %w", p.Worker, err))
		s.search.begin(x)
		return
	}
	s.term = term{
		look:  look{worker: p.Worker, version: p.Version, register: p.Register, standing: stored.Held},
		floor: p.Used, usable: p.Usable, sent: x.now.Monotonic, verified: true, inherited: true,
	}
	// The bound is at least as old as it was when the page was written. How long ago that was is not known.
	acked := x.now.Monotonic - p.Age
	if p.Register.Until > p.Usable {
		s.term.pending = []bound{{until: p.Register.Until, acked: acked}}
	}
	if p.Pending != nil {
		register, err := stored.DecodeRegister(p.Pending)
		if err != nil {
			s.giveUp(x, err) // DecodePage has read it already
			return
		}
		s.term.open = &write{
			Write:   Write{Key: stored.RegisterKey(x.Namespace, x.Layout, p.Worker), Guard: p.Version, Value: p.Pending},
			purpose: extending, worker: p.Worker, register: register,
			sent: acked, // when it was sent is not known: so it confirms nothing
		}
	}
	x.enter(Resuming)
	// The page was consumed, so there is none now. A process that is slow to start is
	// often ended for it, and the next one should have the term then.
	s.keep(x)
}

// vouch asks the store whether the term is still there.
func (s *State) vouch(x *step) {
	s.search.attempt = attempt{deadline: x.now.Monotonic + resumePatience}
	x.getRegister(s.term.worker)
}

// mayResume returns why this holder can't use the page. If it can, mayResume sets the
// namespace.
func (s *State) mayResume(x *step, p stored.Page) error {
	if p.Name != x.Namespace {
		return stored.Refuse("namespace", x.Namespace, fmt.Sprintf("the journal has %q", p.Name))
	}
	record, err := p.Namespace.Encode()
	if err != nil {
		return err
	}
	namespace, err := s.search.accept(x.Config, record)
	if err != nil {
		return err
	}
	pool, err := x.claims(namespace)
	if err != nil {
		return err
	}
	if _, ok := pool.only(p.Worker); !ok {
		return errors.New("it is not among the worker ids that may be used here")
	}
	if p.Loss < x.Loss {
		return fmt.Errorf("its ticks were confirmed for a store that loses %s, and this one loses %s", p.Loss, x.Loss)
	}
	if err := x.outside(); err != nil {
		return err
	}
	layout := x.Layout
	switch used := layout.TimeOf(p.Used); {
	case x.tick() >= p.Usable || p.Used >= p.Usable:
		return fmt.Errorf("%w at %s", ErrWindowEnded, layout.TimeOf(p.Usable).UTC().Format(time.RFC3339Nano))
	case x.Worker == nil && used.Sub(x.now.Wall) > x.MaxRollback+2*x.JournalAhead:
		// A generator would only find that the clock is behind.
		return fmt.Errorf("the clock is behind what was used by %s", used.Sub(x.now.Wall))
	}
	s.search.record, s.search.pool, s.search.recordKept = namespace, pool, true
	return nil
}

// vouched takes the register of the term that is to be resumed. A register can refuse the
// term; a silent store can't.
func (s *State) vouched(x *step, e Reply) {
	t := &s.term
	switch {
	case e.Outcome == Found && e.Entry.Version == t.version:
	case e.Outcome == Found && t.open != nil && t.open.Settle(e) == Landed:
		w := t.open
		t.open = nil
		t.acknowledge(x, w, e.Entry.Version)
	case e.Outcome == Found && t.outdated(x, e.Entry.Value):
	case e.Outcome == Found || e.Outcome == Absent:
		cause := fmt.Errorf("the journal's term of worker %d is not resumed: %w: its register was written since", t.worker, ErrLost)
		s.endTerm(x, cause, false)
		return
	default:
		x.note(fmt.Errorf("read the register of worker %d: %w", t.worker, e.Err), "its term is resumed from the journal alone")
		s.goOn(x)
		return
	}
	if x.EngineClock {
		// The clock is judged as for a claim. A clock that is far ahead would leave a
		// register that is busy until that time.
		x.enter(Comparing)
		x.call(Call{Verb: Ask})
		return
	}
	s.goOn(x)
}

// takeUp goes on with the register of a resumed term, as soon as an extension helps. If the store was silent so
// far, the clock has not been judged. Then the engine is asked for its time before anything
// is written. A clock that is far ahead would push the register far ahead, and it would be
// busy until that time.
func (s *State) takeUp(x *step) {
	t := &s.term
	switch {
	case x.EngineClock && !t.compared:
		x.enter(Comparing)
		x.call(Call{Verb: Ask})
	case t.open != nil:
		x.enter(Holding)
		t.write, t.open = t.open, nil
		t.read(x)
	case t.worthWaiting(x):
		x.enter(Holding)
		x.wakeAt(t.confirmable(x))
	default:
		x.enter(Holding)
		s.extend(x)
	}
}

// timed takes the engine's time for a resumed term. Without an answer the term goes on to
// its bound, and the engine is asked again before anything is written.
func (s *State) timed(x *step, e Reply) {
	t := &s.term
	if e.Outcome == Told {
		if err := x.compare(e.Time); err != nil {
			s.endTerm(x, err, false)
			return
		}
		t.compared, x.failures = true, 0
	}
	switch {
	case !t.started:
		x.enter(Resuming)
		s.goOn(x)
	case t.compared:
		s.takeUp(x)
	default:
		x.note(fmt.Errorf("judge the clock: %w", e.Err), "the resumed term is not extended before that")
		x.backOff()
	}
}

// goOn begins to issue when the clock is near enough to used: a generator would take a
// greater distance for a step back. It is near enough at once, unless max-rollback is
// shorter than JournalAhead.
func (s *State) goOn(x *step) {
	ahead := x.Layout.TimeOf(s.term.floor).Sub(x.now.Wall)
	if wait := ahead - x.MaxRollback; wait > 0 && wait <= 2*x.JournalAhead {
		x.wakeIn(wait)
		return
	}
	s.ready(x)
}
