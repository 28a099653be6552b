package lease

import (
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// term is one claim of one worker id: its write, its extensions, and its release. The
// zero term is none.
//
// Its phases are Claiming, Verifying, Confirming, Holding and Releasing.
type term struct {
	look                      // the register as it was last acknowledged; its worker is the term's
	write      *write         // the swap whose outcome is open; never written to once set
	floor      snowfence.Tick // where its generator begins: above every tick stamped before
	compared   bool           // the clock was compared with another before the claim, or since
	verified   bool           // the namespace's record was the one of the claim after it
	inherited  bool           // an earlier process began it
	started    bool           // a generator was made
	open       *write         // an extension of the earlier process, until it is taken up
	usable     snowfence.Tick // the bound that the term may use
	expires    time.Duration  // with one worker id, when the generator stops without another write; else 0
	pending    []bound        // acknowledged but not usable yet; never appended to in place
	sent       time.Duration  // when the last extension was first sent
	extensions uint64
}

// bound is an acknowledged until.
type bound struct {
	until snowfence.Tick
	acked time.Duration // when the acknowledgement came, on the monotonic clock
	sent  time.Duration // when its write was sent
}

// verifyEvery is how many extensions lie between two readings of the
// namespace's record: it is read once a window.
const verifyEvery = 3

// claim prepares the swap of a register to a new term.
//
// The floor lies at or above the until of the very version that guards the swap. So when
// the swap takes effect, every tick of an earlier term lies below the floor. That stays so:
// the guard of an earlier holder's extension is gone.
func (t *term) claim(x *step, n stored.Namespace, l look) error {
	floor := max(l.register.Until, x.tick())
	return t.prepare(x, claiming, l, stored.Register{
		Layout:      n.Layout,
		Incarnation: n.Incarnation,
		Term:        l.register.Term + 1,
		Floor:       floor,
		Until:       min(x.Layout.HorizonTick(), floor+x.ticks),
		Holder:      x.nonce(),
		Window:      x.Window,
		Process:     x.Process,
	})
}

// extend prepares the swap that asks for ticks up to a window from now.
func (t *term) extend(x *step) error {
	return t.prepare(x, extending, t.look, t.register.Extended(x.Layout, x.now.Wall, x.Window, x.Process))
}

// release prepares the swap that clears the holder. Its exact version guards it against a claim since.
func (t *term) release(x *step, reserved snowfence.Tick) error {
	register := t.register.Released(reserved)
	if x.strict() {
		register.Window = 0 // no successor waits for this holder; see mayIssue
	}
	return t.prepare(x, releasing, t.look, register)
}

// acknowledge records a write that took effect, and the bounds that it confirms.
//
// On a durable store an acknowledged bound is usable. On a lossy one a failure may take
// the write away while it is younger than loss. Suppose a later swap, guarded on the write,
// takes effect when the write is of that age or older. Then the write was not lost, and
// can't be any more. It is not known when the swap took effect, but that was not before it
// was sent. So a bound is usable when a later swap has been acknowledged that was sent at
// least loss after the bound's acknowledgement.
//
// A bound that would last for less than a third of the window by then is left alone. After
// an outage the write under way lands with an old bound. Waiting for its confirmation would
// delay the next bound, and the ids, by a whole loss. An answer that late took more than a
// third, so this is no busy loop.
func (t *term) acknowledge(x *step, w *write, version store.Version) {
	t.sent = w.sent
	t.look = look{worker: w.worker, version: version, register: w.register, standing: stored.Held}
	until := w.register.Until
	if x.Loss == 0 {
		t.use(x, bound{until: until, sent: w.sent})
		return
	}
	var pending []bound
	for _, b := range t.pending {
		if b.acked+x.Loss <= w.sent {
			t.use(x, b)
		} else {
			pending = append(pending, b)
		}
	}
	// An equal bound was acknowledged before, and is confirmed earlier.
	// In a strict namespace it lasts for longer, though.
	known := !x.strict() && (t.usable >= until || slices.ContainsFunc(pending, func(b bound) bool { return b.until >= until }))
	late := t.usable > 0 && x.over(until, x.now.Monotonic+x.Loss+x.third())
	if !known && !late {
		pending = append(pending, bound{until: until, acked: x.now.Monotonic, sent: w.sent})
	}
	t.pending = pending
}

// use lets the term use a bound. In a strict namespace a successor takes over when it has seen this
// write for a window and more. It can't have seen it before it was sent, so the generator stops a window
// after that.
func (t *term) use(x *step, b bound) {
	t.usable = max(t.usable, b.until)
	if x.strict() {
		t.expires = max(t.expires, b.sent+x.Window)
	}
}

// worthWaiting reports whether a resumed term waits until an extension can confirm its pending bound.
//
// With the wait the bound of that extension is usable a loss after it. Without the wait it is usable a third
// from now, but the pending bound is confirmed only then, too. So the wait is worth it if the pending bound
// lasts longer than the usable one by the difference, and does not end before the next one is usable.
func (t *term) worthWaiting(x *step) bool {
	if len(t.pending) == 0 || x.now.Monotonic >= t.confirmable(x) {
		return false
	}
	next := t.confirmable(x) + x.Loss
	gain := x.Layout.TimeOf(t.register.Until).Sub(x.Layout.TimeOf(t.usable))
	return next-x.now.Monotonic-x.third() <= gain && !x.over(t.register.Until, next)
}

// confirmable is when the oldest pending bound may be confirmed.
func (t *term) confirmable(x *step) time.Duration { return t.pending[0].acked + x.Loss }

// confirm waits until the claim is old enough for another swap to confirm it.
func (t *term) confirm(x *step) {
	x.enter(Confirming)
	x.ripen(t.confirmable(x), fmt.Sprintf("the claim of worker %d", t.worker))
}

// schedule sets the next extension at a third of the window after the last was sent. It is
// sooner when the usable ticks end before that, because the last one took effect very late.
// It is later when it could confirm nothing yet.
func (t *term) schedule(x *step) {
	due := t.sent + x.third()
	if x.over(t.usable, due) {
		due = t.sent + x.pause(0)
	}
	if len(t.pending) > 0 {
		due = max(due, t.confirmable(x))
	}
	x.wakeAt(max(due, x.now.Monotonic))
}

// over reports whether a bound will be over at a monotonic instant, by the wall clock. The bound at the
// horizon is the last one, so it stays.
func (x *step) over(until snowfence.Tick, at time.Duration) bool {
	wall := x.now.Wall.Add(max(0, at-x.now.Monotonic))
	return until < x.Layout.HorizonTick() && x.Layout.TickAt(wall) >= until
}

// hasten reports whether an ended window may be extended at once. It may not if an
// extension is on its way, was just made, or could confirm nothing yet.
func (t *term) hasten(x *step) bool {
	if t.write != nil || len(t.pending) > 0 && x.now.Monotonic < t.confirmable(x) {
		return false
	}
	return x.now.Monotonic-t.sent >= x.pause(0)
}
