package storetest

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// fault is one way in which calls go wrong between a client and its user.
type fault struct {
	name  string
	rates faultstore.Rates
}

// faults returns every fault alone and all of them at once. The rates are high
// enough to meet every rule, and the delays short.
func faults() []fault {
	return []fault{
		{"error-before", faultstore.Rates{Before: 0.2}},
		{"lost-reply", faultstore.Rates{LostReply: 0.2}},
		{"late", faultstore.Rates{Late: 0.2}},
		{"delay", faultstore.Rates{Delay: 0.03, MaxDelay: 2 * time.Millisecond}},
		{"stale", faultstore.Rates{Stale: 0.3}},
		{"all", faultstore.Rates{
			Before: 0.05, LostReply: 0.05, Late: 0.05, Stale: 0.1,
			Delay: 0.02, MaxDelay: 2 * time.Millisecond,
		}},
	}
}

// RunFaulty runs the suite over the clients of h decorated by faultstore, in a subtest for
// every fault: calls that fail before they reach the engine, lost replies, swaps that arrive
// late, delays, stale reads, and all of them at once. A store that only seems to keep the
// rules, because nothing ever went wrong, does not pass. The hooks Restart, Snapshot and
// OpenLossy are not used: they are about the store itself, which is the matter of [Run].
func RunFaulty(t *testing.T, h Harness) {
	t.Helper()
	for name, faulty := range Faulty(h) {
		t.Run(name, func(t *testing.T) { Run(t, faulty) })
	}
}

// Faulty returns the harnesses that [RunFaulty] runs, by the name of the fault, for use with
// [Check]. Their faults follow from a fixed seed and from the calls alone.
func Faulty(h Harness) iter.Seq2[string, Harness] {
	return func(yield func(string, Harness) bool) {
		for _, f := range faults() {
			if !yield(f.name, h.under(f)) {
				return
			}
		}
	}
}

// under returns a harness whose clients suffer from f.
func (h Harness) under(f fault) Harness {
	var clients atomic.Uint64
	faulty := h
	faulty.Restart, faulty.Snapshot, faulty.OpenLossy = nil, nil, nil
	faulty.Flaky = h.Flaky || f.rates.Before+f.rates.LostReply+f.rates.Late > 0
	faulty.Open = func(ctx context.Context) (store.Store, error) {
		s, err := h.Open(ctx)
		if err != nil {
			return nil, err
		}
		// Clients differ, lest both meet the same fault at the same call.
		return Decorate(s, clients.Add(1), f.rates), nil
	}
	return faulty
}

// Decorate returns a client that suffers from faults at the given rates, drawn
// from the seed, before every third call of which the late swaps are delivered.
// It is safe for concurrent use; closing it closes s.
func Decorate(s store.Store, seed uint64, rates faultstore.Rates) store.Store {
	return &tardy{Store: faultstore.New(s, faultstore.Seeded(seed, rates), nil)}
}

// tardy delivers the late swaps of a faulty client before every third of its
// later calls: some before their sender has tried again, and some after.
type tardy struct {
	*faultstore.Store
	calls atomic.Uint64
}

// Get implements [store.Store].
func (t *tardy) Get(ctx context.Context, key string) (store.Entry, error) {
	t.deliver(ctx)
	return t.Store.Get(ctx, key)
}

// Swap implements [store.Store].
func (t *tardy) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	t.deliver(ctx)
	return t.Store.Swap(ctx, key, prev, value)
}

// deliver carries late swaps out. Their outcomes stay unknown: their
// senders got the answer that it is unknown.
func (t *tardy) deliver(ctx context.Context) {
	if t.calls.Add(1)%3 == 0 {
		_ = t.Store.Deliver(ctx)
	}
}

// Unwrap returns the faulty client.
func (t *tardy) Unwrap() store.Store { return t.Store }
