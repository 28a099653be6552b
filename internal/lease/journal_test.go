package lease

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// keeping gives a config a journal whose bound is moved ahead by 100 ms.
func keeping(c *Config) { c.JournalAhead = 100 * time.Millisecond }

var errNoDisk = errors.New("no disk")

// keptPage answers the Keep that is awaited.
func (s *script) keptPage() {
	s.t.Helper()
	s.answerKeep(nil)
}

func (s *script) answerKeep(err error) {
	s.t.Helper()
	if s.state.journal.awaited == 0 || s.state.journal.discarding {
		s.t.Fatalf("no page is under way in phase %s", s.state.phase)
	}
	s.do(Written{ID: s.state.journal.awaited, Err: err})
}

// discardedPages answers the Discard that is awaited.
func (s *script) discardedPages(err error) {
	s.t.Helper()
	if s.state.journal.awaited == 0 || !s.state.journal.discarding {
		s.t.Fatalf("no discard is under way in phase %s", s.state.phase)
	}
	s.do(Written{ID: s.state.journal.awaited, Err: err})
}

// claimKeeping brings a script with a journal to where its generator issues.
func claimKeeping(t *testing.T, changes ...func(*Config)) (*script, stored.Register) {
	t.Helper()
	s := newScript(t, append(changes, keeping)...)
	r := s.claim()
	s.keptPage()
	s.in(Holding)
	return s, r
}

// wakeJournal lets the time pass until the journal's timer rings.
func (s *script) wakeJournal() {
	s.t.Helper()
	if !s.state.journal.waking {
		s.t.Fatal("the journal waits for nothing")
	}
	s.pass(max(0, s.state.journal.wake-s.now.Monotonic))
	s.do(Woken{})
}

// fallDue lets the time pass until an extension is due and in the journal.
func (s *script) fallDue() {
	s.t.Helper()
	for s.state.term.write == nil {
		s.wake()
		if s.state.journal.awaited != 0 && s.state.term.write == nil {
			s.keptPage()
		}
	}
}

func TestJournalsBoundIsUsedOnlyOnceItIsKept(t *testing.T) {
	s := newScript(t, keeping)
	r := s.claim()
	none[Start](s)
	s.in(Recording)
	page := request[Keep](s).Page
	if page.Used != testStart+100 || page.Usable != r.Until || page.Version != "v1" || page.Worker != s.state.term.worker || page.Pending != nil {
		t.Errorf("the first page is %+v", page)
	}
	s.keptPage()
	if start := request[Start](s); start.Floor != r.Floor || start.Until != testStart+100 || start.Resumed {
		t.Errorf("it starts with %+v", start)
	}
	// It is moved when half of it is left, and used when that is kept.
	s.wakeJournal()
	if s.now.Wall.Sub(testWall()) != 50*time.Millisecond {
		t.Errorf("it is moved after %s", s.now.Wall.Sub(testWall()))
	}
	none[Extend](s)
	if page = request[Keep](s).Page; page.Used != testStart+150 {
		t.Errorf("it is moved to %d", page.Used)
	}
	s.keptPage()
	s.grants(testStart + 150)
	// An extension of the window does not move it.
	s.fallDue()
	s.keptPage()
	s.swapped("v2")
	if until := request[Extend](s).Until; until != s.state.journal.used || until > testStart+500 {
		t.Errorf("the generator gets %d", until)
	}
}

func TestBoundFollowsAGeneratorThatIsAheadOfTheClock(t *testing.T) {
	s, _ := claimKeeping(t)
	s.now.Generator.Now = testStart + 95
	s.do(WindowEnded{})
	s.moves(testStart + 195)
}

func TestJournalsBoundNeverMovesBack(t *testing.T) {
	s, _ := claimKeeping(t)
	s.wakeJournal()
	s.keptPage() // to 150
	s.now.Wall = s.now.Wall.Add(-80 * time.Millisecond)
	s.wakeJournal()
	s.moves(testStart + 150)
}

func TestExtensionIsSentOnlyOnceItIsInTheJournal(t *testing.T) {
	s, _ := claimKeeping(t)
	s.pass(299 * time.Millisecond)
	s.do(Woken{}) // a page is under way when the extension falls due
	s.pass(time.Millisecond)
	s.do(Woken{})
	s.uncalled(Swap)
	s.keptPage() // that one has not got it
	s.uncalled(Swap)
	page := request[Keep](s).Page
	if _, err := stored.DecodeRegister(page.Pending); err != nil {
		t.Fatal(err)
	}
	s.keptPage()
	if swap := s.called(Swap); string(swap.Value) != string(page.Pending) || swap.Prev != page.Version {
		t.Errorf("%s is sent, and in the journal is %s", swap.Value, page.Pending)
	}
}

func TestFailedPageIsRemovedBeforeTheBoundIsPassed(t *testing.T) {
	s, r := claimKeeping(t)
	s.fallDue() // an extension, which waits for its page
	s.answerKeep(errNoDisk)
	none[Extend](s)
	s.uncalled(Swap)
	request[Discard](s)
	s.do(WindowEnded{})
	none[Extend](s)
	s.discardedPages(nil)
	s.grants(r.Until)
	s.called(Swap)
	s.swapped("v2")
	if v := s.state.View(); v.Kept != 0 || v.Phase != Holding {
		t.Errorf("the view is %+v", v)
	}
	s.wake() // nothing is kept any more
	none[Keep](s)
	s.called(Swap)
}

func TestPageThatCanBeNeitherWrittenNorRemovedEndsTheTerm(t *testing.T) {
	s, _ := claimKeeping(t)
	s.wakeJournal()
	s.answerKeep(errNoDisk)
	s.discardedPages(errNoDisk)
	none[Extend](s)
	if err := request[Revoke](s).Cause; !errors.Is(err, ErrJournal) {
		t.Errorf("it ends with %v", err)
	}
	// The next term is not kept, and needs no disk.
	s.reopen()
	s.discardedPages(errNoDisk)
	s.absent()
	s.swapped("w1")
	s.found("n1", testNamespace())
	none[Keep](s)
	request[Start](s)
}

func TestDiskThatDoesNotAnswerEndsTheTerm(t *testing.T) {
	s, _ := claimKeeping(t)
	s.wakeJournal()
	s.wakeJournal()
	none[Revoke](s) // it may be this process that was stopped
	s.wakeJournal()
	request[Revoke](s)
	s.in(Opening)
}

func TestJournalIsDiscardedBeforeTheReleaseIsSent(t *testing.T) {
	s, r := claimKeeping(t)
	s.do(ReleaseAsked{})
	none[Discard](s)
	s.do(Drained{Reserved: testStart + 10})
	s.uncalled(Swap)
	none[Discard](s) // not before the store is seen to answer
	s.unknown()
	none[Discard](s)
	s.wake()
	s.found("v1", r)
	s.uncalled(Swap)
	request[Discard](s)
	s.discardedPages(nil)
	if _, released := s.written(); released.Holder != "" || released.Until != testStart+10 {
		t.Errorf("it is released as %+v", released)
	}
	s.swapped("v2")
	s.in(Stopped)
}

// TestPageOfALossyStoreIsLeftToTheNextProcess asks a holder to end: as in a crash, the page stays and the
// register is not written. A start without the page would wait for the loss.
func TestPageOfALossyStoreIsLeftToTheNextProcess(t *testing.T) {
	tests := []struct {
		name  string
		reach func(*script)
	}{
		{"holding", func(*script) {}},
		{"extending", func(s *script) { s.fallDue(); s.keptPage(); s.written() }},
		{"extending, undecided", func(s *script) { s.fallDue(); s.keptPage(); s.unknown() }},
		{"writing a page", func(s *script) { s.wakeJournal(); request[Keep](s) }},
		{"writing the page of an extension", func(s *script) { s.fallDue(); request[Keep](s) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, worker := holdLossy(t)
			test.reach(s)
			s.do(ReleaseAsked{})
			request[Drain](s)
			s.do(Drained{Reserved: testStart + 10})
			if s.state.journal.awaited != 0 {
				s.in(Releasing)
				s.keptPage()
			}
			s.in(Stopped)
			s.uncalled(Swap)
			none[Discard](s)
			if told := request[Report](s); told.What != Ended || told.Worker != worker || told.Term != 1 || told.For <= 0 {
				t.Errorf("it reports %+v", told)
			}
		})
	}
}

func TestPageOfALongWindowOrAFailedDiskIsNotLeft(t *testing.T) {
	long := func(c *Config) { c.Window = mostLeft + time.Second }
	s, _ := holdLossy(t, long)
	s.release(testStart + 10)
	s.found("v2", s.state.term.register)
	request[Discard](s)

	s, _ = holdLossy(t)
	s.wakeJournal()
	s.release(testStart + 10)
	s.answerKeep(errNoDisk)
	request[Discard](s)
	s.discardedPages(nil)
	if _, released := s.written(); released.Holder != "" {
		t.Errorf("it is released as %+v", released)
	}
}

// holdLossy brings a script with a journal and a lossy store to where its generator issues.
func holdLossy(t *testing.T, changes ...func(*Config)) (*script, int64) {
	t.Helper()
	s := newScript(t, append(changes, keeping, lossy)...)
	s.claim()
	s.confirm()
	s.keptPage()
	s.in(Holding)
	return s, s.state.term.worker
}

func TestReleaseKeepsUntilIfTheJournalCanNotBeDiscarded(t *testing.T) {
	for name, fail := range map[string]func(s *script){
		"it fails":          func(s *script) { s.discardedPages(errNoDisk) },
		"it hangs":          func(s *script) { s.wakeJournal(); s.wakeJournal() },
		"it hangs and ends": func(s *script) { s.wakeJournal(); s.wakeJournal(); s.do(Written{ID: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			s, r := claimKeeping(t)
			s.release(testStart + 10)
			s.found("v1", r)
			fail(s)
			value := s.state.term.write.Value
			if released, err := stored.DecodeRegister(value); err != nil || released.Holder != "" || released.Until != r.Until {
				t.Errorf("it is released as %+v, %v", released, err)
			}
		})
	}
}

func TestReleaseWaitsForAPageThatIsUnderWay(t *testing.T) {
	s, r := claimKeeping(t)
	s.fallDue()
	s.release(testStart + 10)
	none[Discard](s)
	s.keptPage()
	s.found("v1", r) // the extension in it was never sent
	s.discardedPages(nil)
	if swap, _ := s.written(); swap.Prev != "v1" {
		t.Errorf("it is guarded by %s", swap.Prev)
	}
}

func TestTermThatEndsIsTakenOutOfTheJournal(t *testing.T) {
	s, _ := claimKeeping(t)
	s.do(ClockLost{})
	request[Revoke](s)
	request[Discard](s)
	// The next one waits for that.
	s.reopen()
	s.absent()
	s.swapped("w1")
	s.found("n1", testNamespace())
	s.in(Recording)
	none[Keep](s)
	s.discardedPages(nil)
	if page := request[Keep](s).Page; page.Version != "w1" {
		t.Errorf("the page is %+v", page)
	}
	s.keptPage()
	request[Start](s)
}

// A page of it would let the next process go on with it while the store is silent.
func TestTermThatIsFoundLostWhenItIsReleasedIsTakenOutOfTheJournal(t *testing.T) {
	s, _ := claimKeeping(t)
	s.fallDue()
	s.keptPage()
	s.called(Swap)
	s.release(testStart + 10)
	s.conflict()
	s.found("v9", held(1500))
	s.in(Stopped)
	request[Discard](s)
}

// moves checks the bound of the page that the last step wants kept.
func (s *script) moves(want snowfence.Tick) {
	s.t.Helper()
	if got := request[Keep](s).Page.Used; got != want {
		s.t.Errorf("the journal's bound is moved to %d, not %d", got, want)
	}
}
