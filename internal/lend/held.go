package lend

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// Held is a lease as its borrower knows it: the reference for borrowers in every language. It decides which ticks may be
// stamped, and when to ask again. Times without a date are of the borrower's monotonic clock, which must not go back. It is
// not safe for concurrent use.
type Held struct {
	answer  Answer         // the last one
	loss    time.Duration  // the greatest of all answers: daemons may be configured differently
	usable  snowfence.Tick // ticks below it may be stamped; 0 for none yet
	pending snowfence.Tick // the last answer's bound, if it is not usable yet; else 0
	came    time.Duration  // when that answer had come

	sent     time.Duration // when the last request was first sent
	asking   bool          // an extension is under way: it is repeated until it is answered
	tick     snowfence.Tick
	sequence int64 // the last slot that was stamped; -1 before the tick's first
}

// Hold returns the lease of a claim, which was sent and answered then.
func Hold(a Answer, sent, came time.Duration) *Held {
	h := &Held{answer: a, sent: sent, tick: a.Floor, sequence: -1}
	h.take(a, came)
	return h
}

// take takes the bound of an answer. On a lossy store it stays pending.
func (h *Held) take(a Answer, came time.Duration) {
	h.answer, h.loss = a, max(h.loss, a.Loss)
	if h.loss == 0 {
		h.usable = a.Lease.Until
		return
	}
	h.pending, h.came = a.Lease.Until, came
}

// Ask begins an extension, whose first try is sent at that time, or repeats the one that is under way: only the time of
// the first try counts.
func (h *Held) Ask(now time.Duration) {
	if !h.asking {
		h.asking, h.sent = true, now
	}
}

// Extended takes the first answer to an extension, which had come at that time. The caller has compared its mark. An error is
// returned for an answer of another worker id or another term: it must not be used, and the lease neither.
//
// The answer proves that the version before stood when the extension took effect, and so not before its first sending. If the
// bound of that version was as old as the store's loss by then, it can't be lost any more.
func (h *Held) Extended(a Answer, came time.Duration) error {
	if a.Lease.Worker != h.answer.Lease.Worker || a.Floor != h.answer.Floor || a.Lease.Term != h.answer.Lease.Term {
		return fmt.Errorf("%w: the answer is of worker %d with floor %d, the lease of worker %d with floor %d",
			ErrGone, a.Lease.Worker, a.Floor, h.answer.Lease.Worker, h.answer.Floor)
	}
	h.loss = max(h.loss, a.Loss)
	if h.pending > 0 && h.sent >= h.came+h.loss {
		h.usable = max(h.usable, h.pending)
	}
	h.asking = false
	h.take(a, came)
	return nil
}

// Due is when the next extension is sent: a third of the window after the last request, and not before it can confirm
// the pending bound; as soon as it can, while no bound is usable. Ids never depend on it.
func (h *Held) Due() time.Duration {
	due, confirms := h.sent+h.answer.Window/3, h.came+h.loss
	switch {
	case h.pending > 0 && h.usable == 0:
		return confirms
	case h.pending > 0:
		return max(due, confirms)
	}
	return due
}

// Asking reports whether an extension is under way.
func (h *Held) Asking() bool { return h.asking }

// Answer is the last one. Its lease goes into the next request.
func (h *Held) Answer() Answer { return h.answer }

// Usable lies above every tick that may be stamped now; 0 for none.
func (h *Held) Usable() snowfence.Tick { return h.usable }

// Next lies above every tick that was stamped. It is the one of a [Release].
func (h *Held) Next() snowfence.Tick {
	if h.sequence < 0 {
		return h.tick
	}
	return h.tick + 1
}

// Stamp returns the next slot for the borrower's wall clock: a tick at or above the floor and below the usable bound, and a
// sequence number, later than every slot before. ok is false if there is none now.
func (h *Held) Stamp(wall time.Time) (tick snowfence.Tick, sequence int64, ok bool) {
	tick, sequence = h.answer.Layout.TickAt(wall), 0
	if tick <= h.tick { // a clock that is behind goes on at the last tick
		tick, sequence = h.tick, h.sequence+1
	}
	if sequence >= h.answer.Layout.Sequences() {
		tick, sequence = tick+1, 0
	}
	if tick >= h.usable {
		return 0, 0, false
	}
	h.tick, h.sequence = tick, sequence
	return tick, sequence, true
}
