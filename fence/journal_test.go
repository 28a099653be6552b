package fence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	folder "snowfence.example/snowfence/internal/journal"
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
		keep := func(c *fence.Config) { c.Window, c.Journal, c.StoreName = time.Hour, book, "the same one" }
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
		if _, err := h.Next(t.Context()); !errors.Is(err, fence.ErrJournal) || h.Status().Phase != "failed" {
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
