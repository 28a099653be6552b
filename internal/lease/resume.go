package lease

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// resumePatience is how long the store may take to say whether a term that was
// found in the journal is still there. It has the last word if it speaks; a
// process that starts while it is away is not kept waiting for it.
const resumePatience = time.Second

// resume goes on with the term of a journal's page, if it may; otherwise it
// claims as if there were no journal.
//
// The page was consumed, so this process alone has it. All that was stamped
// under the term lies below its used, and nothing below that is stamped any
// more. So the ticks of [used, usable) are this process's own, as they were the
// earlier one's: whether or not the register is still the term's, nobody else's
// floor lies below the until that was acknowledged.
func (r *run) resume(p Page) {
	if err := r.mayResume(p); err != nil {
		r.report(Noted, fmt.Errorf("the journal's term of worker %d is not resumed: %w", p.Worker, err))
		r.open()
		return
	}
	r.term = term{
		look:  look{worker: p.Worker, version: p.Version, register: p.Register, standing: Held},
		floor: p.Used, usable: p.Usable, sent: r.now.Monotonic, inherited: true,
	}
	if p.Register.Until > p.Usable {
		// How old it is is not known, so it counts from now.
		r.term.pending = []bound{{until: p.Register.Until, acked: r.now.Monotonic}}
	}
	if p.Pending != nil {
		register, err := DecodeRegister(p.Pending)
		if err != nil {
			r.giveUp(err) // DecodePage has read it already
			return
		}
		r.term.open = &write{
			purpose: extending, worker: p.Worker, key: RegisterKey(r.config.Namespace, r.config.Layout, p.Worker),
			guard: p.Version, register: register, value: p.Pending, sent: r.now.Monotonic,
		}
	}
	r.enter(Resuming)
	// Its page was consumed, so there is none now. Many a process is ended for
	// being slow to start; the next one should have the term then.
	r.keep()
}

// vouch asks the store whether the term is still there.
func (r *run) vouch() {
	r.attempt = attempt{deadline: r.now.Monotonic + resumePatience}
	r.get(RegisterKey(r.config.Namespace, r.config.Layout, r.term.worker))
}

// mayResume returns why the page is not for this holder, or of no use. It sets
// the namespace if it is.
func (r *run) mayResume(p Page) error {
	if p.Name != r.config.Namespace {
		return &ConfigError{"namespace", fmt.Sprintf("%q", r.config.Namespace), fmt.Sprintf("the journal has %q", p.Name)}
	}
	record, err := p.Namespace.Encode()
	if err != nil {
		return err
	}
	namespace, err := r.accept(record)
	if err != nil {
		return err
	}
	pool, err := r.config.claims(namespace)
	if err != nil {
		return err
	}
	if _, ok := pool.only(p.Worker); !ok {
		return errors.New("it is not among the worker ids that may be used here")
	}
	if p.Loss < r.config.Loss {
		return fmt.Errorf("its ticks were confirmed for a store that loses %s, and this one loses %s", p.Loss, r.config.Loss)
	}
	if err := r.past(); err != nil {
		return err
	}
	layout := r.config.Layout
	switch used := layout.TimeOf(p.Used); {
	case r.tick() >= p.Usable || p.Used >= p.Usable:
		return fmt.Errorf("its window ended at %s", layout.TimeOf(p.Usable).UTC().Format(time.RFC3339Nano))
	case r.config.Worker == nil && used.Sub(r.now.Wall) > r.config.MaxRollback+2*r.config.JournalAhead:
		// A generator would only find that the clock is behind.
		return fmt.Errorf("the clock is behind what was used by %s", used.Sub(r.now.Wall))
	}
	r.namespace, r.pool = namespace, pool
	return nil
}

// vouched takes what the store says of the register of the term that is to be
// resumed, and then of the time. Only what it shows can refuse the term; silence
// can't.
func (r *run) vouched(e Reply) {
	t := &r.term
	if r.attempt.asked {
		r.timed(e)
		return
	}
	switch {
	case e.Outcome == Found && e.Entry.Version == t.version:
	case e.Outcome == Found && t.open != nil && bytes.Equal(e.Entry.Value, t.open.value):
		w := *t.open
		t.open = nil
		t.look = look{worker: w.worker, version: e.Entry.Version, register: w.register, standing: Held}
		r.acknowledge(w)
	case e.Outcome == Found && r.outdated(e.Entry.Value):
	case e.Outcome == Found || e.Outcome == Absent:
		cause := fmt.Errorf("the journal's term of worker %d is not resumed: %w: its register was written since", t.worker, ErrLost)
		r.endTerm(cause, false)
		return
	default:
		r.note(fmt.Errorf("read the register of worker %d: %w", t.worker, e.Err), "its term is resumed from the journal alone")
		r.goOn()
		return
	}
	if r.config.EngineClock {
		// The clock is judged as a claim judges it: one that is far ahead would
		// leave a register behind that nobody can claim before that time has come.
		r.attempt.asked = true
		r.ask(func(id uint64) Request { return Ask{ID: id} })
		return
	}
	r.goOn()
}

// timed takes the engine's time for a term that was resumed. Without an answer the
// term goes on to its bound, and the time is asked for again before anything is written.
func (r *run) timed(e Reply) {
	if e.Outcome == Told {
		if offset := r.now.Wall.Sub(e.Time); offset.Abs() > clockTolerance {
			r.endTerm(&ClockError{Offset: offset, Reference: "the store's clock"}, false)
			return
		}
		r.term.compared, r.failures = true, 0
	}
	switch {
	case r.phase == Resuming:
		r.goOn()
	case r.term.compared:
		r.takeUp()
	default:
		r.note(fmt.Errorf("judge the clock: %w", e.Err), "the resumed term is not extended before that")
		r.backOff()
	}
}

// goOn begins to issue, when the clock is near enough to what was used for a
// generator not to take it for a clock that stepped back. It is, at once, unless
// max-rollback is shorter than what a bound is moved ahead by.
func (r *run) goOn() {
	ahead := r.config.Layout.TimeOf(r.term.floor).Sub(r.now.Wall)
	if wait := ahead - r.config.MaxRollback; wait > 0 && wait <= 2*r.config.JournalAhead {
		r.wakeAt(r.now.Monotonic + wait)
		return
	}
	r.begin()
}
