package fence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
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

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// lines returns the lines that contain all of the parts.
func (j *journal) lines(parts ...string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
next:
	for line := range strings.Lines(j.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

func (j *journal) keep(c *fence.Config) { c.Logger = slog.New(slog.NewTextHandler(j, nil)) }

// once checks that exactly one line contains all of the parts.
func (j *journal) once(t *testing.T, parts ...string) {
	t.Helper()
	if found := j.lines(parts...); len(found) != 1 {
		t.Errorf("%d lines have %q: %q", len(found), parts, j.lines(""))
	}
}

// TestSilentStoreIsLoggedWithTheTimeThatIsLeftAndEveryTenSeconds takes the store away for good. The
// first extension notices it, with 40 s left of the window.
func TestSilentStoreIsLoggedWithTheTimeThatIsLeftAndEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h, faulty := openFaulty(t, log.keep)
		faulty.Follow(noStore)
		pass(21 * time.Second)
		log.once(t, "level=WARN", "the store does not answer", "last-answer-before=20s", "left=40s", "injected")
		pass(11 * time.Second)
		log.once(t, "the store does not answer", "for=10", "left=29")
		pass(16 * time.Second)
		if n := len(log.lines("level=WARN")); n != 3 {
			t.Errorf("%d lines in 28 s: %q", n, log.lines(""))
		}
		pass(23 * time.Second)
		log.once(t, "level=ERROR", "issues no ids", `reason="the store has not answered for 41s: snowfence: the window of ticks has ended: `, "injected")
		_, err := h.Next(t.Context())
		if text := fmt.Sprint(err); !strings.Contains(text, ": the store has not answered for 5") || !strings.HasSuffix(text, "on the way to the store") {
			t.Errorf("a call returns %q", text)
		}
		faulty.Follow(nil)
		pass(2 * time.Second)
		log.once(t, "level=INFO", "the store answers again", "after=5")
		log.once(t, "level=INFO", "issues ids again")
	})
}

// TestFailureThatARetryMendsIsNotLogged breaks single requests, as a server does that closes connections.
func TestFailureThatARetryMendsIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h, faulty := openFaulty(t, log.keep)
		broken := 0
		faulty.Follow(faultstore.Only(noStore, func(c faultstore.Call) bool {
			if c.Verb == faultstore.Swap {
				broken++
			}
			return c.Verb == faultstore.Swap && broken%2 == 1 // the next one is its retry
		}))
		pass(5 * time.Minute)
		if lines := log.lines("level=WARN"); len(lines) != 0 || h.Status().Extensions < 10 {
			t.Errorf("it is logged: %q", lines)
		}
	})
}

func TestClockThatStepsBackAndReturnsIsLoggedOnceEachTime(t *testing.T) {
	for name, idle := range map[string]bool{"idle": true, "called": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				h, clock := openJumping(t, memstore.New().Client(), pinned, log.keep)
				for times := 1; times <= 2; times++ {
					clock.stepped.Store(int64(-time.Minute))
					pass(200 * time.Millisecond)
					if idle {
						pass(3 * time.Second)
					} else if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrClockBehind) {
						t.Errorf("the error is %v", err)
					}
					synctest.Wait()
					if n := len(log.lines("level=ERROR", "issues no ids", "the clock is behind")); n != times {
						t.Errorf("its beginning is logged %d times: %q", n, log.lines(""))
					}
					if h.Status().Ready {
						t.Error("it reports that it is ready")
					}
					pass(10 * time.Second)
					clock.stepped.Store(0)
					pass(2 * time.Second)
					if n := len(log.lines("level=INFO", "issues ids again")); n != times {
						t.Errorf("its end is logged %d times: %q", n, log.lines(""))
					}
					next(t, h)
				}
			})
		})
	}
}

func TestTermThatIsReplacedWithinMaxWaitIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		h, clock := openJumping(t, memstore.New().Client(), log.keep)
		clock.stepped.Store(int64(-time.Minute))
		pass(200 * time.Millisecond)
		next(t, h)
		pass(time.Minute)
		if found := log.lines("ids"); len(found) != 0 {
			t.Errorf("it is logged as one: %q", found)
		}
		if s := h.Status(); s.Losses != 1 || s.Outages != 0 || s.WindowsEnded != 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}

func TestHolderIsNotReadyWhileTheClockIsBeforeTheEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &jumping{Clock: snowfence.SystemClock()}
		h := open(t, memstore.New().Client(), pinned, func(c *fence.Config) {
			c.Clock = clock
			c.Layout.Epoch = time.Now().Add(-time.Second)
		})
		clock.stepped.Store(int64(-2 * time.Second)) // within max-rollback
		pass(200 * time.Millisecond)
		if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrBeforeEpoch) {
			t.Errorf("the error is %v", err)
		}
		ready(t, h, false)
		clock.stepped.Store(0)
		pass(2 * time.Second)
		ready(t, h, true)
	})
}

func TestClaimWaitBoundsAStoreThatDoesNotAnswer(t *testing.T) {
	for name, answers := range map[string][]faultstore.Verb{
		"at all":    nil,
		"after all": {faultstore.Traits},
		"a swap":    {faultstore.Traits, faultstore.Get},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mute := faultstore.Only(faultstore.Always(faultstore.Fault{Delay: time.Hour}), func(c faultstore.Call) bool { return !slices.Contains(answers, c.Verb) })
				begun := time.Now()
				_, err := tryOpen(t, faultstore.New(memstore.New().Client(), mute, nil), func(c *fence.Config) { c.ClaimWait = 2 * time.Second })
				if took := time.Since(begun); err == nil || took < 2*time.Second || took > 2300*time.Millisecond {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// torn is a store some of whose registers are damaged while on is true.
type torn struct {
	store.Store
	on  *atomic.Bool
	key string
}

func (d torn) Get(ctx context.Context, key string) (store.Entry, error) {
	if d.on.Load() && strings.HasPrefix(key, d.key) {
		return store.Entry{}, store.ErrDamaged
	}
	return d.Store.Get(ctx, key)
}

func (d torn) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if d.on.Load() && strings.HasPrefix(key, d.key) {
		return "", store.ErrDamaged
	}
	return d.Store.Swap(ctx, key, prev, value)
}

func TestDamageOfAHeldRegisterLeavesTheRestOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		var damaged atomic.Bool
		h := open(t, torn{memstore.New().Client(), &damaged, stored.RegisterPrefix("default")}, log.keep)
		damaged.Store(true)
		for range 59 {
			next(t, h)
			pass(time.Second)
		}
		log.once(t, "level=WARN", "the store can't be used", "last-answer-before=20s", "left=40s", "can't be read")
		pass(3 * time.Second)
		log.once(t, "level=ERROR", "issues no ids", "can't be read")
		steady(t, h)
		damaged.Store(false)
		pass(2 * time.Second)
		next(t, h)
	})
}

func TestCallWhoseContextEndsInAnOutageSaysWhatItWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty := openFaulty(t, pinned)
		faulty.Follow(noStore)
		pass(lease.DefaultPinnedWindow + 100*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := h.Next(ctx)
		if !errors.Is(err, fence.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the store has not answered for") {
			t.Errorf("Next: %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}

		memory := memstore.New()
		first := open(t, memory.Client(), pinned)
		defer func() { _ = first.Close(t.Context()) }() // it is of no matter here
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = fence.Open(ctx, fence.Config{Store: memory.Client(), Layout: first.Status().Layout, Worker: new(int64)})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, new(*fence.HeldError)) {
			t.Errorf("Open: %v", err)
		}
	})
}
