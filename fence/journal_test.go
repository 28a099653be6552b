package fence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	folder "snowfence.example/snowfence/fence/journal"
	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

var errDisk = errors.New("the disk failed")

// notebook is a journal in memory, whose disk does as it is told. It may be
// taken again and again, by one holder after the other.
type notebook struct {
	mu      sync.Mutex
	page    []byte
	fails   error         // what Keep returns
	remains error         // what Discard returns
	takes   error         // what Take returns
	hangs   chan struct{} // Keep and Discard wait for it, if it is there
	kept    int
}

func (n *notebook) set(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

func (n *notebook) wait() {
	n.mu.Lock()
	hangs := n.hangs
	n.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
}

func (n *notebook) Take() ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	page := n.page
	n.page = nil
	return page, n.takes
}

func (n *notebook) Keep(page []byte) error {
	n.wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails == nil {
		n.page = page
		n.kept++
	}
	return n.fails
}

func (n *notebook) Discard() error {
	n.wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.remains == nil {
		n.page = nil
	}
	return n.remains
}

func (n *notebook) has() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.page != nil
}

// leave ends a holder as a crash does, if the store is away: while it answers, a
// release may get as far as to discard the page.
func leave(h *fence.Holder) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.Close(ctx) // it says that the worker id was not released
}

var noStore = faultstore.Always(faultstore.Fault{Before: true})

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

func TestResumedTermIsExtendedWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := faultstore.New(memstore.New().Client(), nil, nil)
		book := &notebook{}
		keep := func(c *fence.Config) { c.Window, c.Journal = time.Hour, book }
		h := open(t, faulty, keep)
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
		faulty := faultstore.New(memstore.New().Client(), nil, nil)
		book := &notebook{}
		keep := func(c *fence.Config) { c.Window, c.Journal = time.Hour, book }
		h := open(t, faulty, keep)
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
		faulty := faultstore.New(memstore.New().Client(), nil, nil)
		book := &notebook{}
		keep := func(c *fence.Config) { pinned(c); c.Window, c.Journal = time.Hour, book }
		h := open(t, faulty, keep)
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

func TestDiskThatDoesNotKeepUpStopsTheIDsAndThenCostsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &notebook{}
		var log bytes.Buffer
		losses := make(chan fence.Loss, 10)
		h := open(t, memstore.New().Client(), func(c *fence.Config) {
			c.Journal = book
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.OnLoss = func(l fence.Loss) { losses <- l }
		})
		next(t, h)
		hangs := make(chan struct{})
		book.set(func() { book.hangs = hangs })
		worker := h.Status().Worker
		pass(3 * time.Second)
		if _, err := h.Next(t.Context()); !errors.Is(err, snowfence.ErrWindowEnded) || !strings.Contains(err.Error(), "journal") {
			t.Errorf("the error is %v", err)
		}
		pass(12 * time.Second)
		next(t, h)
		if s := h.Status(); s.Worker == worker || s.Journal.Kept || s.Losses != 1 {
			t.Errorf("the status is %+v", s)
		}
		if l := <-losses; !errors.Is(l.Reason, fence.ErrJournal) {
			t.Errorf("the loss is %+v", l)
		}
		close(hangs)
		pass(time.Minute)
		next(t, h)
	})
}

func TestFailedDiskCostsTheJournalAndNotTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &notebook{}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Journal = book })
		next(t, h)
		book.set(func() { book.fails = errDisk })
		for range 100 {
			pass(time.Second)
			next(t, h)
		}
		if s := h.Status(); s.Term != 1 || s.Journal.Kept || s.Losses != 0 || s.WindowsEnded != 0 || s.Left < 39*time.Second {
			t.Errorf("the status is %+v", s)
		}
		if book.has() {
			t.Error("the page is still there, and its bound was passed")
		}
	})
}

func TestJournalThatIsOfNoUseKeepsNobodyFromStarting(t *testing.T) {
	for name, spoil := range map[string]func(b *notebook){
		"its disk fails":       func(b *notebook) { b.takes = errDisk; b.fails = errDisk; b.remains = errDisk },
		"its page was refused": func(b *notebook) { b.takes = fence.ErrJournalRefused },
		"its page is damaged":  func(b *notebook) { b.page = []byte("{}") },
		"it holds nothing":     func(*notebook) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				book := &notebook{}
				spoil(book)
				h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Journal = book })
				next(t, h)
				if s := h.Status(); s.Term != 1 || s.Losses != 0 || s.Journal.Kept != (book.fails == nil) {
					t.Errorf("the status is %+v", s)
				}
			})
		})
	}
}

func TestConfigThatCanNotBeUsedLeavesTheJournalForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := faultstore.New(memstore.New().Client(), nil, nil)
		book := &notebook{}
		h := open(t, faulty, func(c *fence.Config) { c.Window, c.Journal = time.Hour, book })
		next(t, h)
		faulty.Follow(noStore)
		leave(h)
		faulty.Follow(nil)
		if _, err := tryOpen(t, faulty, func(c *fence.Config) { c.Window, c.Journal, c.RequestTimeout = time.Hour, book, -1 }); err == nil {
			t.Fatal("opened")
		}
		if !book.has() {
			t.Error("the page is gone")
		}
	})
}

func TestTwoHoldersDoNotShareAJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, err := folder.Open(folder.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		memory := memstore.New()
		keep := func(c *fence.Config) { c.Journal = j }
		first, second := open(t, memory.Client(), keep), open(t, memory.Client(), keep)
		pass(10 * time.Second)
		next(t, first)
		next(t, second)
		if !first.Status().Journal.Kept || second.Status().Journal.Kept {
			t.Errorf("%+v\n%+v", first.Status(), second.Status())
		}
	})
}

func TestStoreThatTurnsOutToLoseMoreThanTheJournalKnewEndsTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &notebook{}
		keep := func(c *fence.Config) { c.Window, c.Journal = time.Hour, book }
		left := faultstore.New(memstore.New().Client(), nil, nil)
		h := open(t, left, keep)
		next(t, h)
		left.Follow(noStore)
		leave(h)
		faulty := faultstore.New(memstore.NewWith(memstore.Config{Loss: time.Second}).Client(), noStore, nil)
		h = open(t, faulty, keep)
		next(t, h)
		faulty.Follow(nil)
		pass(2 * time.Second)
		if _, err := h.Next(t.Context()); !errors.Is(err, fence.ErrJournal) || h.Status().Phase != lease.Failed {
			t.Errorf("the error is %v: %+v", err, h.Status())
		}
	})
}

// TestIdleHolderWritesItsJournalTwiceASecond says what a journal costs.
func TestIdleHolderWritesItsJournalTwiceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &notebook{}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Window, c.Journal = time.Hour, book })
		pass(100 * time.Second)
		book.set(func() {
			if book.kept < 195 || book.kept > 205 {
				t.Errorf("%d pages in 100 s", book.kept)
			}
		})
		next(t, h)
	})
}
