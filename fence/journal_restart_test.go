package fence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	folder "snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

func TestRestartsWithoutTheStoreGoOnForAsLongAsTheWindowLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "journal")
		faulty := faultstore.New(memstore.New().Client(), nil, nil)
		seen := map[snowfence.ID]bool{}
		begun, restarts := time.Now(), 0
		for ; ; restarts++ {
			j, err := folder.Open(folder.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			h, err := tryOpen(t, faulty, pinned, func(c *fence.Config) {
				c.Window, c.Journal, c.ClaimWait = time.Hour, j, time.Second
			})
			if err != nil {
				if lived := time.Since(begun); lived < time.Hour || !errors.Is(err, faultstore.ErrInjected) {
					t.Errorf("after %s: %v", lived, err)
				}
				if err := j.Close(); err != nil {
					t.Error(err)
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
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
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

func TestJournalIsGoneOnceTheWorkerIDIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		book := &notebook{}
		keep := func(c *fence.Config) { pinned(c); c.Window, c.Journal = time.Hour, book }
		h := open(t, memory.Client(), keep)
		last := next(t, h)
		if !book.has() {
			t.Error("nothing is kept")
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if book.has() {
			t.Error("the page is still there")
		}
		h = open(t, memory.Client(), keep)
		if id := next(t, h); id <= last || h.Status().Term != 2 || h.Status().Journal.Resumed {
			t.Errorf("%d came after %d: %+v", id, last, h.Status())
		}
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
		memory := memstore.NewWith(memstore.Config{Loss: 15 * time.Second})
		dir := filepath.Join(t.TempDir(), "journal")
		var last snowfence.ID
		for restart := range 10 {
			j, err := folder.Open(folder.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			h := open(t, memory.Client(), func(c *fence.Config) { c.Journal = j })
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
			if s := h.Status(); s.Term != 1 || s.Losses != 0 {
				t.Errorf("the status is %+v", s)
			}
			if restart%2 == 0 {
				leave(h)
			} else if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := j.Close(); err != nil {
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
		leave(h)
		pass(h.Status().Window + time.Hour)
		var log bytes.Buffer
		next(t, open(t, faulty, keep, func(c *fence.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }))
		if !strings.Contains(log.String(), `level=INFO msg="the journal's term of worker 0 is not resumed: its window ended`) || strings.Contains(log.String(), "WARN") || !book.has() {
			t.Errorf("the log is\n%s", &log)
		}
	})
}

// A store that is silent is waited for. Who ends meanwhile, as one does that is
// too slow to start for its supervisor, has not cost the next one the term.
func TestEndWhileTheSilentStoreIsAskedLeavesTheJournalForTheNext(t *testing.T) {
	for _, after := range []time.Duration{10 * time.Millisecond, 990 * time.Millisecond, 1010 * time.Millisecond, 1990 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "journal")
				faulty := faultstore.New(memstore.New().Client(), nil, nil)
				attempt := func(limit time.Duration) (*fence.Holder, *folder.Journal, error) {
					j, err := folder.Open(folder.Config{Dir: dir})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					h, err := fence.Open(ctx, fence.Config{
						Store: faulty, Layout: bubbleLayout(), Window: time.Hour, Worker: new(int64), Journal: j,
					})
					return h, j, err
				}
				end := func(h *fence.Holder, j *folder.Journal) {
					if h != nil {
						leave(h)
					}
					if err := j.Close(); err != nil {
						t.Error(err)
					}
				}
				h, j, err := attempt(time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				last := next(t, h)
				faulty.Follow(faultstore.Always(faultstore.Fault{Delay: time.Hour}))
				end(h, j)
				for range 3 {
					h, j, err := attempt(after)
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("it ended with %v", err)
					}
					end(h, j)
				}
				h, j, err = attempt(time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				if id := next(t, h); id <= last || h.Status().Term != 1 {
					t.Errorf("%d came after %d: %+v", id, last, h.Status())
				}
				end(h, j)
			})
		})
	}
}

// restarted closes a holder on a store that loses 15 s, an age after an extension, and opens the next one a while later.
func restarted(t *testing.T, window, age, away time.Duration) *fence.Holder {
	t.Helper()
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
	return open(t, memory.Client(), keep)
}

// TestRestartBesideALossyStoreCostsTheLeaseNoMoreThanItsTime restarts at every age that a bound has before it
// is usable.
func TestRestartBesideALossyStoreCostsTheLeaseNoMoreThanItsTime(t *testing.T) {
	for _, window := range []time.Duration{46 * time.Second, time.Minute} {
		well := window / 3 // each extension confirms the bound of the one before, and is sent a third later
		for _, away := range []time.Duration{0, 6 * time.Second} {
			for age := time.Duration(0); age < window/3; age += 4 * time.Second {
				synctest.Test(t, func(t *testing.T) {
					h := restarted(t, window, age, away)
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

func TestOpenThatIsCutShortLeavesTheTermThatItResumesInTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, faulty, _, keep := journaled(t, pinned)
		last := next(t, h)
		faulty.Follow(noStore)
		leave(h)
		faulty.Follow(func(c faultstore.Call) faultstore.Fault {
			if c.Verb == faultstore.Traits {
				return faultstore.Fault{}
			}
			return faultstore.Fault{Delay: 700 * time.Millisecond}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		config := fence.Config{Store: faulty, Layout: bubbleLayout()}
		keep(&config)
		if _, err := fence.Open(ctx, config); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		faulty.Follow(nil)
		begun := time.Now()
		h = open(t, faulty, keep)
		if id := next(t, h); id <= last || time.Since(begun) > time.Second {
			t.Errorf("%d came after %d, after %s", id, last, time.Since(begun))
		}
	})
}

// TestResumedBoundThatEndsBeforeTheNextIsNotWaitedFor resumes a term of which little is left. An extension at once
// gives ids again sooner.
func TestResumedBoundThatEndsBeforeTheNextIsNotWaitedFor(t *testing.T) {
	for _, away := range []time.Duration{31 * time.Second, 34 * time.Second, 36 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := restarted(t, time.Minute, 4*time.Second, away)
			without := 0
			for range 120 {
				if !h.Status().Ready {
					without++
				}
				pass(time.Second)
			}
			if without > 12 {
				t.Errorf("away for %s: no ids for %d s", away, without)
			}
		})
	}
}
