// Package lineartest finds out whether a store's swaps are linearizable while
// everything goes wrong at once: many goroutines on several clients read and
// swap a few keys at random, calls fail, connections break, the server is
// killed. The calls, their results and their times are the history, which is then judged as a whole.
//
//	func TestSwapsAreLinearizable(t *testing.T) {
//		lineartest.Run(t, lineartest.Harness{
//			Open: func(ctx context.Context) (store.Store, error) { return etcdstore.Open(ctx, config) },
//			Disturbances: []lineartest.Disturbance{{Name: "restart", Do: restart}},
//		})
//	}
//
// store/storetest checks rule by rule, with calls that are made for the rule.
// This package checks the one promise under all the others, by random calls. A history is sound if
//
//   - every read shows the value of a swap that was acknowledged or whose outcome
//     is unknown, not of a swap that was reported as a conflict;
//   - a version names one swap, and a swap has one version;
//   - the swaps of each key can be put in one order, each at an instant between
//     its call and its return, in which every acknowledged swap finds the
//     version that it names, and every conflict another one. A swap whose
//     outcome is unknown may stand anywhere after its call, or nowhere; once a
//     read has shown its value, it stands before the end of that read.
//
// Reads may be stale, so the order leaves them out. Whether
// there is an order is decided by porcupine, a checker for histories. When it
// can't decide in time, that counts as a failure.
package lineartest
