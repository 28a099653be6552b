package fence_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// slow is a store that takes its time for every request.
type slow struct {
	store.Store
	by    time.Duration
	swaps *atomic.Int64 // that were begun; nil if nobody counts
}

func (s slow) wait(ctx context.Context) error {
	expired, stop := snowfence.SystemClock().After(s.by)
	defer stop()
	select {
	case <-expired:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slow) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := s.wait(ctx); err != nil {
		return store.Entry{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s slow) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if s.swaps != nil {
		s.swaps.Add(1)
	}
	if err := s.wait(ctx); err != nil {
		return "", err
	}
	return s.Store.Swap(ctx, key, prev, value)
}

// dry is a source of randomness that runs dry when it is told to.
type dry struct{ now atomic.Bool }

func (d *dry) Read(b []byte) (int, error) {
	if d.now.Load() {
		return 0, errors.New("no random bits")
	}
	return rand.Read(b)
}

// TestEmptiedStoreIsNotClaimedUnderTheOldIncarnation empties the store under a
// running holder and restarts that, as an operator would. The worker id must not
// be left with a register that nobody can ever claim.
func TestEmptiedStoreIsNotClaimedUnderTheOldIncarnation(t *testing.T) {
	for name, change := range map[string]func(*fence.Config){"pinned": pinned, "pool": func(*fence.Config) {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				empty := memory.Snapshot()
				h := open(t, memory.Client(), change)
				next(t, h)
				memory.Restore(empty)
				pass(10 * time.Minute)
				if _, err := h.Next(t.Context()); !errors.Is(err, fence.ErrUnavailable) {
					t.Errorf("the error is %v", err)
				}
				if memory.Len() != 0 {
					t.Errorf("%d keys were written to the emptied store", memory.Len())
				}
				if err := h.Close(t.Context()); err != nil {
					t.Error(err)
				}
				pass(time.Hour)
				next(t, open(t, memory.Client(), change))
			})
		})
	}
}

func TestFailedRandomnessLosesNoEvent(t *testing.T) {
	t.Run("the answer to an extension", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source, swaps := &dry{}, &atomic.Int64{}
			h := open(t, slow{memstore.New().Client(), 100 * time.Millisecond, swaps}, func(c *fence.Config) { c.Rand = source })
			for before := swaps.Load(); swaps.Load() == before; {
				pass(10 * time.Millisecond)
			}
			source.now.Store(true)
			pass(time.Second / 2) // the answer to the extension comes meanwhile
			source.now.Store(false)
			pass(5 * time.Minute)
			next(t, h)
			if s := h.Status(); s.Term != 1 || s.Extensions < 14 || s.Losses != 0 {
				t.Errorf("the status is %+v", s)
			}
		})
	})
	t.Run("the wish to close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source := &dry{}
			h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Rand = source })
			source.now.Store(true)
			go func() {
				pass(time.Second / 2)
				source.now.Store(false)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			begun := time.Now()
			if err := h.Close(ctx); err != nil || time.Since(begun) > time.Second {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
		})
	})
}

// TestCallEndsAtItsOwnMaxWaitThoughTermsChange asks for a batch that is larger
// than what can be issued between two outages. Each of them is short.
func TestCallEndsAtItsOwnMaxWaitThoughTermsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, slow{memstore.New().Client(), 700 * time.Millisecond, nil}, func(c *fence.Config) {
			c.Window = time.Second
			c.RequestTimeout = 10 * time.Second
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		err := h.Fill(ctx, make([]snowfence.ID, 400*4096)) // of 400 ms
		var wait *snowfence.WaitError
		waited := time.Since(begun)
		if !errors.As(err, &wait) || wait.Limit != time.Second-waited || wait.Need <= wait.Limit {
			t.Errorf("after %s of a second: %v", waited, err)
		}
	})
}

// TestIdleHolderIsReadyAgainAfterASuspend stops the monotonic clock with the
// machine, and with it the timer of the extension. Nobody asks for ids, but
// somebody looks whether there are any.
func TestIdleHolderIsReadyAgainAfterASuspend(t *testing.T) {
	for name, memory := range map[string]*memstore.Memory{
		"durable": memstore.New(),
		"lossy":   memstore.NewWith(memstore.Config{Loss: 100 * time.Millisecond}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &jumping{Clock: snowfence.SystemClock()}
				h := open(t, memory.Client(), func(c *fence.Config) { c.Clock = clock })
				pass(time.Second)
				clock.stepped.Store(int64(5 * time.Minute))
				begun := time.Now()
				pass(200 * time.Millisecond)
				for !h.Status().Ready {
					if pass(100 * time.Millisecond); time.Since(begun) > time.Second {
						t.Fatal("it is not ready after a second")
					}
				}
				if s := h.Status(); s.Term != 1 || s.Losses != 0 {
					t.Errorf("the status is %+v", s)
				}
			})
		})
	}
}

// TestPinnedHolderOutwaitsWhatItsProgramLeftBehind cuts a Close short.
func TestPinnedHolderOutwaitsWhatItsProgramLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := faultstore.New(memstore.New().Client(), nil, nil)
		program := func(c *fence.Config) { c.Process.Started = time.Now().Truncate(time.Hour) }
		h := open(t, faulty, pinned, program)
		last := next(t, h)
		faulty.Follow(faultstore.Always(faultstore.Fault{Before: true}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.Close(ctx); err == nil {
			t.Fatal("it was released")
		}
		faulty.Follow(nil)
		begun := time.Now()
		again := open(t, faulty, pinned, program)
		if waited := time.Since(begun); waited > 5*time.Second {
			t.Errorf("it waited for %s, and the window is 5 s", waited)
		}
		if id := next(t, again); id <= last {
			t.Errorf("%d came after %d", id, last)
		}
	})
}

// TestLossIsToldOfStartedTermsOnly suspends the machine while a claim on a lossy
// store waits to be confirmed: Open has not returned yet.
func TestLossIsToldOfStartedTermsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: 5 * time.Second})
		clock := &jumping{Clock: snowfence.SystemClock()}
		go func() {
			pass(time.Second)
			clock.stepped.Store(int64(time.Hour))
		}()
		h := open(t, memory.Client(), func(c *fence.Config) {
			c.Clock = clock
			c.OnLoss = func(l fence.Loss) { t.Errorf("a loss is told: %+v", l) }
		})
		synctest.Wait()
		if s := h.Status(); s.Losses != 0 || s.Worker < 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}

func TestReplacedNamespaceIsToldAsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		losses := make(chan fence.Loss, 2)
		h := open(t, memory.Client(), func(c *fence.Config) { c.OnLoss = func(l fence.Loss) { losses <- l } })
		client := memory.Client()
		key := stored.NamespaceKey("default")
		entry, err := client.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		record, err := stored.DecodeNamespace(entry.Value)
		if err != nil {
			t.Fatal(err)
		}
		record.Incarnation = "ff112233445566778899aabbccddeeff"
		value, err := record.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Swap(t.Context(), key, entry.Version, value); err != nil {
			t.Fatal(err)
		}
		pass(61 * time.Second)
		if l := <-losses; l.Term != 1 || !errors.Is(l.Reason, fence.ErrNamespaceReplaced) {
			t.Errorf("the loss is %+v", l)
		}
		if s := h.Status(); s.Losses != 1 || s.Phase != "failed" || s.Ready {
			t.Errorf("the status is %+v", s)
		}
	})
}

// TestLateAcknowledgementEndsNoOutage has a store that acknowledges each bound
// when it has passed. The holder never issues, and says so at once.
func TestLateAcknowledgementEndsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, slow{memstore.New().Client(), 1500 * time.Millisecond, nil}, func(c *fence.Config) {
			c.Window = time.Second
			c.ClaimWait = time.Minute
			c.RequestTimeout = 10 * time.Second
		})
		if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrWindowEnded) {
			t.Errorf("the error is %v", err)
		}
		for range 20 {
			begun := time.Now()
			if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrWindowEnded) || time.Since(begun) != 0 {
				t.Fatalf("after %s: %v", time.Since(begun), err)
			}
			pass(300 * time.Millisecond)
		}
		if s := h.Status(); s.Ready || s.Extensions == 0 || s.Losses != 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}
