package lease

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

var errTorn = fmt.Errorf("file 7: %w", store.ErrDamaged)

func (s *script) damaged() { s.t.Helper(); s.reply(Reply{Err: errTorn}) }

// noted returns how often the last step notes something with that text.
func (s *script) noted(text string) (times int) {
	for _, r := range s.out {
		if report, ok := r.(Report); ok && report.What == Noted && strings.Contains(report.Err.Error(), text) {
			times++
		}
	}
	return times
}

func (s *script) gaveUp(want error) {
	s.t.Helper()
	s.in(Resting)
	if report := request[Report](s); report.What != GaveUp || !errors.Is(report.Err, want) {
		s.t.Errorf("the report is %+v", report)
	}
}

func TestDamageWithoutAWayRoundItEndsAClaimAtOnce(t *testing.T) {
	unpinned := func(*Config) {}
	for name, test := range map[string]struct {
		reach  func(*script)
		worker func(*Config)
	}{
		"the namespace":                  {func(s *script) { s.do(Started{}) }, unpinned},
		"the namespace, after the claim": {func(s *script) { s.swap() }, unpinned},
		"a pinned register":              {func(s *script) { s.open() }, pinned},
		"a pinned register, written to":  {func(s *script) { s.open(); s.absent(); s.written() }, pinned},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.worker)
			test.reach(s)
			s.damaged()
			none[Start](s)
			s.gaveUp(store.ErrDamaged)
		})
	}
}

func TestDamagedRegisterOfAPoolMakesWayForAnotherAndIsNoted(t *testing.T) {
	s := newScript(t)
	s.open()
	s.damaged()
	s.in(Probing)
	if s.noted("file 7") != 1 {
		t.Errorf("it is not noted: %+v", s.out)
	}
	s.absent()
	s.written()
	s.damaged() // the claim's own
	s.in(Probing)
	s.absent()
	s.swapped("v1")
	s.found("n1", testNamespace())
	request[Start](s)
}

// TestListThatEndsAtADamagedRegisterIsReadOneByOne has four worker ids, one of
// which is damaged and one of which is free.
func TestListThatEndsAtADamagedRegisterIsReadOneByOne(t *testing.T) {
	s := newScript(t)
	s.open()
	answer := func() {
		if s.called(Get).Key == stored.RegisterKey("default", testLayout(), 1) {
			s.damaged()
		} else {
			s.found("v0", held(5000))
		}
	}
	for range s.state.search.pool.size { // those that are tried at random
		answer()
	}
	s.called(List)
	s.damaged()
	asked := map[string]bool{}
	for range s.state.search.pool.size - 1 {
		asked[s.called(Get).Key] = true
		answer()
	}
	if asked[s.called(Get).Key] {
		t.Error("a register was read twice")
	}
	s.absent()
	s.written()
}

func TestDamagedRegisterDoesNotKeepTheClockFromBeingJudgedByTheOthers(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(ClockLost{Stepped: true})
	s.found("n1", testNamespace())
	s.called(List)
	s.damaged()
	s.in(Probing)
	if s.noted("judge the clock") != 1 {
		t.Errorf("it is not noted: %+v", s.out)
	}
}

func TestPoolWithoutAUsableWorkerIDIsNotWaitedFor(t *testing.T) {
	s := newScript(t)
	s.open()
	for s.state.phase == Probing {
		s.damaged()
	}
	if s.now.Monotonic != time.Hour {
		t.Errorf("it waited for %s", s.now.Monotonic-time.Hour)
	}
	s.gaveUp(store.ErrDamaged)
	var full *ExhaustedError
	if !errors.As(request[Report](s).Err, &full) || full.Unusable != 4 || !strings.Contains(full.Error(), "file 7") {
		t.Errorf("the error is %v", full)
	}
}

func TestDamageDoesNotEndATermAndIsReported(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.extend()
	for i := range 10 {
		s.damaged()
		none[Revoke](s)
		s.in(Holding)
		reported := slices.ContainsFunc(s.out, func(r Request) bool {
			told, ok := r.(Report)
			return ok && told.What == Silent && errors.Is(told.Err, store.ErrDamaged) && told.Left > 0
		})
		if second := i == 1; reported != second { // one failure may be a broken connection, and each 10 s are enough
			t.Errorf("the %d. time: reported is %v", i+1, reported)
		}
		if _, ok := s.call(Get); !ok {
			s.wake()
		}
	}
	for range verifyEvery {
		s.swappedAgain()
	}
	s.called(Get)
	s.damaged() // the namespace's record
	none[Revoke](s)
	s.in(Holding)
	if s.noted("the term goes on") != 1 {
		t.Errorf("it is not noted: %+v", s.out)
	}
}

// swappedAgain brings an extension that is under way to its end, and begins the
// next unless the namespace's record is read first.
func (s *script) swappedAgain() {
	s.t.Helper()
	if s.state.term.write == nil {
		s.wake()
	}
	if s.reads {
		if s.state.awaited == 0 {
			s.wake()
		}
		s.reply(Reply{Outcome: Found, Entry: store.Entry{Version: s.state.term.write.Guard}})
	}
	s.swapped(store.Version(fmt.Sprint("w", s.state.requests)))
}

func TestEachTroubleOfAClaimIsNotedAtItsFirstRetry(t *testing.T) {
	s := newScript(t)
	s.do(Started{})
	for i, text := range []string{"refused", "refused", "unreachable", "refused"} {
		s.reply(Reply{Err: errors.New(text)})
		if n := s.noted(text); (i == 0 || i == 2) != (n == 1) {
			t.Errorf("the %d. time it is noted %d times", i+1, n)
		}
		s.wake()
	}
}

func TestWaitingIsToldOnceInAnAttempt(t *testing.T) {
	for name, changes := range map[string][]func(*Config){"pool": nil, "pinned": {pinned}} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, changes...)
			s.open()
			told := 0
			for s.state.phase == Probing {
				if _, ok := s.call(List); ok {
					s.listed(held(5000), held(5000), held(5000), held(5000))
				} else {
					s.found("v0", held(5000))
				}
				if report, ok := find[Report](s.out); ok && report.What == Waiting {
					told++
					if !errors.Is(report.Err, ErrNoWorker) {
						t.Errorf("it waits for %v", report.Err)
					}
				}
				if s.state.waking {
					s.wake()
				}
			}
			if told != 1 {
				t.Errorf("it was reported %d times", told)
			}
		})
	}
}

func TestTimeErrorNamesLayoutBoundAndNow(t *testing.T) {
	layout := testLayout()
	for want, wall := range map[error]time.Time{
		snowfence.ErrBeforeEpoch: layout.Epoch.Add(-time.Hour),
		snowfence.ErrPastHorizon: layout.Horizon().Add(time.Hour),
	} {
		err := CheckTime(layout, wall)
		bound := layout.Epoch
		if wall.After(bound) {
			bound = layout.Horizon()
		}
		for _, part := range []string{layout.String(), bound.UTC().Format(time.RFC3339Nano), wall.UTC().Format(time.RFC3339Nano)} {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %q", err, part)
			}
		}
	}
}

func TestProcessReadsWellHoweverLittleItGave(t *testing.T) {
	for want, p := range map[string]stored.Process{
		"a process that gave no name": {},
		"a process on host a":         {Host: "a"},
		"pid 7":                       {PID: 7},
		"pid 7 on host a":             {PID: 7, Host: "a"},
		`pid 7 on host a\r\n\x1b[2J`:  {PID: 7, Host: "a\r\n\x1b[2J"},
	} {
		if got := p.String(); got != want {
			t.Errorf("it reads %q, not %q", got, want)
		}
	}
}
