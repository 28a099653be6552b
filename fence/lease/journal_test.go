package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// keeping gives a config a journal whose bound is moved ahead by 100 ms.
func keeping(c *Config) { c.JournalAhead = 100 * time.Millisecond }

var errNoDisk = errors.New("no disk")

// keptPage answers the Keep that is awaited.
func (s *script) keptPage() {
	s.t.Helper()
	s.answerKeep(nil)
}

// resume starts with an earlier process's page, which is written again at once.
func (s *script) resume(page *Page) {
	s.t.Helper()
	s.do(Started{Page: page})
	none[Get](s)
	if again := request[Keep](s).Page; again.Used != page.Used || again.Usable != page.Usable || string(again.Pending) != string(page.Pending) {
		s.t.Fatalf("%+v is kept in place of %+v", again, page)
	}
	s.keptPage()
}

func (s *script) answerKeep(err error) {
	s.t.Helper()
	if s.state.journal.awaited == 0 || s.state.journal.discarding {
		s.t.Fatalf("no page is under way in phase %s", s.state.phase)
	}
	s.do(Kept{ID: s.state.journal.awaited, Err: err})
}

// discardedPages answers the Discard that is awaited.
func (s *script) discardedPages(err error) {
	s.t.Helper()
	if s.state.journal.awaited == 0 || !s.state.journal.discarding {
		s.t.Fatalf("no discard is under way in phase %s", s.state.phase)
	}
	s.do(Discarded{ID: s.state.journal.awaited, Err: err})
}

// claimKeeping brings a script with a journal to where its generator issues.
func claimKeeping(t *testing.T, changes ...func(*Config)) (*script, Register) {
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
	for s.state.write == nil {
		s.wake()
		if s.state.journal.awaited != 0 && s.state.write == nil {
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
	if until := request[Extend](s).Until; until != testStart+150 {
		t.Errorf("the generator gets %d", until)
	}
	// An extension of the window does not move it.
	s.fallDue()
	s.keptPage()
	s.swapped("v2")
	if until := request[Extend](s).Until; until != s.state.journal.used || until > testStart+500 {
		t.Errorf("the generator gets %d", until)
	}
}

func TestJournalIsNotMovedAheadByLessThanNothing(t *testing.T) {
	var fault *ConfigError
	if _, err := New(Config{Layout: testLayout(), JournalAhead: -1}); !errors.As(err, &fault) || fault.Field != "journal-ahead" {
		t.Errorf("the error is %v", err)
	}
	state, err := New(Config{Layout: testLayout(), JournalAhead: 1})
	if got := state.Config().JournalAhead; err != nil || got != 2*time.Millisecond {
		t.Errorf("it is %s, %v", got, err)
	}
}

func TestBoundFollowsAGeneratorThatIsAheadOfTheClock(t *testing.T) {
	s, _ := claimKeeping(t)
	s.now.Stamping = testStart + 95
	s.do(WindowEnded{})
	if page := request[Keep](s).Page; page.Used != testStart+195 {
		t.Errorf("it is moved to %d", page.Used)
	}
}

func TestExtensionIsSentOnlyOnceItIsInTheJournal(t *testing.T) {
	s, _ := claimKeeping(t)
	s.pass(299 * time.Millisecond)
	s.do(Woken{}) // a page is under way when the extension falls due
	s.pass(time.Millisecond)
	s.do(Woken{})
	none[Swap](s)
	s.keptPage() // that one has not got it
	none[Swap](s)
	page := request[Keep](s).Page
	if _, err := DecodeRegister(page.Pending); err != nil {
		t.Fatal(err)
	}
	s.keptPage()
	if swap := request[Swap](s); string(swap.Value) != string(page.Pending) || swap.Prev != page.Version {
		t.Errorf("%s is sent, and in the journal is %s", swap.Value, page.Pending)
	}
}

func TestFailedPageIsRemovedBeforeTheBoundIsPassed(t *testing.T) {
	s, r := claimKeeping(t)
	s.fallDue() // an extension, which waits for its page
	s.answerKeep(errNoDisk)
	none[Extend](s)
	none[Swap](s)
	request[Discard](s)
	s.do(WindowEnded{})
	none[Extend](s)
	s.discardedPages(nil)
	if until := request[Extend](s).Until; until != r.Until {
		t.Errorf("the generator gets %d, not %d", until, r.Until)
	}
	request[Swap](s)
	s.swapped("v2")
	if v := s.state.View(); v.Kept != 0 || v.Phase != Holding {
		t.Errorf("the view is %+v", v)
	}
	s.wake() // nothing is kept any more
	none[Keep](s)
	request[Swap](s)
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
	none[Swap](s)
	none[Discard](s) // not before the store is seen to answer
	s.unknown()
	none[Discard](s)
	s.wake()
	s.found("v1", r)
	none[Swap](s)
	request[Discard](s)
	s.discardedPages(nil)
	if _, released := s.written(); released.Holder != "" || released.Until != testStart+10 {
		t.Errorf("it is released as %+v", released)
	}
	s.swapped("v2")
	s.in(Stopped)
}

func TestReleaseKeepsUntilIfTheJournalCanNotBeDiscarded(t *testing.T) {
	for name, fail := range map[string]func(s *script){
		"it fails":          func(s *script) { s.discardedPages(errNoDisk) },
		"it hangs":          func(s *script) { s.wakeJournal(); s.wakeJournal() },
		"it hangs and ends": func(s *script) { s.wakeJournal(); s.wakeJournal(); s.do(Discarded{ID: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			s, r := claimKeeping(t)
			s.do(ReleaseAsked{})
			s.do(Drained{Reserved: testStart + 10})
			s.found("v1", r)
			fail(s)
			value := s.state.write.value
			if released, err := DecodeRegister(value); err != nil || released.Holder != "" || released.Until != r.Until {
				t.Errorf("it is released as %+v, %v", released, err)
			}
		})
	}
}

func TestReleaseWaitsForAPageThatIsUnderWay(t *testing.T) {
	s, r := claimKeeping(t)
	s.fallDue()
	s.do(ReleaseAsked{})
	s.do(Drained{Reserved: testStart + 10})
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

// testPage is of a term that was claimed 300 ms ago and is usable for 600 more.
func testPage() Page {
	r := held(600)
	r.Floor = testStart - 300
	return Page{
		Name: DefaultNamespace, Namespace: testNamespace(), Worker: 2, Version: "v7",
		Register: r, Usable: r.Until, Used: testStart + 40,
	}
}

// pending adds an extension whose outcome is open.
func pending(t *testing.T, p *Page) Register {
	t.Helper()
	r := p.Register
	r.Until, r.Write = testStart+900, "fedcba9876543210"
	p.Pending = encoded(t, r)
	return r
}

func TestResumedTermBeginsAboveWhatWasUsed(t *testing.T) {
	page := testPage()
	stranger, late := page.Register, page.Register
	stranger.Write = "00000000000000ff"
	late.Until -= 200
	extended := pending(t, &page)
	tests := []struct {
		name    string
		open    bool // with an extension whose outcome is open
		says    func(s *script)
		resumed bool
		usable  snowfence.Tick
	}{
		{"the store is silent", false, func(s *script) { s.unknown() }, true, testStart + 600},
		{"the store is silent, and a write is open", true, func(s *script) { s.unknown() }, true, testStart + 600},
		{"nothing changed", false, func(s *script) { s.found("v7", page.Register) }, true, testStart + 600},
		{"the open write did not arrive yet", true, func(s *script) { s.found("v7", page.Register) }, true, testStart + 600},
		{"the open write took effect", true, func(s *script) { s.foundBytes("v8", page.Pending) }, true, testStart + 900},
		{"a late read", false, func(s *script) { s.found("v6", late) }, true, testStart + 600},
		{"a write that the journal does not have", false, func(s *script) { s.found("v8", extended) }, false, 0},
		{"a write of a copy", true, func(s *script) { s.found("v8", stranger) }, false, 0},
		{"somebody else has it", true, func(s *script) { s.found("v9", released(600)) }, false, 0},
		{"it is gone", true, func(s *script) { s.absent() }, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, keeping)
			p := page
			if !test.open {
				p.Pending = nil
			}
			s.resume(&p)
			none[Start](s)
			if deadline, ok := s.state.Deadline(); !ok || deadline != s.now.Monotonic+time.Second {
				t.Errorf("it waits for the store until %s", deadline)
			}
			test.says(s)
			none[Start](s)
			if !test.resumed {
				s.in(Opening)
				none[Keep](s)
				// Another namespace than the journal's is one like any other.
				other := testNamespace()
				other.Incarnation = "ff112233445566778899aabbccddeeff"
				s.found("n2", other)
				s.in(Probing)
				return
			}
			s.in(Recording)
			if kept := request[Keep](s).Page; kept.Used != testStart+140 || kept.Usable != test.usable {
				t.Errorf("the page is %+v", kept)
			}
			s.keptPage()
			start := request[Start](s)
			if start.Floor != p.Used || start.Until != testStart+140 || start.Term != p.Register.Term || start.Worker != 2 || !start.Resumed {
				t.Errorf("it starts with %+v", start)
			}
		})
	}
}

// Until the page is written again the next process would find none.
func TestConsumedPageIsWrittenAgainBeforeTheStoreIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		keep    error
		discard error
		resumed bool
	}{
		"it is written":                         {nil, nil, true},
		"it is not, and removed":                {errNoDisk, nil, true},
		"it can neither be written nor removed": {errNoDisk, errNoDisk, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, keeping)
			page := testPage()
			pending(t, &page)
			s.do(Started{Page: &page})
			none[Get](s)
			if again := request[Keep](s).Page; again.Used != page.Used || string(again.Pending) != string(page.Pending) {
				t.Errorf("%+v is kept in place of %+v", again, page)
			}
			s.answerKeep(test.keep)
			if test.keep != nil {
				none[Get](s)
				s.discardedPages(test.discard)
			}
			if !test.resumed {
				s.in(Opening)
				return
			}
			request[Get](s)
			s.unknown()
			if test.keep == nil {
				s.keptPage()
			}
			if start := request[Start](s); start.Floor != page.Used || start.Until <= start.Floor {
				t.Errorf("it starts with %+v", start)
			}
		})
	}
}

func TestResumedTermWaitsForAClockThatMayNotFallBehind(t *testing.T) {
	s := newScript(t, keeping, func(c *Config) { c.MaxRollback = 0 })
	page := testPage()
	s.resume(&page)
	s.unknown()
	s.in(Resuming)
	none[Keep](s)
	s.wake()
	if waited := s.now.Wall.Sub(testWall()); waited != 40*time.Millisecond {
		t.Errorf("it waited for %s", waited)
	}
	s.keptPage()
	request[Start](s)
}

func TestResumedTermIsExtendedUnderItsLastVersion(t *testing.T) {
	s := newScript(t, keeping)
	page := testPage()
	s.resume(&page)
	s.unknown()
	s.keptPage()
	s.keptPage() // the extension is due at once
	swap, r := s.written()
	if swap.Prev != "v7" || r.Holder != page.Register.Holder || r.Floor != page.Register.Floor || r.Until != testStart+900 {
		t.Errorf("%+v is written under %s", r, swap.Prev)
	}
	s.swapped("v8")
	s.found("n1", testNamespace()) // and the namespace is looked at
	s.in(Holding)

	// With a write whose outcome is open that comes first.
	s = newScript(t, keeping)
	pending(t, &page)
	s.resume(&page)
	s.unknown()
	s.keptPage()
	request[Get](s)
	s.found("v7", page.Register)
	if swap, _ := s.written(); swap.Prev != "v7" || string(swap.Value) != string(page.Pending) {
		t.Errorf("%s is sent", swap.Value)
	}
}

func TestResumedTermThatWasTakenOverMeanwhileIsLost(t *testing.T) {
	s := newScript(t, keeping)
	page := testPage()
	s.resume(&page)
	s.unknown()
	s.keptPage()
	s.keptPage()
	s.conflict()
	s.found("v9", held(1500))
	request[Revoke](s)
	request[Discard](s)
}

func TestResumedTermsClockIsJudgedByTheStoresClock(t *testing.T) {
	for name, test := range map[string]struct {
		reply   Reply
		resumed bool
	}{
		"near":      {Reply{Outcome: Told, Time: testWall().Add(9 * time.Minute)}, true},
		"ahead":     {Reply{Outcome: Told, Time: testWall().Add(-11 * time.Minute)}, false},
		"behind":    {Reply{Outcome: Told, Time: testWall().Add(11 * time.Minute)}, false},
		"not known": {Reply{Err: errNoAnswer}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, keeping, func(c *Config) { c.EngineClock = true })
			page := testPage()
			s.resume(&page)
			s.found(page.Version, page.Register)
			request[Ask](s)
			s.reply(test.reply)
			if _, discarded := find[Discard](s.out); discarded == test.resumed {
				t.Errorf("phase %s, and it asks %+v", s.state.phase, s.out)
			}
			if _, started := find[Start](s.out); started {
				t.Error("it issues before its page is kept")
			}
		})
	}
}

func TestResumedTermThatIssuedNothingIsReleasedAboveWhatWasUsed(t *testing.T) {
	for name, reach := range map[string]func(s *script){
		"while its page is kept again":   func(*script) {},
		"while the store is asked":       func(s *script) { s.keptPage() },
		"while its own page is kept":     func(s *script) { s.keptPage(); s.unknown() },
		"before it was asked for an id ": func(s *script) { s.keptPage(); s.unknown(); s.keptPage(); s.keptPage(); s.swapped("v8") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, keeping)
			page := testPage()
			s.do(Started{Page: &page})
			reach(s)
			s.do(ReleaseAsked{})
			if _, ok := find[Drain](s.out); ok {
				s.do(Drained{Reserved: page.Used})
			}
			for s.state.phase == Releasing {
				if s.state.journal.awaited != 0 {
					if s.state.journal.discarding {
						s.discardedPages(nil)
					} else {
						s.keptPage()
					}
				}
				if s.state.write != nil {
					if released, err := DecodeRegister(s.state.write.value); err != nil || released.Until != page.Used {
						t.Fatalf("it is released as %+v, %v", released, err)
					}
					s.swapped("v9")
				} else if s.state.awaited != 0 {
					s.found("v7", page.Register)
				}
			}
			s.in(Stopped)
		})
	}
}

func TestResumedBoundOfALossyStoreIsConfirmedAnew(t *testing.T) {
	s := newScript(t, keeping, lossy)
	page := testPage()
	page.Loss = 100 * time.Millisecond
	page.Usable = testStart + 300 // 600 was acknowledged, it is not known when
	s.resume(&page)
	s.found("v7", page.Register)
	s.keptPage()
	s.keptPage()
	s.swapped("v8") // sent too early to confirm anything
	s.found("n1", testNamespace())
	if got := s.state.View().Usable; got != testStart+300 {
		t.Errorf("%d is usable", got)
	}
	s.fallDue()
	for s.state.journal.awaited != 0 {
		s.keptPage()
	}
	s.swapped("v9")
	if got := s.state.View().Usable; got < testStart+600 {
		t.Errorf("%d is usable", got)
	}
}

func TestPageThatIsNotForThisHolderIsNotResumed(t *testing.T) {
	tests := []struct {
		name   string
		config func(*Config)
		page   func(*Page)
		reason string
	}{
		{"another namespace", nil, func(p *Page) { p.Name = "orders" }, "namespace"},
		{"another layout", func(c *Config) { c.Layout.Epoch = c.Layout.Epoch.Add(time.Second) }, nil, "layout"},
		{"another worker is pinned", func(c *Config) { pinned(c); *c.Worker = 1 }, nil, "worker ids"},
		{"another datacenter", func(c *Config) { c.Datacenter = new(int64) }, nil, "worker ids"},
		{"other datacenters", func(c *Config) { c.Datacenters = []int64{1} }, nil, "datacenters"},
		{"a store that loses more", lossy, nil, "loses 100ms"},
		{"its window is over", nil, func(p *Page) { p.Usable, p.Used = testStart, testStart-10 }, "window ended"},
		{"it was used up", nil, func(p *Page) { p.Used = p.Usable }, "window ended"},
		{"the clock is behind it", nil, func(p *Page) {
			p.Register.Until, p.Usable, p.Used = testStart+900, testStart+900, testStart+301
		}, "behind"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changes := []func(*Config){keeping}
			if test.config != nil {
				changes = append(changes, test.config)
			}
			s := newScript(t, changes...)
			page := testPage()
			if test.page != nil {
				test.page(&page)
			}
			s.do(Started{Page: &page})
			s.in(Opening)
			if note := request[Report](s); note.What != Noted || !strings.Contains(note.Err.Error(), test.reason) {
				t.Errorf("reported as %v", note.Err)
			}
		})
	}
}

func TestPageIsReadAsItWasWritten(t *testing.T) {
	page := testPage()
	pending(t, &page)
	page.Namespace.Datacenters = []int64{0, 1}
	page.Loss = time.Second
	got, err := DecodePage(encoded(t, page))
	if err != nil {
		t.Fatal(err)
	}
	if string(encoded(t, got)) != string(encoded(t, page)) || string(got.Pending) != string(page.Pending) || got.Loss != page.Loss {
		t.Errorf("read as %+v, written as %+v", got, page)
	}
}

func TestPageThatThisProgramWouldNotWriteIsRefused(t *testing.T) {
	page := testPage()
	pending(t, &page)
	good := string(encoded(t, page))
	for _, test := range []struct{ name, from, to string }{
		{"a newer format", `{"format":1`, `{"format":2`},
		{"an unknown field", `"worker":2`, `"worker":2,"more":1`},
		{"a missing field", `"loss":"0s"`, `"losss":"0s"`},
		{"a null register", `"worker":2`, `"worker":null`},
		{"no version", `"version":"v7"`, `"version":""`},
		{"usable above until", `"usable":1000600`, `"usable":1000601`},
		{"used below the floor", `"used":1000040`, `"used":999699`},
		{"used above usable", `"used":1000040`, `"used":1000601`},
		{"a register without a holder", `"holder":"ffeeddccbbaa99887766554433221100"`, `"holder":""`},
		{"a register of another incarnation", `"register":{"format":1,"layout":"ms41-datacenter1-worker1-seq12@2026-01-01T00:00:00Z","incarnation":"0`,
			`"register":{"format":1,"layout":"ms41-datacenter1-worker1-seq12@2026-01-01T00:00:00Z","incarnation":"1`},
		{"a pending write of another term", `\"term\":4`, `\"term\":5`},
		{"a pending write that lowers until", `\"until\":1000900`, `\"until\":1000599`},
		{"a negative loss", `"loss":"0s"`, `"loss":"-1s"`},
		{"nothing", good, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := strings.Replace(good, test.from, test.to, 1)
			if bad == good {
				t.Fatalf("%s is not in %s", test.from, good)
			}
			if p, err := DecodePage([]byte(bad)); !errors.Is(err, ErrRecord) {
				t.Errorf("read as %+v, %v", p, err)
			}
		})
	}
}

func FuzzPageIsReadAsItIsWritten(f *testing.F) {
	page := testPage()
	f.Add(encoded(f, page))
	r := page.Register
	r.Until, r.Write = testStart+900, "fedcba9876543210"
	page.Pending = encoded(f, r)
	f.Add(encoded(f, page))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePage(b)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if q, err := DecodePage(again); err != nil || q.Used != p.Used || q.Worker != p.Worker {
			t.Fatalf("%s is read as %+v, %v", again, q, err)
		}
		if p.Used < p.Register.Floor || p.Used > p.Usable || p.Usable > p.Register.Until {
			t.Fatalf("%+v contradicts itself", p)
		}
	})
}
