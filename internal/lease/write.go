package lease

import (
	"bytes"
	"fmt"
	"time"

	"snowfence.example/snowfence/store"
)

// write is a swap of a register whose outcome is open. There is at most one,
// and until its outcome is known no other is sent.
type write struct {
	purpose  purpose
	worker   int64
	key      string
	guard    store.Version
	register Register
	value    []byte        // the register encoded: the very bytes, each time it is sent
	sent     time.Duration // when it was first sent, on the monotonic clock
	reading  bool          // the register is being read to learn the outcome
	unsent   bool          // it is not in the journal yet, and waits for that
	older    int           // how many looks in a row found an older write while the term is released
}

// looks is how many looks in a row at an older write end a release. With the
// pauses between them they last for one to three polls: three half seconds at most.
const looks = 5

// purpose is what a write is for.
type purpose uint8

const (
	claiming purpose = iota + 1
	extending
	releasing
)

// send writes a register under the version that was last seen of it.
func (r *run) send(p purpose, worker int64, guard store.Version, register Register) {
	register.Clock = r.now.Wall
	register.Write = r.mark()
	value, err := register.Encode()
	if err != nil {
		// Only a wall clock beyond the year 9999 can't be written down, and a
		// step to there ends a term before it is extended.
		r.giveUp(fmt.Errorf("write register: %w", err))
		return
	}
	r.write = &write{
		purpose: p, worker: worker, key: RegisterKey(r.config.Namespace, r.config.Layout, worker),
		guard: guard, register: register, value: value, sent: r.now.Monotonic,
	}
	r.failures = 0
	if p == extending && r.inJournal() {
		// A successor could not tell this write from a stranger's if it did not
		// find it in the journal. It would give the term up.
		r.write.unsent = true
		r.awaited, r.waking = 0, false
		r.keep()
		return
	}
	r.swap()
}

// swap sends the write, for the first time or again: the identical bytes under
// the identical guard, so that it takes effect at most once however often it
// is sent, and whichever copy of it arrives.
func (r *run) swap() {
	w := *r.write
	w.reading, w.unsent, w.older = false, false, 0
	r.write = &w
	r.ask(func(id uint64) Request { return Swap{ID: id, Key: w.key, Prev: w.guard, Value: w.value} })
}

// read asks what became of the write.
func (r *run) read() {
	w := *r.write
	w.reading = true
	r.write = &w
	r.get(w.key)
}

// settle takes the answers while a write is open. Its outcome is decided by
// what the store says or shows, never by what was hoped for:
//
//	acknowledged                    it took effect
//	conflict, or no answer          read the register; then, if it shows
//	  the very bytes that were sent   it took effect, with the version read
//	  the version that guarded it     undecided: send it again
//	  an older write of this term     a late answer: read again, see outdated
//	  anything else                   lost
//
// A release reads again a few times only. Its generator is sealed, so there is
// nothing to keep by waiting: if the store was rolled back the register stays as
// it is, and rests. If the answers were late after all, the release may still take
// effect, or have done so, and the register rests at worst.
//
// The comparison is of the whole value, not of the nonce alone. The value has
// a random mark of its write, so bytes that are equal were written by this
// swap; under the nonce alone a clone of this process would pass for it, and
// the two would renew one term for ever.
func (r *run) settle(e Reply) {
	w := r.write
	if !w.reading {
		if e.Outcome == Swapped {
			r.write = nil
			r.landed(*w, e.Version)
			return
		}
		r.doubt(e)
		return
	}
	switch {
	case e.Outcome != Found && e.Outcome != Absent:
		r.doubt(e)
	case e.Entry.Version == w.guard: // both zero when the register is still absent
		r.swap()
	case e.Outcome == Found && bytes.Equal(e.Entry.Value, w.value):
		r.write = nil
		r.landed(*w, e.Entry.Version)
	case e.Outcome == Found && r.outdated(e.Entry.Value) && (!r.releasing || w.older+1 < looks):
		if r.releasing {
			again := *w
			again.older++
			r.write = &again
		}
		r.doubt(e)
	default:
		r.write = nil
		r.missed(*w, r.look(w.worker, e.Entry))
	}
}

// doubt reads the register again: at once the first time, after a pause when
// that was of no help. Reading and sending again go on for as long as it
// takes, except before the term's first id: then it is abandoned with the
// claim-wait.
func (r *run) doubt(e Reply) {
	if damaged(e.Err) && r.write.purpose == claiming && !r.releasing && r.config.Worker == nil {
		// Its outcome stays open, and nothing is ever issued under it.
		r.attempt.worker, r.write = r.write.worker, nil
		r.skip(e.Err)
		r.probe()
		return
	}
	if !r.term.started && !r.releasing && (r.late() || damaged(e.Err)) {
		err := e.Err
		if err == nil {
			err = store.ErrConflict
		}
		r.giveUp(fmt.Errorf("claim worker %d: %w", r.write.worker, err))
		return
	}
	if e.Err != nil {
		r.note(fmt.Errorf("write the register of worker %d: %w", r.write.worker, e.Err), "trying again")
	}
	if r.failures == 0 {
		r.failures++
		r.read()
		return
	}
	r.backOff()
}

// outdated reports whether a value is an older write of the present term: of
// the same claim, with a bound below the one acknowledged last. Bounds never
// shrink within a term, so a register can't really be there unless the store
// was rolled back; a read that is late can show it. Once the usable ticks are
// over there is nothing left to keep, and it counts as lost. On a lossy store
// those may end long before the acknowledged ones, which a failover took away: if
// the clock was ahead when they were asked for, by as much.
//
// Three reads that are late look like a loss and end the term: of an older
// write with the same bound, which a copy of this process may have written; of
// an earlier term; and of a key that does not exist yet. Each costs a term and
// no id, and takes a store that is late by a third of a window at least, just
// when it failed to acknowledge a write.
func (r *run) outdated(value []byte) bool {
	kept := r.term.register.Until
	if r.term.started {
		kept = r.term.usable
	}
	register, err := DecodeRegister(value)
	return err == nil && register.Holder == r.term.register.Holder && register.Holder != "" &&
		register.Until < r.term.register.Until && r.tick() < kept
}

// landed goes on after a write that took effect as the given version.
func (r *run) landed(w write, version store.Version) {
	r.failures, r.noted = 0, nil
	switch w.purpose {
	case claiming:
		r.term = term{floor: w.register.Floor, compared: r.config.EngineClock || r.attempt.agree > 0}
		// What is left of it is the wait for the namespace's record, and for the
		// claim to be safe.
		r.attempt = attempt{deadline: r.attempt.deadline + r.config.Loss}
	case extending:
		r.term.extensions++
	case releasing:
		r.stop()
		return
	}
	r.term.sent = w.sent
	r.term.look = look{worker: w.worker, version: version, register: w.register, standing: Held}
	r.acknowledge(w)
	switch {
	case r.releasing:
		r.release()
	case w.purpose == claiming:
		r.enter(Verifying)
		r.readNamespace()
	default:
		r.extended()
	}
}

// missed goes on after a write that did not and never will take effect,
// because the register is now as found.
func (r *run) missed(w write, found look) {
	switch {
	case r.releasing || w.purpose == releasing:
		// Whoever has the register now, nothing is left to give back.
		r.stop()
	case w.purpose == claiming:
		r.see(found)
		r.probe()
	case found.version == "":
		r.endTerm(fmt.Errorf("%w: the register of worker %d is gone", ErrLost, w.worker), false)
	case found.register.Holder == r.term.register.Holder && !found.register.Quarantined:
		if found.register.Until < r.term.register.Until {
			r.endTerm(fmt.Errorf("%w: the store shows term %d of worker %d as it was before its last extension", ErrLost, found.register.Term, w.worker), false)
			return
		}
		r.endTerm(fmt.Errorf("%w: somebody extends term %d of worker %d beside this process: a copy of it", ErrLost, found.register.Term, w.worker), false)
	case found.standing == Held || found.standing == Free:
		r.endTerm(fmt.Errorf("%w: worker %d is at term %d, of %s", ErrLost, w.worker, found.register.Term, found.register.Process), false)
	default:
		r.endTerm(fmt.Errorf("%w: worker %d is %s", ErrLost, w.worker, found.standing), false)
	}
}
