package lease

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"snowfence.example/snowfence"
)

// open reads the namespace's record, and begins to claim at once when that was
// done before: each claim reads it again before it issues.
func (r *run) open() {
	r.newAttempt(r.attempt.stepped)
	if r.namespace.Incarnation != "" {
		r.judge()
		return
	}
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

func (r *run) newNamespace() Namespace {
	return Namespace{
		Layout:      r.config.Layout.String(),
		Incarnation: hex.EncodeToString(r.now.Random[:16]),
		Datacenters: r.config.Datacenters,
		Created:     r.now.Wall,
	}
}

// accept returns the namespace of a record if this holder may use it, and the
// same one that it used before.
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
			err = errors.New("the record is not there")
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
// error says nothing: it will be read again.
func (r *run) reread(e Reply) {
	if e.Outcome != Found {
		return
	}
	if _, err := r.accept(e.Entry.Value); err != nil {
		r.fail(err)
	}
}

// past returns why no tick can be stamped at this hour, if so.
func (r *run) past() error {
	switch tick := r.tick(); {
	case tick < 0:
		return snowfence.ErrBeforeEpoch
	case tick >= r.config.Layout.HorizonTick():
		return snowfence.ErrPastHorizon
	}
	return nil
}
