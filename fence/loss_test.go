package fence_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

// jumping is a clock that can jump, as time does for a process that was
// stopped: nothing runs meanwhile, also timers.
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

func TestFillIsOfOneTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		h, clock := openJumping(t, memory.Client())
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

// TestClaimThatFailsAgainAndAgainIsLoggedOnceAMinute loses a pinned worker id to a process whose clock is ahead.
func TestClaimThatFailsAgainAndAgainIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, ahead := memstore.New(), &jumping{Clock: snowfence.SystemClock()}
		var log journal
		h := open(t, memory.Client(), pinned, log.keep, func(c *fence.Config) { c.ClaimWait = time.Second })
		ahead.jumped.Store(int64(time.Minute))
		open(t, memory.Client(), pinned, func(c *fence.Config) { c.Clock, c.Process.PID = ahead, 2 })
		pass(50 * time.Second)
		log.once(t, "level=ERROR", "claim a worker id")
		if h.Status().Ready {
			t.Error("it is ready beside another holder of its worker id")
		}
	})
}
