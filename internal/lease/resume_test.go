package lease

import (
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// resume starts with an earlier process's page, which is written again at once.
func (s *script) resume(page *stored.Page) {
	s.t.Helper()
	s.do(Started{Page: page})
	s.uncalled(Get)
	if again := request[Keep](s).Page; again.Used != page.Used || again.Usable != page.Usable || string(again.Pending) != string(page.Pending) {
		s.t.Fatalf("%+v is kept in place of %+v", again, page)
	}
	s.keptPage()
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
			if deadline := s.state.search.deadline; deadline != s.now.Monotonic+time.Second {
				t.Errorf("it waits for the store until %s", deadline)
			}
			test.says(s)
			none[Start](s)
			if !test.resumed {
				s.in(Opening)
				none[Keep](s)
				// Another namespace than the journal's is one like any other.
				other := anotherNamespace()
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
			s.uncalled(Get)
			if again := request[Keep](s).Page; again.Used != page.Used || string(again.Pending) != string(page.Pending) {
				t.Errorf("%+v is kept in place of %+v", again, page)
			}
			s.answerKeep(test.keep)
			if test.keep != nil {
				s.uncalled(Get)
				s.discardedPages(test.discard)
			}
			if !test.resumed {
				s.in(Opening)
				return
			}
			s.called(Get)
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
	s.called(Get)
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

// The earlier process's extension may have taken effect. A release that is guarded by
// the version before it would be in vain, and the worker id would rest.
func TestResumedTermIsReleasedAboveWhatWasUsedUnderItsLastVersion(t *testing.T) {
	for name, reach := range map[string]func(s *script){
		"while its page is kept again": func(*script) {},
		"while the store is asked":     func(s *script) { s.keptPage() },
		"while its own page is kept":   func(s *script) { s.keptPage(); s.unknown() },
		"while it issues":              func(s *script) { s.keptPage(); s.unknown(); s.keptPage() },
	} {
		for _, version := range []store.Version{"v7", "v8"} {
			t.Run(name+", at "+string(version), func(t *testing.T) {
				s := newScript(t, keeping)
				page := testPage()
				shown := encoded(t, page.Register)
				if version == "v8" {
					pending(t, &page)
					shown = page.Pending
				}
				s.do(Started{Page: &page})
				reach(s)
				s.do(ReleaseAsked{})
				if _, ok := find[Drain](s.out); ok {
					s.do(Drained{Reserved: page.Used})
				}
				for range 10 {
					if swap, ok := s.call(Swap); ok {
						released, err := stored.DecodeRegister(swap.Value)
						if err != nil || swap.Prev != version || released.Holder != "" || released.Until != page.Used {
							t.Errorf("released under %q as %+v, %v", swap.Prev, released, err)
						}
						s.swapped("v9")
						s.in(Stopped)
						return
					}
					switch {
					case s.state.journal.awaited != 0 && s.state.journal.discarding:
						s.discardedPages(nil)
					case s.state.journal.awaited != 0 && s.state.awaited == 0:
						s.keptPage()
					default:
						s.foundBytes(version, shown)
					}
				}
				t.Errorf("it is not released: phase %s", s.state.phase)
			})
		}
	}
}

// extended lets the time pass until an extension is due and in the journal, and
// the store acknowledge it.
func (s *script) extended(version store.Version) {
	s.t.Helper()
	s.fallDue()
	for s.state.journal.awaited != 0 {
		s.keptPage()
	}
	s.swapped(version)
}

func TestResumedBoundOfALossyStoreIsConfirmedAtItsAge(t *testing.T) {
	const ms = time.Millisecond
	for age, wait := range map[time.Duration]time.Duration{0: 100 * ms, 70 * ms: 30 * ms, 100 * ms: 0, time.Hour: 0} {
		s := newScript(t, keeping, lossy)
		page := testPage()
		page.Loss, page.Age = 100*ms, age
		page.Usable = testStart + 300 // 600 was acknowledged, and is that old at least
		s.resume(&page)
		s.found("v7", page.Register)
		if kept := request[Keep](s).Page; kept.Age != age {
			t.Errorf("age %s: the next page has %s", age, kept.Age)
		}
		s.keptPage()
		resumed := s.now.Monotonic
		s.usable(testStart + 300)
		if wait > 0 {
			s.extended("v8") // before that it would confirm nothing
		} else {
			s.keptPage()
			s.swapped("v8")
		}
		if got, waited := s.state.View().Usable, s.now.Monotonic-resumed; got != testStart+600 || waited != wait {
			t.Errorf("age %s: after %s %d is usable, want 600 after %s", age, waited, got-testStart, wait)
		}
	}
}

// The earlier process may have sent its open write just after it read the bound's acknowledgement.
func TestResumedOpenWriteOfALossyStoreConfirmsNothing(t *testing.T) {
	s := newScript(t, keeping, lossy)
	page := testPage()
	page.Loss, page.Age = 100*time.Millisecond, time.Hour
	page.Usable = testStart + 300
	pending(t, &page)
	s.resume(&page)
	s.foundBytes("v8", page.Pending)
	if kept := request[Keep](s).Page; kept.Register.Until != testStart+900 || kept.Age != 0 {
		t.Errorf("the next page has until %d and age %s: that is the age of another bound", kept.Register.Until, kept.Age)
	}
	s.keptPage()
	s.usable(page.Usable)
	s.keptPage()
	s.swapped("v9") // sent at once, since the bound of the page is old
	s.usable(testStart + 600)
}

func TestPageHasTheAgeOfABoundThatIsNotUsableYet(t *testing.T) {
	s := newScript(t, keeping, lossy)
	s.claim()
	s.confirm()
	s.keptPage()
	s.extended("v3")
	acked := s.now.Monotonic
	s.fallDue()
	for range 3 {
		page := request[Keep](s).Page
		if page.Usable >= page.Register.Until || page.Age != s.now.Monotonic-acked {
			t.Errorf("%s after the acknowledgement of %d the page has age %s, and %d is usable", s.now.Monotonic-acked, page.Register.Until, page.Age, page.Usable)
		}
		s.pass(7 * time.Millisecond)
		s.keptPage()
		if _, swaps := s.call(Swap); swaps {
			return
		}
		s.fallDue()
	}
}

// It is known that the earlier process's extension took effect, and not how long ago.
func TestResumedOpenWriteOfALossyStoreIsConfirmedBeforeItIsUsed(t *testing.T) {
	s := newScript(t, keeping, lossy)
	page := testPage()
	page.Loss = 100 * time.Millisecond
	pending(t, &page)
	s.resume(&page)
	s.foundBytes("v8", page.Pending)
	s.keptPage()
	if start := request[Start](s); start.Until > page.Usable || s.state.View().Usable != page.Usable {
		t.Errorf("it starts with %+v, and %d is usable", start, s.state.View().Usable)
	}
	s.uncalled(Swap) // it would be too early to confirm anything
	s.fallDue()
	for s.state.journal.awaited != 0 {
		s.keptPage()
	}
	if swap, _ := s.written(); swap.Prev != "v8" {
		t.Errorf("it is extended under %q", swap.Prev)
	}
	s.swapped("v9")
	if got := s.state.View().Usable; got < testStart+900 {
		t.Errorf("%d is usable", got)
	}
}

func TestPageThatIsNotForThisHolderIsNotResumed(t *testing.T) {
	tests := []struct {
		name   string
		config func(*Config)
		page   func(*stored.Page)
		reason string
	}{
		{"another namespace", nil, func(p *stored.Page) { p.Name = "orders" }, "namespace"},
		{"another layout", func(c *Config) { c.Layout.Epoch = c.Layout.Epoch.Add(time.Second) }, nil, "layout"},
		{"another worker is pinned", func(c *Config) { pinned(c); *c.Worker = 1 }, nil, "worker ids"},
		{"another datacenter", func(c *Config) { c.Datacenter = new(int64) }, nil, "worker ids"},
		{"other datacenters", func(c *Config) { c.Datacenters = []int64{1} }, nil, "datacenters"},
		{"a store that loses more", lossy, nil, "loses 100ms"},
		{"its window is over", nil, func(p *stored.Page) { p.Usable, p.Used = testStart, testStart-10 }, "window ended"},
		{"it was used up", nil, func(p *stored.Page) { p.Used = p.Usable }, "window ended"},
		{"the clock is behind it", nil, func(p *stored.Page) {
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
