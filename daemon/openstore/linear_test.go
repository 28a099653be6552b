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
// its own behind a proxy, and judges what its clients were told while
// connections broke and fell silent, replies got lost, and the server was
// killed and started again.
func TestEveryEngineIsLinearizable(t *testing.T) {
	const loss = time.Second // what a lossy engine declares
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			e := testkit.StartEngine(t, name)
			address, disturbances := "", []lineartest.Disturbance(nil)
			if e.Server != nil {
				proxy := testkit.NewProxy(t, e.Server.Addr())
				address, disturbances = proxy.Addr(), outages(proxy, e.Server, e.LossOf(loss))
			}
			lineartest.Run(t, lineartest.Harness{
				Open:         func(ctx context.Context) (store.Store, error) { return Open(ctx, e.URL(address, loss)) },
				Rates:        faultstore.Rates{Before: 0.02, LostReply: 0.05, Late: 0.02, Stale: 0.2},
				Disturbances: disturbances,
				Seed:         1,
				Timeout:      90 * time.Second,
			})
		})
	}
}

// outages are what can happen on the way to a server, and to the server.
func outages(proxy *testkit.Proxy, server *testkit.Server, loss time.Duration) []lineartest.Disturbance {
	const moment = 300 * time.Millisecond
	// during keeps a fault up for a moment.
	during := func(begin func()) func(context.Context) error {
		return func(ctx context.Context) error {
			begin()
			defer proxy.Heal()
			return wait(ctx, moment)
		}
	}
	return []lineartest.Disturbance{
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
		{Name: "restart", Loss: loss, Do: func(context.Context) error {
			server.Kill()
			return server.TryStart()
		}},
		{Name: "silence", Do: during(proxy.Drop)},
		{Name: "no connections", Do: during(proxy.Cut)},
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
