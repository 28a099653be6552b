package faultstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
)

// ErrInjected is returned by calls that a plan made fail. To a caller it is an
// error like any other: a swap that returns it has an unknown outcome.
var ErrInjected = errors.New("faultstore: injected failure")

// A Record is a call and its fault.
type Record struct {
	Call  Call
	Fault Fault
}

// Store is a faulty client of another store. It is safe for concurrent use.
// Closing it closes the store that it decorates.
//
// Calls with an invalid key, prefix or value are passed on as they are, and
// neither counted nor planned for: no client sends them.
type Store struct {
	inner store.Store
	clock snowfence.Clock

	mu     sync.Mutex
	plan   Plan
	counts map[Call]uint64 // by verb and key; the N of these is zero
	calls  []Record
	late   []lateSwap
	// seen holds the last two different states of each key, older first; nil for one that
	// was not seen. The version of a key that was missing is zero.
	seen map[string][2]*store.Entry
}

// lateSwap is a swap that is still on its way.
type lateSwap struct {
	key   string
	prev  store.Version
	value []byte
}

// New returns a faulty client of inner that follows plan; nil means no faults.
// Delays pass on clock. Nil means the system's, which also serves within a bubble of testing/synctest.
func New(inner store.Store, plan Plan, clock snowfence.Clock) *Store {
	s := &Store{
		inner:  inner,
		clock:  cmp.Or(clock, snowfence.SystemClock()),
		counts: make(map[Call]uint64),
		seen:   make(map[string][2]*store.Entry),
	}
	s.Follow(plan)
	return s
}

// Follow makes s follow another plan from the next call on; nil means no faults.
// Calls are still counted from the first.
func (s *Store) Follow(plan Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// Calls returns every call so far with its fault, in the order in which the calls began. They are kept
// for as long as the store is.
func (s *Store) Calls() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Deliver carries out the swaps that [Fault.Late] and [Fault.Again] keep, in the order in which
// they were made, and returns the outcome of each: nil if it took effect.
func (s *Store) Deliver(ctx context.Context) []error {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	outcomes := make([]error, len(late))
	for i, l := range late {
		_, outcomes[i] = s.inner.Swap(ctx, l.key, l.prev, l.value)
	}
	return outcomes
}

// Unwrap returns the store that s decorates.
func (s *Store) Unwrap() store.Store { return s.inner }

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if store.ValidateKey(key) != nil {
		return s.inner.Get(ctx, key)
	}
	fault := s.begin(Get, key)
	return under(ctx, s, fault, func() (store.Entry, error) {
		e, err := s.inner.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return e, err
		}
		s.see(key, e) // the zero entry if it is missing
		old, ok := s.earlier(key)
		switch {
		case !fault.Stale || !ok:
			return e, err
		case old.Version == "":
			return store.Entry{}, store.ErrNotFound
		}
		return old, nil
	})
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if store.ValidateKey(key) != nil || store.ValidateValue(value) != nil {
		return s.inner.Swap(ctx, key, prev, value)
	}
	fault := s.begin(Swap, key)
	if (fault.Late || fault.Again) && ctx.Err() == nil {
		s.mu.Lock()
		s.late = append(s.late, lateSwap{key: key, prev: prev, value: slices.Clone(value)})
		s.mu.Unlock()
	}
	return under(ctx, s, fault, func() (store.Version, error) {
		version, err := s.inner.Swap(ctx, key, prev, value)
		if err == nil {
			if prev == "" {
				s.see(key, store.Entry{})
			}
			s.see(key, store.Entry{Key: key, Value: value, Version: version})
		}
		return version, err
	})
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	if store.ValidatePrefix(prefix) != nil {
		return s.inner.List(ctx, prefix)
	}
	return func(yield func(store.Entry, error) bool) {
		fault := s.begin(List, prefix)
		if err := s.request(ctx, fault); err != nil {
			yield(store.Entry{}, err)
			return
		}
		for e, err := range s.inner.List(ctx, prefix) {
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			s.see(e.Key, e)
			if fault.Stale {
				if old, ok := s.earlier(e.Key); ok {
					e = old
				}
			}
			if e.Version != "" && !yield(e, nil) {
				return
			}
			if fault.LostReply {
				break
			}
		}
		if err := s.reply(ctx, fault); err != nil {
			yield(store.Entry{}, err)
		}
	}
}

// Traits implements [store.Store].
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return under(ctx, s, s.begin(Traits, ""), func() (store.Traits, error) { return s.inner.Traits(ctx) })
}

// Close implements [store.Store]. Late swaps that were not delivered are
// dropped.
func (s *Store) Close() error {
	s.mu.Lock()
	s.late = nil
	s.mu.Unlock()
	return s.inner.Close()
}

// begin counts a call, asks the plan and writes both down. The plan is asked
// outside the lock, so that it may look at the store.
func (s *Store) begin(verb Verb, key string) Fault {
	call := Call{Verb: verb, Key: key}
	s.mu.Lock()
	s.counts[call]++
	call.N = s.counts[call]
	plan := s.plan
	index := len(s.calls)
	s.calls = append(s.calls, Record{Call: call})
	s.mu.Unlock()

	if plan == nil {
		return Fault{}
	}
	fault := plan(call)
	s.mu.Lock()
	s.calls[index].Fault = fault
	s.mu.Unlock()
	return fault
}

// under carries a call out between the way to the engine and the way back.
func under[T any](ctx context.Context, s *Store, fault Fault, call func() (T, error)) (answer T, err error) {
	if err := s.request(ctx, fault); err != nil {
		return answer, err
	}
	carried, outcome := call()
	if err := s.reply(ctx, fault); err != nil {
		return answer, err
	}
	return carried, outcome
}

// request is the way to the engine.
func (s *Store) request(ctx context.Context, fault Fault) error {
	if err := s.pause(ctx, fault.Delay); err != nil {
		return err
	}
	if fault.Before || fault.Late {
		return fmt.Errorf("%w on the way to the store", ErrInjected)
	}
	return nil
}

// reply is the way back. A failed call was carried out.
func (s *Store) reply(ctx context.Context, fault Fault) error {
	if fault.LostReply {
		return fmt.Errorf("%w on the way back from the store", ErrInjected)
	}
	if fault.ReplyDelay <= 0 {
		return nil
	}
	return s.pause(ctx, fault.ReplyDelay)
}

// pause lets d pass, and fails if the context ends first or has ended already.
func (s *Store) pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	expired, stop := s.clock.After(d)
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}

// see remembers a state of a key; the zero Entry means that it was missing.
func (s *Store) see(key string, e store.Entry) {
	e.Value = slices.Clone(e.Value)
	s.mu.Lock()
	defer s.mu.Unlock()
	states := s.seen[key]
	if states[1] == nil || states[1].Version != e.Version {
		s.seen[key] = [2]*store.Entry{states[1], &e}
	}
}

// earlier returns the state before the last that was seen of a key, if two
// were.
func (s *Store) earlier(key string) (store.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.seen[key][0]
	if old == nil {
		return store.Entry{}, false
	}
	e := *old
	e.Value = slices.Clone(e.Value)
	return e, true
}
