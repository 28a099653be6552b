// Package countertest holds the rules that counters keep on every engine, as a table:
//
//	func TestCounters(t *testing.T) {
//		countertest.Run(t, countertest.Harness{
//			Open: func(ctx context.Context) (store.Store, error) { return filestore.Open(ctx, filestore.Config{Dir: dir}) },
//		})
//	}
//
// Each rule sees the store through several independent clients at once, as processes do.
// [RunFaulty] runs them again under faults between the counters and the store.
//
// [Order] and [Distinct] are the checkers. They look at nothing but what callers got, and when.
package countertest
