package lease

import (
	"bytes"

	"snowfence.example/snowfence/store"
)

// Write is a swap with an open outcome: of a holder, a borrower's daemon, an operator, an import, a
// counter or a guard. Its sender sends no other before its outcome is known.
type Write struct {
	Key   string
	Guard store.Version
	// Value is the register encoded: the very bytes, each time it is sent. They
	// hold a random mark of this write.
	Value []byte
}

// Swap is the call that sends it, for the first time or again.
func (w Write) Swap() Call { return Call{Verb: Swap, Key: w.Key, Prev: w.Guard, Value: w.Value} }

// Outlook is the conclusion from an answer while a write is open.
type Outlook uint8

// The outlooks.
const (
	Doubtful Outlook = iota // undecided: read the register, or read it again
	Unsent                  // undecided, the register has not changed: send the same bytes again
	Landed                  // it took effect, as the version in the answer
	Missed                  // it never will, unless the read is late: the register is as the answer shows
)

// Settle decides the outcome of a write from the store's answer. It is the one rule for
// every swap with an unknown outcome:
//
//	acknowledged                      it took effect
//	conflict, or no answer            read the register; then, if it shows
//	  the very bytes that were sent     it took effect, with the version read
//	  the version that guarded it       undecided: send it again
//	  anything else                     it never will, or the read is late: see term.settle
//
// Sending it again is harmless: identical bytes under an identical guard take effect at
// most once, whichever copy arrives. A conflict does not decide: something on the way may
// have repeated the swap, and the copy met the original.
//
// Settle compares the whole value, not only the holder's nonce. The value has a random mark
// of its write, so equal bytes were written by this swap. A clone of this process has the
// nonce too. With the nonce alone it would pass for this process, and the two would extend
// one term for ever.
func (w Write) Settle(e Reply) Outlook {
	switch {
	case e.Outcome == Swapped:
		return Landed
	case e.Outcome != Found && e.Outcome != Absent:
		return Doubtful
	case e.Entry.Version == w.Guard: // both zero when there is still no register
		return Unsent
	case e.Outcome == Found && bytes.Equal(e.Entry.Value, w.Value):
		return Landed
	}
	return Missed
}

// Landed returns the version of a write that landed with this answer.
func (e Reply) Landed() store.Version {
	if e.Outcome == Swapped {
		return e.Version
	}
	return e.Entry.Version
}
