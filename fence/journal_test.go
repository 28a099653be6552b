package fence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

var errDisk = errors.New("the disk failed")

// notebook is a journal in memory, whose disk does as the test sets. It may be
// taken again and again, by one holder after the other.
type notebook struct {
	mu      sync.Mutex
	page    []byte
	fails   error         // the result of Keep
	remains error         // the result of Discard
	takes   error         // the result of Take
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
	_ = h.Close(ctx) // it returns that the worker id was not released
}

var noStore = faultstore.Always(faultstore.Fault{Before: true})

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
		book := &notebook{}
		h, faulty := openFaulty(t, func(c *fence.Config) { c.Window, c.Journal = time.Hour, book })
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

func TestStoreThatTurnsOutToLoseMoreThanTheJournalKnewEndsTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &notebook{}
		keep := func(c *fence.Config) { c.Window, c.Journal, c.StoreName = time.Hour, book, "the same one" }
		h, left := openFaulty(t, keep)
		next(t, h)
		left.Follow(noStore)
		leave(h)
		faulty := faultstore.New(memstore.NewWith(memstore.Config{Loss: time.Second}).Client(), noStore, nil)
		h = open(t, faulty, keep)
		next(t, h)
		faulty.Follow(nil)
		pass(2 * time.Second)
		if _, err := h.Next(t.Context()); !errors.Is(err, fence.ErrJournal) || h.Status().Phase != "failed" {
			t.Errorf("the error is %v: %+v", err, h.Status())
		}
	})
}

// TestIdleHolderWritesItsJournalTwiceASecond measures the cost of a journal.
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

// single is a journal that notices when it is asked for two things at a time.
type single struct {
	notebook
	busy    atomic.Int32
	clashes atomic.Int32
	asked   atomic.Int32
}

func (s *single) enter() (leave func()) {
	s.asked.Add(1)
	if s.busy.Add(1) > 1 {
		s.clashes.Add(1)
	}
	return func() { s.busy.Add(-1) }
}

func (s *single) Keep(page []byte) error {
	defer s.enter()()
	return s.notebook.Keep(page)
}

func (s *single) Discard() error {
	defer s.enter()()
	return s.notebook.Discard()
}

// A page that was given up may still reach the disk. Its removal comes after it.
func TestJournalIsAskedForOneThingAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &single{}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Journal = book })
		next(t, h)
		hangs := make(chan struct{})
		book.set(func() { book.hangs = hangs })
		pass(15 * time.Second)
		next(t, h) // of another term: the disk was given up, and the page is to be removed
		asked := book.asked.Load()
		close(hangs)
		pass(time.Minute)
		if n := book.clashes.Load(); n > 0 || book.asked.Load() == asked {
			t.Errorf("asked %d times, then %d times, and %d times while it was busy", asked, book.asked.Load(), n)
		}
		if book.has() {
			t.Error("the page that was given up is there")
		}
	})
}

// TestPageIsResumedFromOnItsOwnStoreOnly restarts a process, within its window, with another store that is silent
// then. That store may have a holder of the same worker id. A resumed term would repeat its ids.
func TestPageIsResumedFromOnItsOwnStoreOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		book := &notebook{}
		keep := func(c *fence.Config) {
			pinned(c)
			c.Window, c.Journal, c.ClaimWait = time.Minute, book, 2*time.Second
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		}
		first, second := memstore.New(), memstore.New()
		away := faultstore.New(first.Client(), nil, nil)
		h := open(t, away, keep)
		next(t, h)
		away.Follow(noStore) // so the first holder can't give its worker id back
		leave(h)
		if !book.has() {
			t.Fatal("there is no page")
		}
		silent := faultstore.New(second.Client(), noStore, nil)
		if resumed, err := tryOpen(t, silent, keep); err == nil {
			t.Error("it resumed the term of another store")
			leave(resumed)
		} else if !errors.Is(err, fence.ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
		for _, part := range []string{"the journal's term is not resumed", store.NameOf(first.Client()), store.NameOf(silent)} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("%q is not logged:\n%s", part, log.String())
			}
		}
	})
}

// nameless is a store that does not name itself.
type nameless struct{ store.Store }

func TestJournalNeedsAStoreWithAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep := func(c *fence.Config) { c.Journal = &notebook{} }
		var refused *fence.ConfigError
		if _, err := tryOpen(t, nameless{memstore.New().Client()}, keep); !errors.As(err, &refused) || refused.Field != "store-name" {
			t.Errorf("the error is %v", err)
		}
		h := open(t, nameless{memstore.New().Client()}, keep, func(c *fence.Config) { c.StoreName = "the first one" })
		next(t, h)
	})
}
