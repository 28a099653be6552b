package fence_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestCloseReleasesSoThatAPinnedWorkerStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		begun := time.Now()
		last := snowfence.ID(0)
		for n := range 10 {
			h := open(t, memory.Client(), pinned, func(c *fence.Config) {
				if n%2 > 0 {
					c.Journal = &notebook{}
				}
			})
			id := next(t, h)
			if id <= last {
				t.Errorf("%d came after %d", id, last)
			}
			last = id
			for range 2 {
				if err := h.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := h.Next(t.Context()); !errors.Is(err, fence.ErrClosed) {
				t.Errorf("the error is %v", err)
			}
			if err := h.Fill(t.Context(), make([]snowfence.ID, 3)); !errors.Is(err, fence.ErrClosed) {
				t.Errorf("the error is %v", err)
			}
		}
		if took := time.Since(begun); took > 100*time.Millisecond {
			t.Errorf("ten restarts took %s", took)
		}
	})
}

// A deadline is optional: programs close with the context that they have.
func TestCloseIsBoundedByTwoRequestTimeouts(t *testing.T) {
	refused := faultstore.Fault{Before: true}
	tests := map[string]struct {
		worker  func(*fence.Config)
		fault   faultstore.Fault
		idle    time.Duration // between the store's end and Close
		takes   time.Duration
		reasons string
	}{
		"refused":              {func(*fence.Config) {}, refused, 0, 20 * time.Second, "injected"},
		"refused for long":     {func(*fence.Config) {}, refused, 30 * time.Second, 20 * time.Second, "injected"},
		"silent":               {func(*fence.Config) {}, faultstore.Fault{Delay: time.Hour}, 0, 20 * time.Second, "the store did not answer for 20s"},
		"a window of 5 s":      {pinned, refused, 0, 2 * (5 * time.Second / 6), "injected"},
		"a timeout of its own": {func(c *fence.Config) { c.RequestTimeout = 3 * time.Second }, refused, 0, 6 * time.Second, "injected"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, faulty := openFaulty(t, test.worker)
				faulty.Follow(faultstore.Always(test.fault))
				pass(test.idle)
				begun := time.Now()
				err := h.Close(context.Background())
				var rests *fence.NotReleasedError
				if !errors.As(err, &rests) || time.Since(begun) > test.takes || !strings.Contains(err.Error(), test.reasons) {
					t.Fatalf("after %s: %v", time.Since(begun), err)
				}
				if again := h.Close(t.Context()); again == nil || again.Error() != err.Error() {
					t.Errorf("closing again: %v", again)
				}
				if s := h.Status(); rests.Worker != s.Worker || rests.Until.Before(s.Layout.TimeOf(s.Until)) {
					t.Errorf("%+v, and the status is %+v", rests, s)
				}
			})
		})
	}
}

func TestCloseHasNothingToGiveBackAfterTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h, faulty := openFaulty(t, log.keep)
		faulty.Follow(noStore)
		pass(2 * lease.DefaultWindow)
		begun := time.Now()
		if err := h.Close(t.Context()); err != nil || time.Since(begun) > 0 {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		log.once(t, "level=INFO", "closed")
	})
}

// TestCloseDoesNotWaitForAStoreThatWasClosedBefore has the order of closing wrong.
func TestCloseDoesNotWaitForAStoreThatWasClosedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, idle := range []time.Duration{0, 30 * time.Second} { // an extension may have failed already
			var log journal
			client := memstore.New().Client()
			h := open(t, client, log.keep)
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			pass(idle)
			begun := time.Now()
			err := h.Close(t.Context())
			var rests *fence.NotReleasedError
			if !errors.As(err, &rests) || !errors.Is(err, store.ErrClosed) || rests.Until.Before(time.Now()) || time.Since(begun) > time.Second {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
			log.once(t, "level=WARN", "did not give the worker id back", "until=", "close the holder first")
		}
	})
}

// A write that was sent may still take effect, and the worker id rests for longer.
func TestWorkerThatIsNotReleasedRestsUntilTheEndOfItsLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faulty := faultstore.New(memory.Client(), nil, nil)
		h := open(t, faulty)
		faulty.Follow(faultstore.Always(faultstore.Fault{LostReply: true}))
		for h.Status().Store.Errors == 0 {
			pass(time.Second)
		}
		var rests *fence.NotReleasedError
		if err := h.Close(context.Background()); !errors.As(err, &rests) {
			t.Fatal(err)
		}
		key := stored.RegisterKey(stored.DefaultNamespace, bubbleLayout(), rests.Worker)
		entry, err := memory.Client().Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		register, err := stored.DecodeRegister(entry.Value)
		if err != nil || !bubbleLayout().TimeOf(register.Until).Equal(rests.Until) {
			t.Errorf("%v, and the register rests until %s: %v", rests, bubbleLayout().TimeOf(register.Until), err)
		}
	})
}

// slowly is a journal that fails to discard its page once, and then takes a second.
type slowly struct {
	notebook
	failed bool
}

func (s *slowly) Discard() error {
	if !s.failed {
		s.failed = true
		return errDisk
	}
	pass(time.Second)
	return s.notebook.Discard()
}

func TestCloseWaitsForADiskThatAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &slowly{}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Journal = book })
		next(t, h)
		if err := h.Close(t.Context()); err != nil || book.has() {
			t.Errorf("%v, and the page is there: %t", err, book.has())
		}
	})
}

// A disk that hangs must not pass for a store that is away, nor hold up whoever has
// given the worker id back.
func TestCloseThatWaitsForAJournalThatHangs(t *testing.T) {
	for name, test := range map[string]struct {
		worker func(*fence.Config)
		takes  time.Duration
		fails  string
	}{
		"names it when the time is up":          {pinned, 2 * (5 * time.Second / 6), "the journal's disk did not answer for 1.666666666s"},
		"ends with the release if there is one": {func(*fence.Config) {}, 12 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				book := &notebook{}
				h := open(t, memstore.New().Client(), test.worker, func(c *fence.Config) { c.Journal = book })
				next(t, h)
				hangs := make(chan struct{})
				defer close(hangs)
				synctest.Wait()
				book.set(func() { book.hangs = hangs })
				begun := time.Now()
				err := h.Close(context.Background())
				if took := time.Since(begun); took > test.takes || (err != nil) != (test.fails != "") {
					t.Fatalf("after %s: %v", took, err)
				}
				if err != nil && (!strings.Contains(err.Error(), test.fails) || strings.Contains(err.Error(), "store")) {
					t.Error(err)
				}
			})
		})
	}
}

// TestOpenThatIsCutShortGivesItsClaimBack ends the wait for the loss of a claim, more often than there are worker ids.
func TestOpenThatIsCutShortGivesItsClaimBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: 15 * time.Second})
		for range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			begun := time.Now()
			_, err := fence.Open(ctx, fence.Config{Store: memory.Client(), Layout: bubbleLayout()})
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fence.ErrNoWorker) || time.Since(begun) > 5*time.Second {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
			cancel()
		}
	})
}

// lingering is a store whose reads of the namespace's record, once it is slow, go on
// for a while after their context has ended.
type lingering struct {
	store.Store
	slow    atomic.Bool
	reading atomic.Int32
}

func (l *lingering) Get(ctx context.Context, key string) (store.Entry, error) {
	if l.slow.Load() && key == stored.NamespaceKey(stored.DefaultNamespace) {
		l.reading.Add(1)
		defer l.reading.Add(-1)
		<-ctx.Done()
		pass(5 * time.Second)
		return store.Entry{}, context.Cause(ctx)
	}
	return l.Store.Get(ctx, key)
}

// Close the store after the holder.
func TestCloseWaitsForRequestsWhoseAnswersAreNotAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lingering{Store: memstore.New().Client()}
		h := open(t, l)
		next(t, h)
		l.slow.Store(true)
		for l.reading.Load() == 0 {
			pass(time.Second)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := l.reading.Load(); n != 0 {
			t.Errorf("%d requests are under way", n)
		}
	})
}
