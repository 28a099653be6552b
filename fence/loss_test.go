package fence_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

// jumping is a clock that can jump, as time does for a process that was
// stopped: nothing runs meanwhile, and no timer rings.
type jumping struct {
	snowfence.Clock
	jumped, stepped atomic.Int64
}

func (j *jumping) Wall() time.Time {
	return j.Clock.Wall().Add(time.Duration(j.jumped.Load() + j.stepped.Load()))
}

func (j *jumping) Monotonic() time.Duration {
	return j.Clock.Monotonic() + time.Duration(j.jumped.Load())
}

func TestHolderThatWasStoppedPastItsWindowIssuesUnderANewTermOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		clock := &jumping{Clock: snowfence.SystemClock()}
		losses := make(chan fence.Loss, 10)
		h := open(t, memory.Client(), pinned, func(c *fence.Config) {
			c.Clock = clock
			c.OnLoss = func(l fence.Loss) { losses <- l }
		})
		before := h.Status()
		next(t, h)

		// While it is stopped, another process claims its worker id, issues and
		// goes away again.
		clock.jumped.Store(int64(6 * time.Second))
		other := open(t, memory.Client(), pinned, func(c *fence.Config) {
			c.Clock = clock
			c.Process.PID = 2
		})
		theirs := next(t, other)
		if err := other.Close(t.Context()); err != nil {
			t.Fatal(err)
		}

		begun := time.Now()
		id, err := h.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parts, err := bubbleLayout().Decompose(id)
		if err != nil {
			t.Fatal(err)
		}
		if id <= theirs || parts.Tick < before.Until {
			t.Errorf("%d was issued after %d", id, theirs)
		}
		if s := h.Status(); s.Term != 3 || s.Losses != 1 || s.Floor < before.Until {
			t.Errorf("the status is %+v", s)
		}
		if took := time.Since(begun); took > 5*time.Millisecond {
			t.Errorf("the new term took %s", took)
		}
		if l := <-losses; l.Term != 1 || l.Worker != 0 || !errors.Is(l.Reason, fence.ErrLost) {
			t.Errorf("the loss is %+v", l)
		}
	})
}

func TestClockThatFellBehindCostsAPoolItsTermAndAPinnedHolderItsPatience(t *testing.T) {
	t.Run("pool", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			clock := &jumping{Clock: snowfence.SystemClock()}
			h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Clock = clock })
			next(t, h)
			worker := h.Status().Worker
			clock.stepped.Store(int64(-time.Minute))
			pass(200 * time.Millisecond)
			next(t, h) // the call waits for the next term
			if s := h.Status(); s.Worker == worker || s.Losses != 1 {
				t.Errorf("the status is %+v", s)
			}
		})
	})
	t.Run("pinned", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			clock := &jumping{Clock: snowfence.SystemClock()}
			h := open(t, memstore.New().Client(), pinned, func(c *fence.Config) { c.Clock = clock })
			next(t, h)
			clock.stepped.Store(int64(-time.Minute))
			pass(200 * time.Millisecond)
			if err := h.Fill(t.Context(), make([]snowfence.ID, 20*4096)); !errors.Is(err, snowfence.ErrClockBehind) {
				t.Errorf("the error is %v", err)
			}
			if h.Status().Ready {
				t.Error("it says that it is ready")
			}
			pass(time.Minute)
			next(t, h)
			if s := h.Status(); s.Term != 1 || !s.Ready {
				t.Errorf("the status is %+v", s)
			}
		})
	})
}

func TestForwardStepEndsTheTermEvenOfAnIdleHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &jumping{Clock: snowfence.SystemClock()}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Clock = clock })
		clock.stepped.Store(int64(time.Hour))
		pass(time.Minute)
		if s := h.Status(); s.Losses != 1 || !s.Ready || s.Store.Errors != 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}

func TestOnLossMayCloseTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		clock := &jumping{Clock: snowfence.SystemClock()}
		var h *fence.Holder
		closed := make(chan error, 1)
		h = open(t, memory.Client(), func(c *fence.Config) {
			c.Clock = clock
			c.OnLoss = func(fence.Loss) { closed <- h.Close(context.Background()) }
		})
		clock.stepped.Store(int64(time.Hour))
		pass(time.Minute)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestQuarantineEndsTheTermAndIsLeftAlone marks a register as an operator does.
func TestQuarantineEndsTheTermAndIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		h := open(t, memory.Client())
		worker := h.Status().Worker
		client := memory.Client()
		key := stored.RegisterKey("default", bubbleLayout(), worker)
		entry, err := client.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		r, err := stored.DecodeRegister(entry.Value)
		if err != nil {
			t.Fatal(err)
		}
		r.Quarantined = true
		value, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		version, err := client.Swap(t.Context(), key, entry.Version, value)
		if err != nil {
			t.Fatal(err)
		}
		pass(21 * time.Second)
		if s := h.Status(); s.Worker == worker || s.Losses != 1 || !s.Ready {
			t.Errorf("the status is %+v", s)
		}
		if entry, err = client.Get(t.Context(), key); err != nil || entry.Version != version {
			t.Errorf("the register was written again: %s, %v", entry.Value, err)
		}
		all, err := roster.Open(t.Context(), roster.Config{Store: client})
		if err != nil {
			t.Fatal(err)
		}
		census := all.Census()
		for w, err := range all.Workers(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all.Count(&census, w)
		}
		if census.Counts[roster.Held] != 1 || census.Counts[roster.Quarantined] != 1 || census.Registers != 2 {
			t.Errorf("the registers are %+v", census)
		}
	})
}

func TestLossyStoreIssuesItsFirstIDAfterItsLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: 2 * time.Second})
		begun := time.Now()
		var log journal
		h := open(t, memory.Client(), log.keep)
		next(t, h)
		if waited := time.Since(begun); waited != 2*time.Second {
			t.Errorf("it waited for %s in a new namespace: the record and the claim rest side by side", waited)
		}
		log.once(t, "level=INFO", "waiting until the store can't lose the claim of worker ", "for=2s")
		pass(15 * time.Minute)
		next(t, h)
		begun = time.Now()
		next(t, open(t, memory.Client()))
		if waited := time.Since(begun); waited != 2*time.Second {
			t.Errorf("it waited for %s", waited)
		}
		if s := h.Status(); s.Term != 1 || s.Left < 19*time.Second {
			t.Errorf("the status is %+v", s)
		}
		if _, err := tryOpen(t, memory.Client(), func(c *fence.Config) { c.Window = 6 * time.Second }); err == nil {
			t.Error("a window of three losses is taken")
		}
	})
}

func TestEngineClockThatDisagreesRefusesTheClaimAndNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		_, err := tryOpen(t, memory.Client())
		var off *fence.ClockError
		if !errors.As(err, &off) || off.Offset != -time.Hour {
			t.Errorf("the error is %v", err)
		}
		if memory.Len() != 1 {
			t.Errorf("%d registers were written besides the namespace's record", memory.Len()-1)
		}
	})
}

func TestFillIsOfOneTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		clock := &jumping{Clock: snowfence.SystemClock()}
		h := open(t, memory.Client(), func(c *fence.Config) { c.Clock = clock })
		ids := make([]snowfence.ID, 2*4096*40)
		go func() {
			pass(20 * time.Millisecond)
			clock.stepped.Store(int64(-time.Minute))
		}()
		if err := h.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		workers := map[int64]bool{}
		for i, id := range ids {
			if i > 0 && id <= ids[i-1] {
				t.Fatalf("%d came after %d", id, ids[i-1])
			}
			parts, err := bubbleLayout().Decompose(id)
			if err != nil {
				t.Fatal(err)
			}
			workers[parts.Worker] = true
		}
		if len(workers) != 1 {
			t.Errorf("the batch is of %d workers", len(workers))
		}
	})
}

func TestManyCallersGetDifferentIDsAcrossTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &jumping{Clock: snowfence.SystemClock()}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Clock = clock })
		var mu sync.Mutex
		seen := map[snowfence.ID]bool{}
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 400 {
					id, err := h.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if seen[id] {
						t.Errorf("%d was issued twice", id)
					}
					seen[id] = true
					mu.Unlock()
					pass(time.Millisecond)
				}
			})
		}
		pass(150 * time.Millisecond)
		clock.stepped.Store(int64(-20 * time.Second))
		callers.Wait()
		if s := h.Status(); s.Losses != 1 {
			t.Errorf("the status is %+v", s)
		}
	})
}
