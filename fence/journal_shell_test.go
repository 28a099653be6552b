package fence_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

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

// A page that was given up may still reach the disk. What removes it comes after it.
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

func TestCloseWithAJournalGivesAPinnedWorkerIDBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, worker := memstore.New(), int64(1)
		pin := func(c *fence.Config) { c.Worker, c.Window, c.ClaimWait = &worker, time.Minute, time.Second }
		h := open(t, memory.Client(), pin, func(c *fence.Config) { c.Journal = &single{} })
		next(t, h)
		begun := snowfence.SystemClock().Monotonic()
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := snowfence.SystemClock().Monotonic() - begun; took > time.Second {
			t.Errorf("it took %s", took)
		}
		next(t, open(t, memory.Client(), pin))
	})
}

// A generator that a clock which stepped back has overtaken goes on from its own now.
// A bound that followed the clock alone would be met until that has caught up.
func TestJournalFollowsAGeneratorThatIsAheadOfItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &jumping{Clock: snowfence.SystemClock()}
		h := open(t, memstore.New().Client(), func(c *fence.Config) { c.Journal, c.Clock = &single{}, clock })
		next(t, h)
		clock.stepped.Store(int64(-4 * time.Second))
		for range 100 {
			pass(100 * time.Millisecond)
			next(t, h)
		}
		if s := h.Status(); s.WindowsEnded != 0 || s.Losses != 0 || !s.Journal.Kept {
			t.Errorf("the status is %+v", s)
		}
	})
}
