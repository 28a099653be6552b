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
// It is in the phases Claiming, Verifying, Confirming, Holding and Releasing.
type term struct {
	look                      // the register as it was last acknowledged; its worker is the term's
	write      *write         // the swap whose outcome is open; never written to once set
	floor      snowfence.Tick // where its generator begins: above all that was stamped before
	compared   bool           // the clock was compared with another before the claim, or since
	inherited  bool           // an earlier process began it
	started    bool           // a generator was made
	open       *write         // an extension of the earlier process, until it is taken up
	usable     snowfence.Tick // the bound that the term may use
	pending    []bound        // acknowledged but not usable yet; never appended to in place
	sent       time.Duration  // when the last extension was first sent
	extensions uint64
}

// bound is an acknowledged until.
type bound struct {
	until snowfence.Tick
	acked time.Duration // when the acknowledgement came, on the monotonic clock
}

// verifyEvery is how many extensions lie between two readings of the
// namespace's record: it is read once a window.
const verifyEvery = 3

// claim prepares the swap of a register to a new term.
//
// The floor lies at or above the until of the very version that guards the
// swap. So when the swap takes effect, no tick of any earlier term lies at or
// above the floor, and none ever will: an earlier holder's extension is
// guarded by a version that is gone.
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
	now := x.tick()
	if x.Layout.TimeOf(now).Before(x.now.Wall) {
		now++ // rounded up
	}
	register := t.register
	register.Until = min(x.Layout.HorizonTick(), max(register.Until, now+x.ticks))
	register.Window, register.Process = x.Window, x.Process
	return t.prepare(x, extending, t.look, register)
}

// release prepares the swap that clears the holder. Here alone until may come down, to
// what lies above every tick that was stamped: nothing is stamped any more, and nobody
// can have claimed since, because the swap is guarded by the exact version.
func (t *term) release(x *step, reserved snowfence.Tick) error {
	register := t.register
	register.Holder = ""
	register.Until = min(register.Until, reserved)
	return t.prepare(x, releasing, t.look, register)
}

// acknowledge takes note of a write that took effect, and of the bounds that this
// confirms.
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
func (t *term) acknowledge(x *step, w *write, version store.Version) {
	t.sent = w.sent
	t.look = look{worker: w.worker, version: version, register: w.register, standing: stored.Held}
	until := w.register.Until
	if x.Loss == 0 {
		t.usable = max(t.usable, until)
		return
	}
	var pending []bound
	for _, b := range t.pending {
		if b.acked+x.Loss <= w.sent {
			t.usable = max(t.usable, b.until)
		} else {
			pending = append(pending, b)
		}
	}
	// An equal bound was acknowledged before, and better so.
	known := t.usable >= until || slices.ContainsFunc(pending, func(b bound) bool { return b.until >= until })
	late := t.usable > 0 && x.over(until, x.now.Monotonic+x.Loss+x.third())
	if !known && !late {
		pending = append(pending, bound{until: until, acked: x.now.Monotonic})
	}
	t.pending = pending
}

// confirmable is when the oldest bound that is not usable yet may be confirmed.
func (t *term) confirmable(x *step) time.Duration { return t.pending[0].acked + x.Loss }

// confirm waits until the claim is old enough for another swap to confirm it.
func (t *term) confirm(x *step) {
	x.enter(Confirming)
	x.ripen(t.confirmable(x), fmt.Sprintf("the claim of worker %d", t.worker))
}

// schedule sets the next extension at a third of the window after the last was
// sent, or at once when the usable ticks end before that, as they do when that one
// took effect very late; but not before it can confirm something.
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

// over reports whether a bound will be over at a monotonic instant, or is now,
// as the wall clock goes. None follows that at the horizon, so it never is.
func (x *step) over(until snowfence.Tick, at time.Duration) bool {
	wall := x.now.Wall.Add(max(0, at-x.now.Monotonic))
	return until < x.Layout.HorizonTick() && x.Layout.TickAt(wall) >= until
}

// hasten reports whether a window that ended may be extended at once: unless an
// extension is on its way, was just made, or could confirm nothing yet.
func (t *term) hasten(x *step) bool {
	if t.write != nil || len(t.pending) > 0 && x.now.Monotonic < t.confirmable(x) {
		return false
	}
	return x.now.Monotonic-t.sent >= x.pause(0)
}
