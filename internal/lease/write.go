package lease

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// write is a term's swap of a register with an open outcome.
type write struct {
	Write
	purpose  purpose
	worker   int64
	register stored.Register
	sent     time.Duration // when it was first sent, on the monotonic clock
	unsent   bool          // it waits for the journal
	older    int           // looks in a row that found an older write while the term is released
}

// purpose is the reason of a write.
type purpose uint8

const (
	claiming purpose = iota + 1
	extending
	releasing
)

// looks is how many looks in a row at an older write end a release. With their pauses they
// last for one to three polls: three half seconds at most.
const looks = 5

// prepare makes the write of a register, guarded by the version that was last seen.
func (t *term) prepare(x *step, p purpose, l look, register stored.Register) error {
	register.Clock = x.now.Wall
	register.Write = x.mark()
	value, err := register.Encode()
	if err != nil {
		// Only a wall clock beyond the year 9999 can't be written down, and a
		// step to there ends a term before it is extended.
		return fmt.Errorf("write register: %w", err)
	}
	t.write = &write{
		Write:   Write{Key: stored.RegisterKey(x.Namespace, x.Layout, l.worker), Guard: l.version, Value: value},
		purpose: p, worker: l.worker, register: register, sent: x.now.Monotonic,
	}
	x.failures = 0
	return nil
}

// swap sends the write, for the first time or again.
func (t *term) swap(x *step) {
	w := *t.write
	w.unsent, w.older = false, 0
	t.write = &w
	x.call(w.Swap())
}

// read reads the register to learn the outcome of the write.
func (t *term) read(x *step) { x.get(t.write.Key) }

// settle takes the answers while a write is open, by [Write.Settle]. A register that shows
// an older write of this term was read late: it is read again.
//
// A release reads again a few times only. Its generator is sealed, so waiting saves no
// ticks. If the store was rolled back, the register stays as it is, and rests. If the
// answers were late after all, the release may still take effect, or has, and the register
// rests at worst.
func (t *term) settle(x *step, e Reply, s *search, drain bool) verdict {
	w := t.write
	switch w.Settle(e) {
	case Unsent:
		t.swap(x)
	case Landed:
		t.write = nil
		x.failures, x.noted = 0, nil
		return verdict{what: landed, write: w, version: e.Landed()}
	case Missed:
		if e.Outcome != Found || !t.outdated(x, e.Entry.Value) || drain && w.older+1 >= looks {
			t.write = nil
			return verdict{what: missed, write: w, look: s.look(x, w.worker, e.Entry)}
		}
		if drain {
			again := *w
			again.older++
			t.write = &again
		}
		return t.doubt(x, e, s, drain)
	case Doubtful:
		return t.doubt(x, e, s, drain)
	}
	return verdict{}
}

// doubt reads the register again: at once the first time, then after a pause. Reading and
// sending go on for as long as it takes. Before the term's first id they end with the
// claim-wait.
func (t *term) doubt(x *step, e Reply, s *search, drain bool) verdict {
	w := t.write
	if damaged(e.Err) && w.purpose == claiming && !drain && x.Worker == nil {
		// Its outcome stays open, and nothing is ever issued under it.
		t.write = nil
		s.worker = w.worker
		return verdict{what: skipped, err: e.Err}
	}
	if !t.started && !drain && (s.late(x) || damaged(e.Err)) {
		err := e.Err
		if err == nil {
			err = store.ErrConflict
		}
		return verdict{what: gaveUp, err: fmt.Errorf("claim worker %d: %w", w.worker, err)}
	}
	if e.Err != nil && (!t.started || drain) { // otherwise hear has reported it
		x.note(fmt.Errorf("write the register of worker %d: %w", w.worker, e.Err), "trying again")
	}
	if x.failures == 0 {
		x.failures++
		t.read(x)
		return verdict{}
	}
	x.backOff()
	return verdict{}
}

// outdated reports whether a value is an older write of the present term: of the same
// claim, with a bound below the last acknowledged one. Bounds never shrink within a term.
// So the register can't really be there, unless the store was rolled back. A late read can
// show it. When the usable ticks are over there is nothing left to keep, and the term
// counts as lost. On a lossy store the usable ticks may end long before the acknowledged
// ones that a failover took away. That happens when the clock was ahead at their
// extension.
//
// Three late reads look like a loss and end the term. One shows an older write with the same
// bound, which a copy of this process may have written. One shows an earlier term. One shows
// no register. Each costs a term and no id. Each needs a store that is late by a third of a
// window at least, just when it failed to acknowledge a write.
func (t *term) outdated(x *step, value []byte) bool {
	kept := t.register.Until
	if t.started {
		kept = t.usable
	}
	register, err := stored.DecodeRegister(value)
	return err == nil && register.Holder == t.register.Holder && register.Holder != "" &&
		register.Until < t.register.Until && x.tick() < kept
}

// taken returns why a term with a missed write is lost, by its register now. A durable store shows no earlier write.
func (t *term) taken(x *step, worker int64, found look) error {
	err, r := t.takenBy(worker, found), found.register
	older := r.Term > 0 && r.Term < t.register.Term || r.Holder == t.register.Holder && r.Until < t.register.Until
	if x.Loss == 0 && (found.version == "" || older) {
		err = fmt.Errorf("%w: the store went back", err)
	}
	return err
}

func (t *term) takenBy(worker int64, found look) error {
	r := found.register
	switch {
	case found.version == "":
		return fmt.Errorf("%w: the register of worker %d is gone", ErrLost, worker)
	case r.Holder == t.register.Holder && !r.Quarantined && r.Until < t.register.Until:
		return fmt.Errorf("%w: the store shows term %d of worker %d as it was before its last extension", ErrLost, r.Term, worker)
	case r.Holder == t.register.Holder && !r.Quarantined:
		return fmt.Errorf("%w: another process extends term %d of worker %d: a copy of this one", ErrLost, r.Term, worker)
	case r.Quarantined && (r.Holder == t.register.Holder || r.Holder == ""):
		return fmt.Errorf("%w: an operator quarantined worker %d", ErrLost, worker)
	case r.Holder == "" && r.Term == t.register.Term: // a holder clears its own register only
		return fmt.Errorf("%w: an operator or a copy of this process released worker %d", ErrLost, worker)
	case r.Holder == "" && r.Until == r.Floor: // no id was made in that term
		return fmt.Errorf("%w: an operator set a floor for worker %d, by %s", ErrLost, worker, r.Process)
	case found.standing == stored.Held || found.standing == stored.Free:
		return fmt.Errorf("%w: worker %d is at term %d, of %s", ErrLost, worker, r.Term, r.Process)
	}
	return fmt.Errorf("%w: worker %d is %s", ErrLost, worker, found.standing)
}

// rests returns which worker id rests, and until when, if the holder sends no more: the
// term's, or that of a claim with an open outcome. An open write counts as one that takes
// effect, except for a release.
func (t *term) rests() (worker int64, until snowfence.Tick, rests bool) {
	worker, until, rests = t.worker, t.register.Until, t.register.Holder != ""
	w := t.write
	if w == nil || w.purpose == releasing {
		w = t.open
	}
	if w != nil && !w.unsent {
		worker, until, rests = w.worker, max(until, w.register.Until), true
	}
	return worker, until, rests
}
