package fence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestRestartsWithoutTheStoreGoOnForAsLongAsTheWindowLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty, book := faultstore.New(memstore.New().Client(), nil, nil), &notebook{}
		seen := map[snowfence.ID]bool{}
		begun, restarts := time.Now(), 0
		for ; ; restarts++ {
			h, err := tryOpen(t, faulty, pinned, func(c *fence.Config) {
				c.Window, c.Journal, c.ClaimWait = time.Hour, book, time.Second
			})
			if err != nil {
				if lived := time.Since(begun); lived < time.Hour || !errors.Is(err, faultstore.ErrInjected) {
					t.Errorf("after %s: %v", lived, err)
				}
				break
			}
			if s := h.Status(); s.Term != 1 || !s.Ready || s.Journal.Resumed != (restarts > 0) || !s.Journal.Kept ||
				s.Left > time.Hour-time.Since(begun)+time.Second || s.Left < time.Hour-time.Since(begun)-time.Second {
				t.Errorf("after %s the status is %+v", time.Since(begun), s)
			}
			faulty.Follow(noStore)
			for range 150 {
				id, err := h.Next(t.Context())
				if err != nil && time.Since(begun) < time.Hour {
					t.Fatalf("after %s: %v", time.Since(begun), err)
				}
				if err == nil && seen[id] {
					t.Fatalf("%d was issued twice", id)
				}
				seen[id] = true
				pass(7*time.Second + 3*time.Millisecond)
			}
			leave(h)
		}
		if restarts < 4 || len(seen) < 400 {
			t.Errorf("%d restarts, %d ids", restarts, len(seen))
		}
	})
}

// journaled opens a holder with a journal and a window of an hour on a store that can be taken away. With keep the
// next process opens its own.
func journaled(t *testing.T, changes ...func(*fence.Config)) (h *fence.Holder, s *faultstore.Store, book *notebook, keep func(*fence.Config)) {
	t.Helper()
	s, book = faultstore.New(memstore.New().Client(), nil, nil), &notebook{}
	keep = func(c *fence.Config) {
		for _, change := range changes {
			change(c)
		}
		c.Window, c.Journal = time.Hour, book
	}
	return open(t, s, keep), s, book, keep
}

func TestResumedTermIsExtendedWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty, _, keep := journaled(t)
		last := next(t, h)
		faulty.Follow(noStore)
		leave(h)
		begun := time.Now()
		h = open(t, faulty, keep)
		if waited := time.Since(begun); waited > 5*time.Millisecond {
			t.Errorf("it waited for %s for a store that refuses", waited)
		}
		if id := next(t, h); id <= last {
			t.Errorf("%d came after %d", id, last)
		}
		pass(50 * time.Minute)
		faulty.Follow(nil)
		pass(2 * time.Second)
		if s := h.Status(); s.Term != 1 || s.Extensions == 0 || s.Left < 50*time.Minute || s.Losses != 0 || s.Traits.Engine != "memory" {
			t.Errorf("the status is %+v", s)
		}
		next(t, h)
	})
}

func TestSilentStoreHoldsUpAResumedTermForASecondOrTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty, _, keep := journaled(t)
		next(t, h)
		faulty.Follow(faultstore.Always(faultstore.Fault{Delay: time.Hour}))
		leave(h)
		begun := time.Now()
		h = open(t, faulty, keep)
		if waited := time.Since(begun); waited > 2*time.Second+5*time.Millisecond {
			t.Errorf("it waited for %s", waited)
		}
		next(t, h)
	})
}

func TestCloseWithoutTheStoreLeavesTheJournalForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty, book, keep := journaled(t, pinned)
		last := next(t, h)
		faulty.Follow(noStore)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := h.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		if !book.has() {
			t.Fatal("the page is gone")
		}
		h = open(t, faulty, keep)
		if id := next(t, h); id <= last || h.Status().Term != 1 {
			t.Errorf("%d came after %d: %+v", id, last, h.Status())
		}
	})
}

// TestRestartBesideALossyStoreDoesNotWaitForItsLoss restarts a program with a journal, by Close and by a
// crash in turn. Each process goes on with the first one's term, at once.
func TestRestartBesideALossyStoreDoesNotWaitForItsLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, book := memstore.NewWith(memstore.Config{Loss: 15 * time.Second}), &notebook{}
		var last snowfence.ID
		for restart := range 10 {
			begun := time.Now()
			h := open(t, memory.Client(), func(c *fence.Config) { c.Journal = book })
			if waited, most := time.Since(begun), 15*time.Second; restart > 0 && waited != 0 || waited > most {
				t.Errorf("start %d took %s", restart, waited)
			}
			for range 1000 {
				id := next(t, h)
				if id <= last {
					t.Fatalf("%d came after %d", id, last)
				}
				last = id
				pass(50 * time.Millisecond)
			}
			steady(t, h)
			if restart%2 == 0 {
				leave(h)
			} else if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestStopThatOutlastsTheWindowIsNoWarning starts again after a stop that was longer than the journal's term.
func TestStopThatOutlastsTheWindowIsNoWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty, book, keep := journaled(t, pinned)
		next(t, h)
		faulty.Follow(noStore)
		leave(h)
		faulty.Follow(nil)
		pass(h.Status().Window + time.Hour)
		var log bytes.Buffer
		next(t, open(t, faulty, keep, func(c *fence.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }))
		if !strings.Contains(log.String(), `level=INFO msg="the journal's term of worker 0 is not resumed: its window ended`) || strings.Contains(log.String(), "WARN") || !book.has() {
			t.Errorf("the log is\n%s", &log)
		}
	})
}

// TestEndWhileTheSilentStoreIsAskedLeavesTheJournalForTheNext cuts Open short, as a supervisor does whose program is
// too slow to start: while the store is asked for its traits, or later, when a release would still get through.
func TestEndWhileTheSilentStoreIsAskedLeavesTheJournalForTheNext(t *testing.T) {
	const ms = time.Millisecond
	for answers, delay := range map[faultstore.Verb]time.Duration{"": time.Hour, faultstore.Traits: 700 * ms} {
		for _, after := range []time.Duration{10 * ms, 100 * ms, 990 * ms, 1010 * ms, 1990 * ms} {
			synctest.Test(t, func(t *testing.T) {
				h, faulty, _, keep := journaled(t, pinned)
				last := next(t, h)
				silent := faultstore.Always(faultstore.Fault{Delay: delay})
				faulty.Follow(faultstore.Only(silent, func(c faultstore.Call) bool { return c.Verb != answers }))
				leave(h)
				config := fence.Config{Store: faulty, Layout: bubbleLayout()}
				keep(&config)
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), after)
					h, err := fence.Open(ctx, config)
					if cancel(); err == nil { // the store was waited for, and the term is resumed
						leave(h)
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("after %s it ended with %v", after, err)
					}
				}
				h = open(t, faulty, keep)
				if id := next(t, h); id <= last || h.Status().Term != 1 {
					t.Errorf("%d came after %d: %+v", id, last, h.Status())
				}
			})
		}
	}
}

// TestRestartBesideALossyStoreCostsTheLeaseNoMoreThanItsTime restarts at every age that a bound has before it
// is usable.
func TestRestartBesideALossyStoreCostsTheLeaseNoMoreThanItsTime(t *testing.T) {
	for _, window := range []time.Duration{46 * time.Second, time.Minute} {
		well := window / 3 // each extension confirms the bound of the one before, and is sent a third later
		for _, away := range []time.Duration{0, 6 * time.Second} {
			for age := time.Duration(0); age < window/3; age += 4 * time.Second {
				synctest.Test(t, func(t *testing.T) {
					memory, book := memstore.NewWith(memstore.Config{Loss: 15 * time.Second}), &notebook{}
					keep := func(c *fence.Config) { c.Window, c.Journal = window, book }
					h := open(t, memory.Client(), keep)
					pass(2 * window)
					for extensions := h.Status().Extensions; h.Status().Extensions == extensions; {
						pass(time.Second)
					}
					pass(age)
					if err := h.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					pass(away)
					h = open(t, memory.Client(), keep)
					if s := h.Status(); !s.Journal.Resumed {
						t.Fatalf("the status is %+v", s)
					}
					for range 2 * window / time.Second {
						next(t, h)
						if left := h.Status().Left; left < well-away-2*time.Second {
							t.Fatalf("window %s, away for %s at age %s: %s are left, and %s in good times", window, away, age, left, well)
						}
						pass(time.Second)
					}
				})
			}
		}
	}
}
