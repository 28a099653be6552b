package fence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
)

// narrow is a pinned holder whose ticks hold two ids: a batch takes 5 ms for each
// of its ids. Its window is a second, and so is max-wait.
func narrow(c *fence.Config) {
	pinned(c)
	c.Window, c.RequestTimeout = time.Second, 5*time.Second
	c.Policy = snowfence.Policy{MaxWait: time.Second, MaxBurst: 1, Start: snowfence.SequenceStart{Rule: snowfence.StartZero}}
	c.Layout.Unit = 10 * time.Millisecond
	c.Layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 1},
	}
}

// openNarrow opens such a holder on a store whose swaps are late from then on. From a second after it was
// opened it has no ticks, until the extension takes effect that it sent after a
// third of a second.
func openNarrow(t *testing.T, by time.Duration) (*fence.Holder, *faultstore.Store) {
	t.Helper()
	h, lazy := openFaulty(t, narrow)
	lazy.Follow(faultstore.Only(faultstore.Always(faultstore.Fault{Delay: by}), func(c faultstore.Call) bool { return c.Verb == faultstore.Swap }))
	t.Cleanup(func() { lazy.Follow(nil) })
	return h, lazy
}

func TestCallWaitsForMaxWaitInAllHoweverOftenItsTermOrWindowEnds(t *testing.T) {
	t.Run("a batch that begins anew in the next window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, lazy := openNarrow(t, 767*time.Millisecond) // back after 1.1 s
			pass(200 * time.Millisecond)
			go func() {
				pass(800 * time.Millisecond)
				lazy.Follow(nil) // and from then on it is in time
			}()
			begun := time.Now()
			err := h.Fill(t.Context(), make([]snowfence.ID, 180))
			var wait *snowfence.WaitError
			took := time.Since(begun)
			if took < 900*time.Millisecond || !errors.As(err, &wait) || !errors.Is(err, snowfence.ErrSaturated) {
				t.Fatalf("after %s: %v", took, err)
			}
			if wait.Limit != time.Second-took || wait.Need <= wait.Limit {
				t.Errorf("it needs %s, and the limit is %s, after %s", wait.Need, wait.Limit, took)
			}
			next(t, h) // the window is there: it was the batch that was too large
		})
	})
	t.Run("a call that waited in the queue before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, _ := openNarrow(t, time.Minute)
			pass(200 * time.Millisecond)
			ended := make(chan error, 1)
			go func() { ended <- h.Fill(t.Context(), make([]snowfence.ID, 180)) }()
			synctest.Wait()
			begun := time.Now()
			_, err := h.Next(t.Context()) // behind the batch
			var unavailable *fence.UnavailableError
			if took := time.Since(begun); took != time.Second || !errors.As(err, &unavailable) || !errors.Is(err, snowfence.ErrWindowEnded) {
				t.Fatalf("after %s: %v", took, err)
			}
			if unavailable.For != time.Second {
				t.Errorf("it shows a wait of %s", unavailable.For)
			}
			if err := <-ended; !errors.As(err, &unavailable) || time.Since(begun) != time.Second {
				t.Errorf("the batch: after %s: %v", time.Since(begun), err)
			}
		})
	})
	t.Run("a batch too large for what lies between two outages", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// Each extension takes effect 200 ms before its end, 600 ms after the
			// one before it ended: no outage is as long as max-wait.
			h, _ := openNarrow(t, 800*time.Millisecond)
			pass(1200 * time.Millisecond)
			begun := time.Now()
			err := h.Fill(t.Context(), make([]snowfence.ID, 60))
			var wait *snowfence.WaitError
			if took := time.Since(begun); took < 600*time.Millisecond || !errors.As(err, &wait) || wait.Limit != time.Second-took {
				t.Fatalf("after %s: %v", took, err)
			}
		})
	})
}

func TestContextEndsACallThatWaitsOnAfterItsWindowEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, lazy := openNarrow(t, 767*time.Millisecond)
		pass(950 * time.Millisecond)
		go func() {
			pass(50 * time.Millisecond)
			lazy.Follow(nil)
		}()
		cause := errors.New("the caller has had enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, cause)
		defer cancel()
		begun := time.Now()
		err := h.Fill(ctx, make([]snowfence.ID, 40)) // of 200 ms, and back after 1.1 s
		if took := time.Since(begun); took != 200*time.Millisecond || !errors.Is(err, cause) {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
