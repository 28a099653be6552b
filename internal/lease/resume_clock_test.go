package lease

import (
	"testing"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

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
			s.called(Ask)
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

// Silence resumes a term, also under a clock that is hours ahead. It must not push
// the register there.
func TestResumedTermsClockIsJudgedBeforeItsFirstExtension(t *testing.T) {
	near, ahead, behind := 9*time.Minute, 20*time.Hour, -20*time.Hour
	tests := []struct {
		name   string
		open   bool // with an extension whose outcome is open
		silent func(s *script, page stored.Page)
		clock  time.Duration // ahead of the store's
	}{
		{"silent at the register", false, silentAtRegister, near},
		{"silent at the register, far ahead", false, silentAtRegister, ahead},
		{"silent at the register, far behind", false, silentAtRegister, behind},
		{"silent at its clock", false, silentAtClock, near},
		{"silent at its clock, far ahead", false, silentAtClock, ahead},
		{"an open write", true, silentAtClock, near},
		{"an open write, far ahead", true, silentAtRegister, ahead},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, keeping, engine)
			page := testPage()
			if test.open {
				pending(t, &page)
			}
			s.resume(&page)
			test.silent(s, page)
			s.keptPage()
			request[Start](s)
			asksNothingButTheClock(s)

			// Silence again ends nothing and writes nothing, nor do calls that wait.
			s.unknown()
			s.do(WindowEnded{})
			s.uncalled(Ask)
			s.wake()
			asksNothingButTheClock(s)
			s.do(WindowEnded{})
			s.uncalled(Ask)

			s.reply(Reply{Outcome: Told, Time: s.now.Wall.Add(-test.clock)})
			if test.clock != near {
				none[Keep](s) // and so nothing is sent
				request[Revoke](s)
				s.in(Opening)
				return
			}
			if test.open {
				s.found(page.Version, page.Register) // it did not arrive, and is sent again
			} else {
				s.keptPage()
			}
			if swap, r := s.written(); swap.Prev != page.Version || r.Until <= page.Register.Until {
				t.Errorf("%+v is written under %s", r, swap.Prev)
			}
			s.swapped("v8")
			s.found("n1", testNamespace())
			s.fallDue() // the next extension asks for no time
			s.keptPage()
			s.written()
		})
	}
}

func silentAtRegister(s *script, _ stored.Page) { s.t.Helper(); s.unknown() }

func silentAtClock(s *script, page stored.Page) {
	s.t.Helper()
	s.found(page.Version, page.Register)
	s.unknown()
}

func asksNothingButTheClock(s *script) {
	s.t.Helper()
	s.uncalled(Swap)
	s.uncalled(Get)
	s.called(Ask)
}

// testPage is of a term that was claimed 300 ms ago and is usable for 600 more.
func testPage() stored.Page {
	r := held(600)
	r.Floor = testStart - 300
	return stored.Page{
		Name: stored.DefaultNamespace, Namespace: testNamespace(), Worker: 2, Version: "v7",
		Register: r, Usable: r.Until, Used: testStart + 40,
	}
}

// pending adds an extension whose outcome is open.
func pending(t *testing.T, p *stored.Page) stored.Register {
	t.Helper()
	r := p.Register
	r.Until, r.Write = testStart+900, "fedcba9876543210"
	p.Pending = encoded(t, r)
	return r
}
