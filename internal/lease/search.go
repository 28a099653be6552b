package lease

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// search looks for a worker id that may be claimed. It reads the namespace's record, judges
// this clock and reads registers. It writes only the record of a new namespace.
//
// Its phases are Opening, Judging and Probing. Each attempt begins with the record. A term
// is most often lost because another holder has the worker id. But the store may have been
// emptied, and a claim under the old incarnation would leave a register that can never be
// claimed again.
type search struct {
	record     stored.Namespace // of the namespace; zero until it was read
	recordKept bool             // the store can't lose the record any more
	pool       pool             // what may be claimed
	stepped    bool             // the clock stepped forward since it was judged: it is judged with care
	claimed    bool             // a worker id was chosen, at some time
	seen       firstRead        // of the register that was read last
	ahead      time.Duration    // how far the reference is ahead of this clock, if it is a borrower's
	attempt
}

// firstRead is the version of a register, and when it was read first, on the monotonic clock. It outlives
// attempts, so that one with a short claim-wait goes on where the one before ended.
type firstRead struct {
	version store.Version
	at      time.Duration
}

// attempt is one try to get a worker id. It ends when the claim-wait does.
type attempt struct {
	deadline time.Duration // on the monotonic clock
	remind   time.Duration // when a wait for a worker id is reported again, on the monotonic clock
	judgement
	probing
}

// begin begins an attempt.
func (s *search) begin(x *step) {
	s.attempt = attempt{deadline: x.now.Monotonic + x.ClaimWait}
	x.failures = 0
	x.enter(Opening)
	x.getNamespace()
}

// take takes an answer of the store.
func (s *search) take(x *step, e Reply) verdict {
	switch x.phase {
	case Opening:
		return s.opened(x, e)
	case Judging:
		return s.judged(x, e)
	default:
		return s.probed(x, e)
	}
}

// woken goes on at the date that was set.
func (s *search) woken(x *step) verdict {
	switch x.phase {
	case Opening:
		x.getNamespace()
		return verdict{}
	case Judging:
		return s.judge(x)
	default:
		return s.probe(x)
	}
}

// opened takes the answers while opening. The record is created by a swap that needs the
// key not to exist, so one creator wins. Whatever the outcome of the swap, only a record
// that was read back counts.
func (s *search) opened(x *step, e Reply) verdict {
	switch e.Outcome {
	case Found:
		return s.read(x, e.Entry.Value)
	case Absent:
		return s.found(x)
	case Swapped:
		x.report(Made, nil)
		x.getNamespace()
		return verdict{}
	case Conflict:
		return s.retry(x, errors.New("open namespace: the record exists and can't be read yet"))
	default:
		return s.retry(x, fmt.Errorf("open namespace: %w", e.Err))
	}
}

// read takes the record. A lossy store may lose a young one, and another incarnation may follow.
// It counts as kept when it is read again after the claim is confirmed: the claim came after this
// reading, so the record has been there for loss by then.
func (s *search) read(x *step, value []byte) verdict {
	if !s.recordKept {
		s.record = stored.Namespace{}
	}
	n, err := s.accept(x.Config, value)
	if err != nil {
		return verdict{what: failed, err: err}
	}
	s.record = n
	s.recordKept = s.recordKept || !stored.Young(n.Created, x.Loss, x.now.Wall)
	if s.pool, err = x.claims(n); err != nil {
		return verdict{what: failed, err: err}
	}
	return s.judge(x)
}

// found creates the record, but never a second time: the store was emptied then, there may
// be holders that still issue, and its operator should decide.
func (s *search) found(x *step) verdict {
	if s.recordKept {
		return s.retry(x, errNamespaceGone)
	}
	if x.Existing {
		return verdict{what: failed, err: stored.Gone("namespace " + x.Namespace)}
	}
	if err := x.outside(); err != nil {
		return verdict{what: gaveUp, err: err} // a record of this layout would only shut others out
	}
	value, err := stored.NewNamespace(x.Layout, x.Datacenters, x.nonce(), x.now.Wall).Encode()
	if err != nil {
		return verdict{what: gaveUp, err: err}
	}
	x.call(Call{Verb: Swap, Key: stored.NamespaceKey(x.Namespace), Value: value})
	return verdict{}
}

// errNamespaceGone reports that the record was read before, and is gone.
var errNamespaceGone = errors.New("the namespace's record is gone: nothing is claimed until it is back")

// accept returns the namespace of a record if this holder may use it, and if it has not
// changed since.
func (s *search) accept(c *Config, value []byte) (stored.Namespace, error) {
	n, err := stored.DecodeNamespace(value)
	if err != nil {
		return n, fmt.Errorf("open namespace: %w", err)
	}
	if err := n.Fits(c.Namespace, c.Layout, c.Datacenters); err != nil {
		return n, err
	}
	return n, n.Succeeds(s.record)
}

// retry tries again after a pause, until the claim-wait is over. It does not retry damage.
func (s *search) retry(x *step, err error) verdict {
	if s.late(x) || damaged(err) {
		return verdict{what: gaveUp, err: err}
	}
	x.note(err, "trying again")
	x.backOff()
	x.wakeAt(min(x.wake, s.deadline))
	return verdict{}
}

// damaged reports whether an error of the store is one that no retry mends.
func damaged(err error) bool { return errors.Is(err, store.ErrDamaged) }

// late reports whether the claim-wait is over.
func (s *search) late(x *step) bool { return x.now.Monotonic >= s.deadline }

// wait reports the reason of a wait every remindEvery, and goes on after d, or at the end of the claim-wait.
func (s *search) wait(x *step, d time.Duration, what error) verdict {
	if x.now.Monotonic >= s.remind {
		s.remind = x.now.Monotonic + remindEvery
		x.report(Waiting, what)
	}
	x.wakeIn(max(min(d, s.deadline-x.now.Monotonic), time.Millisecond))
	return verdict{}
}
