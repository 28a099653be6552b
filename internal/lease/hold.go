package lease

import (
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// verifyEvery is how many extensions lie between two readings of the
// namespace's record: it is read once a window.
const verifyEvery = 3

// claim swaps the register to a new term.
//
// The floor lies at or above the until of the very version that guards the
// swap. So when the swap takes effect, no tick of any earlier term lies at or
// above the floor, and none ever will: an earlier holder's extension is
// guarded by a version that is gone.
func (r *run) claim(l look) {
	if err := r.past(); err != nil {
		r.giveUp(err)
		return
	}
	floor := max(l.register.Until, r.tick())
	r.enter(Claiming)
	r.claimed = true
	r.send(claiming, l.worker, l.version, Register{
		Layout:      r.namespace.Layout,
		Incarnation: r.namespace.Incarnation,
		Term:        l.register.Term + 1,
		Floor:       floor,
		Until:       min(r.config.Layout.HorizonTick(), floor+r.config.ticks),
		Holder:      r.nonce(),
		Window:      r.config.Window,
		Process:     r.config.Process,
	})
}

// ready begins to issue, or, on a lossy store, waits until the claim is old
// enough for another swap to confirm it.
func (r *run) ready() {
	if r.term.usable > 0 {
		r.begin()
		return
	}
	r.enter(Confirming)
	r.wakeAt(r.confirmable())
	r.report(Waiting, &YoungError{fmt.Sprintf("the claim of worker %d", r.term.worker), max(0, r.confirmable()-r.now.Monotonic)})
}

// begin makes the generator of this term, once the journal has its first page
// if there is a journal.
func (r *run) begin() {
	if r.config.ahead == 0 || r.journal.off {
		r.start()
		return
	}
	r.enter(Recording)
	r.keep()
}

// start makes the generator. That of a term that was resumed begins above what
// the earlier one may have stamped.
func (r *run) start() {
	r.enter(Holding)
	r.term.started = true
	r.out = append(r.out, Start{
		Worker: r.term.worker, Term: r.term.register.Term,
		Floor: r.term.floor, Until: r.grant(), Compared: r.term.compared, Resumed: r.term.inherited,
	})
	if r.term.inherited {
		r.takeUp()
		return
	}
	r.schedule()
}

// takeUp goes on with the register of a term that was resumed, at once. If the
// store was silent so far, nobody judged the clock yet. The engine's clock does so
// before anything is written: a clock that is far ahead would push the register to
// a time that is far ahead, and nobody could claim it before that.
func (r *run) takeUp() {
	r.term.comparing = r.config.EngineClock && !r.term.compared
	switch {
	case r.term.comparing:
		r.ask(func(id uint64) Request { return Ask{ID: id} })
	case r.term.open != nil:
		r.write, r.term.open = r.term.open, nil
		r.read()
	default:
		r.extend()
	}
}

// extend asks for ticks up to a window from now.
func (r *run) extend() {
	now := r.tick()
	if r.config.Layout.TimeOf(now).Before(r.now.Wall) {
		now++ // rounded up
	}
	register := r.term.register
	register.Until = min(r.config.Layout.HorizonTick(), max(register.Until, now+r.config.ticks))
	register.Window, register.Process = r.config.Window, r.config.Process
	r.send(extending, r.term.worker, r.term.version, register)
}

// acknowledge takes note of a bound that the store acknowledged, and of those
// that this confirms.
//
// On a durable store an acknowledged bound is usable. On a lossy one a failure
// may take the write away while it is younger than loss. It can't any more,
// and has not, once a later swap guarded on it took effect at an age of loss or
// more. When a swap took effect is not known; it was not before it was sent.
// So a bound is usable once it was acknowledged at least loss before a later
// swap was sent that was acknowledged too.
//
// A bound that would last for less than a third of the window by then is left
// alone: after an outage the write that was under way lands with one of before
// it, and to wait for that would make the next, and the ids, come a whole loss
// later. An answer that late took more than a third, so it is no busy loop.
func (r *run) acknowledge(w write) {
	t := &r.term
	if r.config.Loss == 0 {
		t.usable = max(t.usable, w.register.Until)
		return
	}
	var pending []bound
	for _, b := range t.pending {
		if b.acked+r.config.Loss <= w.sent {
			t.usable = max(t.usable, b.until)
		} else {
			pending = append(pending, b)
		}
	}
	// An equal bound was acknowledged before, and better so.
	known := t.usable >= w.register.Until || slices.ContainsFunc(pending, func(b bound) bool { return b.until >= w.register.Until })
	late := t.usable > 0 && r.over(w.register.Until, r.now.Monotonic+r.config.Loss+r.config.third())
	if !known && !late {
		pending = append(pending, bound{until: w.register.Until, acked: r.now.Monotonic})
	}
	t.pending = pending
}

// confirmable is when the oldest bound that is not usable yet may be confirmed.
func (r *run) confirmable() time.Duration { return r.term.pending[0].acked + r.config.Loss }

// extended hands the generator what is usable now, and sets the next date.
func (r *run) extended() {
	switch {
	case r.term.usable == 0:
		r.ready()
		return
	case !r.term.started:
		r.begin()
		return
	default:
		r.out = append(r.out, Extend{Until: r.grant()})
	}
	r.schedule()
	r.schedulePage()
	if r.term.extensions%verifyEvery == 0 || r.term.inherited && r.term.extensions == 1 {
		due := r.wake
		r.readNamespace()
		r.wakeAt(due)
	}
}

// schedule sets the next extension at a third of the window after the last was
// sent, or at once when the usable ticks end before that, as they do when that one
// took effect very late; but not before it can confirm something.
func (r *run) schedule() {
	due := r.term.sent + r.config.third()
	if r.over(r.term.usable, due) {
		due = r.term.sent + r.config.pause(0)
	}
	if len(r.term.pending) > 0 {
		due = max(due, r.confirmable())
	}
	r.wakeAt(max(due, r.now.Monotonic))
}

// over reports whether a bound will be over at a monotonic instant, or is now,
// as the wall clock goes. None follows that at the horizon, so it never is.
func (r *run) over(until snowfence.Tick, at time.Duration) bool {
	layout, wall := r.config.Layout, r.now.Wall.Add(max(0, at-r.now.Monotonic))
	return until < layout.HorizonTick() && layout.TickAt(wall) >= until
}

// windowEnded extends now, unless an extension is on its way, was just made, or
// could confirm nothing yet. It may be the journal's bound that was met.
func (r *run) windowEnded() {
	if r.phase == Holding {
		r.pageEnded()
	}
	if r.phase != Holding || r.write != nil || r.term.comparing || len(r.term.pending) > 0 && r.now.Monotonic < r.confirmable() {
		return
	}
	if r.now.Monotonic-r.term.sent >= r.config.pause(0) {
		r.extend()
	}
}

// endTerm ends a term against the holder's will and begins to claim again. The
// register is left alone: its holder's ticks end by themselves.
func (r *run) endTerm(cause error, stepped bool) {
	if r.term.inherited && !r.term.started {
		// Nothing was issued yet, so whatever namespace is there now will do.
		r.namespace, r.pool = Namespace{}, pool{}
	}
	if !r.revoke(cause) {
		r.report(Noted, cause)
	}
	r.attempt.stepped = stepped
	r.open()
}

// revoke ends the term, if there is one, and reports its loss if it ever had a
// generator: then, and only then, there are ids that its owner must hear of.
func (r *run) revoke(cause error) (started bool) {
	if started = r.term.started; started {
		r.outage.trouble = cause
		r.outage.losses++
		r.out = append(r.out, Revoke{Cause: cause},
			Report{What: Lost, Err: cause, Worker: r.term.worker, Term: r.term.register.Term})
	}
	r.term, r.write = term{}, nil
	// Its page could do no harm, but nobody should go on with a term that ended.
	r.discard()
	return started
}

// releaseAsked seals the generator, and gives the worker id back once the
// outcome of what was sent before is known.
func (r *run) releaseAsked() {
	if r.releasing {
		return
	}
	r.releasing = true
	if r.write == nil && r.term.register.Holder == "" {
		r.stop() // there is nothing to give back
		return
	}
	switch {
	case r.write != nil && r.write.unsent:
		r.write, r.waking = nil, false
	case r.term.open != nil:
		// Nobody asked yet what became of it.
		r.write, r.term.open = r.term.open, nil
		r.enter(Releasing)
		r.read()
	}
	// The answer to a write is still awaited; nothing else matters any more.
	awaited, waking := r.awaited, r.write != nil && r.waking
	r.enter(Releasing)
	if r.write != nil {
		r.awaited, r.waking = awaited, waking
	}
	if r.term.started {
		r.out = append(r.out, Drain{})
		return
	}
	r.drained = true
	r.release()
}

// release clears the holder. Here alone until may come down, to what lies above
// every tick that was stamped: nothing is stamped any more, and nobody can
// have claimed since, because the swap is guarded by the exact version.
//
// The journal is discarded before. A page that outlived the release would let
// the next process stamp ticks above the lowered until, which others may have
// claimed by then. If it can't be discarded, until does not come down. It goes
// only when the store is seen to answer: without the store nothing can be
// released, and the page is what lets the next process go on. A crash in between
// leaves a register that rests, as any crash without a journal does.
func (r *run) release() {
	if !r.drained || r.write != nil || r.phase != Releasing {
		return
	}
	reserved := max(r.term.floor, r.reserved)
	if r.inJournal() {
		switch {
		case r.journal.awaited != 0:
			return // its answer leads here again
		case !r.journal.off:
			r.get(RegisterKey(r.config.Namespace, r.config.Layout, r.term.worker))
			return
		}
		reserved = r.term.register.Until
	}
	register := r.term.register
	register.Holder = ""
	register.Until = min(register.Until, reserved)
	r.send(releasing, r.term.worker, r.term.version, register)
}

// answers takes what the store says before a journal is discarded. What the
// register shows does not matter here: the guard of the release will tell.
func (r *run) answers(e Reply) {
	if e.Outcome != Found && e.Outcome != Absent {
		r.note(fmt.Errorf("release worker %d: %w", r.term.worker, e.Err), "trying again")
		r.backOff()
		return
	}
	r.discard()
}

// stop is the end that was asked for.
func (r *run) stop() {
	r.term, r.write = term{}, nil
	r.discard()
	r.enter(Stopped)
	r.report(Ended, nil)
}
