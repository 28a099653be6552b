package builtin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/kind/kindtest"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// hold opens a minter of fenced ids, which the test closes at its end. Its
// epoch lies before the instant at which synctest's clocks begin.
func hold(t testing.TB, s store.Store, window time.Duration) *minter {
	t.Helper()
	layout := snowfence.DefaultLayout()
	layout.Epoch = time.Date(1999, time.January, 1, 0, 0, 0, 0, time.UTC)
	h, err := fence.Open(context.Background(), fence.Config{Store: s, Layout: layout, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.Close(ctx) // some tests end with a store that is away
	})
	return minterOf(h, new(place))
}

func TestFencedIDsKeepTheRulesOfMinters(t *testing.T) {
	kindtest.TestMinter(t, func(t *testing.T) kind.Minter { return hold(t, memstore.New().Client(), 0) })
}

// TestReadinessEndsBeforeTheLeaseDoes takes the store away and follows a lease from readiness to its
// end.
func TestReadinessEndsBeforeTheLeaseDoes(t *testing.T) {
	for _, window := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := faultstore.New(memstore.New().Client(), nil, snowfence.SystemClock())
			m := hold(t, s, window)
			mint := func() error {
				var b kind.Batch
				return m.Mint(t.Context(), 1, &b)
			}
			advance := func(d time.Duration) {
				expired, _ := snowfence.SystemClock().After(d)
				<-expired
				synctest.Wait()
			}
			// As long as the store answers, the lease is extended and ready.
			for range 10 {
				advance(window / 4)
				if err := m.caps.Ready(); err != nil {
					t.Fatalf("window %s, with a store: %v", window, err)
				}
			}
			s.Follow(faultstore.Always(faultstore.Fault{Before: true}))
			left := m.caps.Lease().Left
			if least := 2 * window / 3; left < least {
				t.Errorf("window %s: %s are left, want at least %s", window, left, least)
			}
			advance(left - margin(window) - time.Millisecond)
			if err := m.caps.Ready(); err != nil {
				t.Errorf("window %s, before the margin: %v", window, err)
			}
			advance(2 * time.Millisecond)
			if err := m.caps.Ready(); !errors.Is(err, kind.ErrUnavailable) {
				t.Errorf("window %s, within the margin: %v, want not ready", window, err)
			}
			if err := mint(); err != nil {
				t.Errorf("window %s, within the margin: %v, want an id", window, err)
			}
			advance(margin(window))
			if err := mint(); err == nil {
				t.Errorf("window %s: an id after the lease ended", window)
			}
			if err := m.caps.Ready(); !errors.Is(err, kind.ErrUnavailable) {
				t.Errorf("window %s, after the lease: %v, want not ready", window, err)
			}
			// It comes back by itself with the store.
			s.Follow(nil)
			advance(2 * time.Second)
			if err := errors.Join(mint(), m.caps.Ready()); err != nil {
				t.Errorf("window %s, with the store again: %v", window, err)
			}
		})
	}
}

func TestFencedBatchAllocatesNothing(t *testing.T) {
	m := hold(t, memstore.New().Client(), time.Hour)
	var b kind.Batch
	mint := func() {
		b.Reset()
		if err := m.Mint(t.Context(), 100, &b); err != nil {
			t.Fatal(err)
		}
	}
	mint()
	if n := testing.AllocsPerRun(100, mint); n != 0 {
		t.Errorf("%v allocations for 100 ids, want none", n)
	}
}

func BenchmarkFencedMint(b *testing.B) {
	m := hold(b, memstore.New().Client(), time.Hour)
	var batch kind.Batch
	for b.Loop() {
		batch.Reset()
		if err := m.Mint(context.Background(), 1, &batch); err != nil {
			b.Fatal(err)
		}
	}
}
