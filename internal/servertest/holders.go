package servertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// heldWorker is the worker id of all holders here.
const heldWorker = 7

// Layout has so few ids a tick that holders use each tick up: if two stamp the same tick, they issue the same id.
func Layout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 10}, {Kind: snowfence.Sequence, Bits: 2},
	}
	return l
}

// HolderOf is the config of a holder on a store: all are of one worker id.
func HolderOf(s store.Store, window time.Duration, host string) fence.Config {
	worker := int64(heldWorker)
	return fence.Config{Store: s, Layout: Layout(), Worker: &worker, Window: window, Process: fence.Process{Host: host, PID: 1}}
}

// Hold claims the worker id until the end of the test.
func Hold(t *testing.T, c fence.Config) *fence.Holder {
	t.Helper()
	h, err := fence.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	t.Cleanup(func() { leave(h) })
	return h
}

// leave closes a holder, which may have lost its store.
func leave(h *fence.Holder) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = h.Close(ctx)
}

// Register reads the register of the worker id.
func Register(t *testing.T, s store.Store) stored.Register {
	t.Helper()
	e, err := s.Get(t.Context(), stored.RegisterKey(stored.DefaultNamespace, Layout(), heldWorker))
	if err != nil {
		t.Fatal(err)
	}
	r, err := stored.DecodeRegister(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// NextRegister waits for the next write of the register that moves its bound.
func NextRegister(t *testing.T, s store.Store) (after stored.Register) {
	t.Helper()
	before := Register(t, s)
	testkit.Eventually(t, func(context.Context) error {
		if after = Register(t, s); after.Until == before.Until {
			return errors.New("the register was not extended")
		}
		return nil
	})
	return after
}

// Issuing is a holder that issues all ids that it can, beside the test.
type Issuing struct {
	Issued atomic.Int64 // how many it has issued
	Err    error        // of its claim, after Stop

	cancel context.CancelFunc
	done   sync.WaitGroup
	ids    []snowfence.ID
}

// Issue claims by hold, and issues ids until Stop or the end of the test.
func Issue(t *testing.T, hold func(context.Context) (*fence.Holder, error)) *Issuing {
	t.Helper()
	i := &Issuing{}
	ctx, cancel := context.WithCancel(t.Context())
	i.cancel = cancel
	i.done.Go(func() {
		var h *fence.Holder
		if h, i.Err = hold(ctx); i.Err != nil {
			return
		}
		defer leave(h)
		batch := make([]snowfence.ID, 50*Layout().Sequences())
		for ctx.Err() == nil {
			if h.Fill(ctx, batch) == nil { // an error means that there are none now
				i.ids = append(i.ids, batch...)
				i.Issued.Store(int64(len(i.ids)))
			}
		}
	})
	t.Cleanup(func() { i.Stop() })
	return i
}

// Stop ends the holder, and returns its ids in ascending order.
func (i *Issuing) Stop() []snowfence.ID {
	i.cancel()
	i.done.Wait()
	return i.ids
}

// Repeated returns how many ids are also among the others, which are in ascending order.
func Repeated(ids, others []snowfence.ID) (n int) {
	for _, id := range ids {
		if _, also := slices.BinarySearch(others, id); also {
			n++
		}
	}
	return n
}
