// Package storetest holds the rules that every engine of package store must
// keep, as a table: a name, the rule in words, and a check. An engine's test
// hands it a [Harness]:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			Open: func(ctx context.Context) (store.Store, error) { return filestore.Open(ctx, filestore.Config{Dir: dir}) },
//		})
//	}
//
// The checks see a store as its users do, through independent clients. They
// allow everything that the contract allows, stale reads above all: they await a value that a read must
// show, and look more than once for a value that it must not show. Each engine must keep every rule. Three
// rules need more than clients: to lose a reply, to roll the store back, to restart it; an engine that
// can provides the hooks.
//
// [RunFaulty] runs them all again under faults between the clients and their
// users. Whether swaps are linearizable when calls race without an arrangement,
// daemon/internal/lineartest finds out.
//
// [Check] returns the violations instead of failing a test. The suite's own tests use it to show that
// the suite finds broken stores.
package storetest
