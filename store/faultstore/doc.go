// Package faultstore makes any store fail on purpose. A [Store] decorates another one, and a [Plan]
// chooses the fault of each call: an error before the call reaches the engine, an error after it took
// effect (a lost reply), a swap that arrives late, a delay on either way, a stale read.
//
//	faulty := faultstore.New(inner, faultstore.Seeded(42, faultstore.Rates{
//		Before:    0.05,
//		LostReply: 0.05,
//		Stale:     0.2,
//	}), nil)
//
// A fault depends on the seed and on the call alone (its verb, its key, and
// how many such calls came before it), and never on the order in which
// goroutines happen to run. So the seed replays a failure, and [Store.Calls] lists each call with its
// fault.
//
// [Only] confines a plan to some calls, [Nth] hits one call, and a Plan is a function, so anything else can
// be written by hand.
//
// Whatever is injected, a faulty store keeps the contract of package store as
// long as the store beneath does. It must never be possible to blame a
// duplicate id on it.
package faultstore
