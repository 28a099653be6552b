package lease

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// open begins an attempt with the namespace's record, each time anew. A term is
// most often lost because somebody else has the worker id; but it may be that
// the store was emptied, and then a claim under the incarnation that is
// remembered would leave a register that nobody can ever claim again.
func (r *run) open() {
	r.newAttempt(r.attempt.stepped)
	r.enter(Opening)
	r.readNamespace()
}

func (r *run) readNamespace() { r.get(NamespaceKey(r.config.Namespace)) }

// opened takes the answers while opening. The record is created by a swap that
// needs the key not to exist, so one creator wins; and whatever came of the
// swap, only a record that was read back counts.
func (r *run) opened(e Reply) {
	switch e.Outcome {
	case Found:
		n, err := r.accept(e.Entry.Value)
		if err == nil && r.fleeting(n) {
			r.glimpsed = n.Incarnation
			r.attempt.deadline += r.config.Loss
			r.wakeAt(r.now.Monotonic + r.config.Loss)
			r.report(Waiting, &YoungError{"the namespace's record", r.config.Loss})
			return
		}
		if err == nil {
			r.namespace = n
			r.pool, err = r.config.claims(n)
		}
		if err != nil {
			r.fail(err)
			return
		}
		r.judge()
	case Absent:
		if r.namespace.Incarnation != "" {
			// It is not made anew: whoever emptied the store may have holders
			// that still issue, and should decide.
			r.retry(errNamespaceGone)
			return
		}
		if err := r.past(); err != nil {
			r.giveUp(err) // a record of this layout would only shut others out
			return
		}
		value, err := r.newNamespace().Encode()
		if err != nil {
			r.giveUp(err)
			return
		}
		r.ask(func(id uint64) Request {
			return Swap{ID: id, Key: NamespaceKey(r.config.Namespace), Value: value}
		})
	case Swapped:
		r.readNamespace()
	case Conflict:
		r.retry(errors.New("open namespace: the record exists and can't be read yet"))
	default:
		r.retry(fmt.Errorf("open namespace: %w", e.Err))
	}
}

// errNamespaceGone says that a record that was read before is not there.
var errNamespaceGone = errors.New("the namespace's record is gone: nothing is claimed until it is back")

// fleeting reports whether a lossy store may still lose a record, for all that
// is known of it. If it did after a claim, the claim's register would be of an
// incarnation that is no more, and in the way for good. So a record that is
// young by its writer's clock is read again when it has been there for loss; if
// it is still the same one then, it stays.
func (r *run) fleeting(n Namespace) bool {
	if r.config.Loss == 0 || r.namespace.Incarnation != "" || r.glimpsed == n.Incarnation {
		return false
	}
	return r.now.Wall.Sub(n.Created) < r.config.Loss+clockTolerance
}

func (r *run) newNamespace() Namespace {
	return Namespace{
		Layout:      r.config.Layout.String(),
		Incarnation: hex.EncodeToString(r.now.Random[:16]),
		Datacenters: r.config.Datacenters,
		Created:     r.now.Wall,
	}
}

// accept returns the namespace of a record if this holder may use it, and if it
// is the one that it used before, unchanged.
func (r *run) accept(value []byte) (Namespace, error) {
	n, err := DecodeNamespace(value)
	if err != nil {
		return n, fmt.Errorf("open namespace: %w", err)
	}
	if layout := r.config.Layout.String(); n.Layout != layout {
		return n, &LayoutMismatchError{Namespace: r.config.Namespace, Stored: n.Layout, Configured: layout}
	}
	if known := r.namespace.Incarnation; known != "" && n.Incarnation != known {
		return n, fmt.Errorf("%w: incarnation %s, before %s", ErrNamespaceReplaced, n.Incarnation, known)
	}
	if known := r.namespace; known.Incarnation != "" && !slices.Equal(n.Datacenters, known.Datacenters) {
		// Another store may issue them now.
		return n, fmt.Errorf("%w: its store may issue the datacenters %v, before %v", ErrNamespaceReplaced, n.Datacenters, known.Datacenters)
	}
	if wanted := r.config.Datacenters; len(wanted) > 0 && !slices.Equal(wanted, n.Datacenters) {
		return n, &ConfigError{"datacenters", fmt.Sprint(wanted), fmt.Sprintf("must be those of the namespace's record, %v", n.Datacenters)}
	}
	return n, nil
}

// verified takes the namespace's record as it is after the claim. Only then,
// if it still is the one that the claim was made in, ids are issued.
func (r *run) verified(e Reply) {
	if e.Outcome != Found {
		// A store that answers late may not know the record for a while.
		err := e.Err
		if err == nil {
			err = errNamespaceGone
		}
		r.retry(fmt.Errorf("read namespace after the claim: %w", err))
		return
	}
	if _, err := r.accept(e.Entry.Value); err != nil {
		r.fail(err)
		return
	}
	r.failures = 0
	r.ready()
}

// reread takes the namespace's record as it is in the course of a term. An
// error says nothing about the term: it will be read again.
func (r *run) reread(e Reply) {
	if e.Err != nil {
		r.note(fmt.Errorf("read namespace: %w", e.Err), "the term goes on")
	}
	if e.Outcome != Found {
		return
	}
	if _, err := r.accept(e.Entry.Value); err != nil {
		r.fail(err)
	}
}

// past returns why no tick can be stamped at this hour, if so.
func (r *run) past() error { return CheckTime(r.config.Layout, r.now.Wall) }

// CheckTime returns a *[TimeError] if the layout has no tick for that time.
func CheckTime(layout snowfence.Layout, wall time.Time) error {
	switch tick := layout.TickAt(wall); {
	case tick < 0:
		return &TimeError{Reason: snowfence.ErrBeforeEpoch, Layout: layout, Now: wall}
	case tick >= layout.HorizonTick():
		return &TimeError{Reason: snowfence.ErrPastHorizon, Layout: layout, Now: wall}
	}
	return nil
}
