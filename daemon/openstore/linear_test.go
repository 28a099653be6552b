package openstore

import (
	"context"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/internal/lineartest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
)

// TestEveryEngineIsLinearizable opens each engine by its URL, on a server of
// its own behind a proxy, and judges the answers to its clients while connections broke and fell
// silent, replies got lost, and the server of a durable engine was killed and started again.
func TestEveryEngineIsLinearizable(t *testing.T) {
	const loss, moment = time.Second, 300 * time.Millisecond
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they share nothing
			e := testkit.StartEngine(t, name)
			h := lineartest.Harness{
				Open:    func(ctx context.Context) (store.Store, error) { return Open(ctx, e.URL("", loss)) },
				Rates:   faultstore.Rates{Before: 0.02, LostReply: 0.05, Late: 0.02, Stale: 0.2},
				Seed:    1,
				Timeout: 90 * time.Second,
			}
			if e.Server != nil {
				proxy := testkit.NewProxy(t, e.Server.Addr())
				h.Open = func(ctx context.Context) (store.Store, error) { return Open(ctx, e.URL(proxy.Addr(), loss)) }
				// during keeps a fault up for a moment.
				during := func(begin func()) func(context.Context) error {
					return func(ctx context.Context) error {
						begin()
						defer proxy.Heal()
						return wait(ctx, moment)
					}
				}
				h.Disturbances = []lineartest.Disturbance{
					{Name: "resets", Do: func(ctx context.Context) error {
						for range 5 {
							proxy.ResetAll()
							if err := wait(ctx, moment/10); err != nil {
								return err
							}
						}
						return nil
					}},
					{Name: "lost replies", Do: during(proxy.LoseReplies)},
					{Name: "silence", Do: during(proxy.Drop)},
					{Name: "no connections", Do: during(proxy.Cut)},
				}
				if !e.Lossy { // a lossy engine may lose what it acknowledged
					h.Disturbances = append(h.Disturbances, lineartest.Disturbance{Name: "restart", Do: func(context.Context) error {
						e.Server.Kill()
						return e.Server.TryStart()
					}})
				}
			}
			lineartest.Run(t, h)
		})
	}
}

// wait lets d pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
