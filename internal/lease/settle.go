package lease

import (
	"bytes"

	"snowfence.example/snowfence/store"
)

// Write is a swap of a register whose outcome is open: of a holder, an operator or an
// import. Until its outcome is known no other is sent.
type Write struct {
	Key   string
	Guard store.Version
	// Value is the register encoded: the very bytes, each time it is sent. They
	// hold a random mark of this write.
	Value []byte
}

// Outlook is what follows from an answer while a write is open.
type Outlook uint8

// The outlooks.
const (
	Doubtful Outlook = iota // undecided: read the register, or read it again
	Unsent                  // undecided, and it stands as before: send the same bytes again
	Landed                  // it took effect, as the version in the answer
	Missed                  // it did not and never will: the register is as the answer shows
)

// Settle decides what became of a write, by what the store says or shows and never by
// what was hoped for. It is the one rule for every swap whose outcome is unknown:
//
//	acknowledged                      it took effect
//	conflict, or no answer            read the register; then, if it shows
//	  the very bytes that were sent     it took effect, with the version read
//	  the version that guarded it       undecided: send it again
//	  anything else                     it never will
//
// Sending it again is harmless: the identical bytes under the identical guard take
// effect at most once, whichever copy arrives. A conflict does not decide, since
// something on the way may have repeated the swap and met its own.
//
// The comparison is of the whole value, not of the holder's nonce alone. The value has
// a random mark of its write, so bytes that are equal were written by this swap; under
// the nonce alone a clone of this process would pass for it, and the two would renew
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
