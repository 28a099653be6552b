package lease

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

func TestExtensionIsDueAtAThirdOfTheWindow(t *testing.T) {
	s := newScript(t)
	r := s.claim()
	at, ok := s.state.Wake()
	if !ok || at-s.now.Monotonic != 300*time.Millisecond {
		t.Errorf("it is due in %s", at-s.now.Monotonic)
	}
	next := s.extend()
	if next.Until != r.Until+300 || next.Term != r.Term || next.Holder != r.Holder || next.Floor != r.Floor {
		t.Errorf("it asks for %+v after %+v", next, r)
	}
}

func TestExtensionRoundsUpAndNeverShrinks(t *testing.T) {
	s := newScript(t)
	r := s.claim()
	s.now.Wall = s.now.Wall.Add(time.Microsecond)
	if next := s.extend(); next.Until != r.Until+301 {
		t.Errorf("until is %d after %d", next.Until, r.Until)
	}
	s = newScript(t)
	r = s.claim()
	s.now.Wall = s.now.Wall.Add(-5 * time.Second)
	if next := s.extend(); next.Until != r.Until {
		t.Errorf("with the clock back, until is %d after %d", next.Until, r.Until)
	}
}

func TestNewBoundIsUsedOnlyAfterItsAcknowledgement(t *testing.T) {
	s := newScript(t)
	s.claim()
	r := s.extend()
	none[Extend](s)
	s.swapped("v2")
	s.grants(r.Until)
	if swap, _ := func() (Call, stored.Register) { s.wake(); return s.written() }(); swap.Prev != "v2" {
		t.Errorf("the next is guarded by %q", swap.Prev)
	}
}

// TestOutcomeOfAnExtensionIsWhatTheRegisterShows is the whole table for unknown
// outcomes and conflicts.
func TestOutcomeOfAnExtensionIsWhatTheRegisterShows(t *testing.T) {
	type setting struct {
		s               *script
		claimed, wanted stored.Register // acknowledged as v1; under way
	}
	tests := []struct {
		name  string
		show  func(setting)
		check func(setting)
	}{
		{"the very bytes: adopted, with the version read",
			func(g setting) { g.s.found("v2", g.wanted) },
			func(g setting) {
				if e := request[Extend](g.s); e.Until != g.wanted.Until {
					g.s.t.Errorf("the generator gets %d", e.Until)
				}
				g.s.wake()
				if swap, _ := g.s.written(); swap.Prev != "v2" {
					g.s.t.Errorf("the next is guarded by %q", swap.Prev)
				}
			}},
		{"the guarded version: undecided, sent again as it was",
			func(g setting) { g.s.found("v1", g.claimed) },
			func(g setting) {
				none[Extend](g.s)
				none[Revoke](g.s)
				want, err := g.wanted.Encode()
				if err != nil {
					g.s.t.Fatal(err)
				}
				if swap := g.s.called(Swap); swap.Prev != "v1" || !bytes.Equal(swap.Value, want) {
					g.s.t.Errorf("sent under %q: %s", swap.Prev, swap.Value)
				}
				g.s.swapped("v2")
				request[Extend](g.s)
			}},
		{"another holder: lost",
			func(g setting) { g.s.found("v2", held(2000)) },
			func(g setting) { g.s.lost() }},
		{"released by an operator: lost",
			func(g setting) {
				r := g.claimed
				r.Holder = ""
				g.s.found("v2", r)
			},
			func(g setting) { g.s.lost("an operator or a copy of this process released worker 2") }},
		{"with a floor above, set by an operator: lost",
			func(g setting) {
				r := g.claimed
				r.Holder, r.Term, r.Process = "", 2, stored.Process{Host: "desk", PID: 7}
				r.Floor = r.Until + 1000
				r.Until = r.Floor
				g.s.found("v2", r)
			},
			func(g setting) { g.s.lost("an operator set a floor for worker 2, by pid 7 on host desk") }},
		{"quarantined under our nonce: lost, and left as it is",
			func(g setting) {
				r := g.claimed
				r.Quarantined = true
				g.s.found("v2", r)
			},
			func(g setting) { g.s.lost("an operator quarantined worker 2") }},
		{"our nonce, but not our bytes: a copy of this process, lost",
			func(g setting) {
				r := g.wanted
				r.Write = "ffffffffffffffff"
				g.s.found("v2", r)
			},
			func(g setting) { g.s.lost() }},
		{"undecodable: lost",
			func(g setting) { g.s.foundBytes("v2", []byte("{}")) },
			func(g setting) { g.s.lost() }},
		{"gone: lost",
			func(g setting) { g.s.absent() },
			func(g setting) { g.s.lost() }},
		{"no answer: read again after a pause",
			func(g setting) { g.s.unknown() },
			func(g setting) {
				g.s.uncalled(Get)
				g.s.uncalled(Swap)
				none[Revoke](g.s)
				g.s.wake()
				g.s.called(Get)
			}},
	}
	for _, outcome := range []Reply{{Err: errNoAnswer}, {Outcome: Conflict}} {
		for _, test := range tests {
			name := "no answer; "
			if outcome.Outcome == Conflict {
				name = "conflict; "
			}
			t.Run(name+test.name, func(t *testing.T) {
				s := newScript(t)
				g := setting{s: s, claimed: s.claim()}
				g.wanted = s.extend()
				s.reply(outcome)
				none[Extend](s)
				s.called(Get)
				test.show(g)
				test.check(g)
			})
		}
	}
}

// lost checks that the term ended for a reason, and that another claim is under way.
func (s *script) lost(reason ...string) {
	s.t.Helper()
	none[Extend](s)
	revoke := request[Revoke](s)
	report := request[Report](s)
	if report.What != Lost || !errors.Is(report.Err, ErrLost) || !errors.Is(revoke.Cause, ErrLost) || report.Term != 1 {
		s.t.Errorf("reported as %+v, revoked for %v", report, revoke.Cause)
	}
	for _, words := range reason {
		if !strings.HasSuffix(report.Err.Error(), words) {
			s.t.Errorf("reported as %q, want %q", report.Err, words)
		}
	}
	s.reopen()
	s.in(Probing)
	s.called(Get)
}

func TestLateReadOfAnOlderWriteIsReadAgain(t *testing.T) {
	s := newScript(t)
	first := s.claim()
	second := s.extend()
	s.swapped("v2")
	third := s.extend()
	s.unknown()
	s.found("v1", first)
	none[Revoke](s)
	s.wake()
	s.found("v2", second)
	if swap := s.called(Swap); swap.Prev != "v2" {
		t.Errorf("sent under %q", swap.Prev)
	}
	s.conflict()
	s.wake()
	s.found("v3", third)
	request[Extend](s)
	// When the acknowledged ticks are over there is nothing to keep.
	s.extend()
	s.unknown()
	s.pass(time.Second)
	s.found("v1", first)
	if cause := request[Revoke](s).Cause; !strings.HasSuffix(cause.Error(), "as it was before its last extension: the store went back") {
		t.Errorf("revoked for %v", cause)
	}
}

// TestExtensionThatAFailoverTookAwayEndsTheTermWithItsUsableTicks has a clock that
// is nine minutes ahead for one extension of a lossy store, which then loses it. The holder can't keep
// the answer to that extension.
func TestExtensionThatAFailoverTookAwayEndsTheTermWithItsUsableTicks(t *testing.T) {
	s := newScript(t, lossy, pinned)
	s.claim()
	confirming := s.confirm()
	request[Start](s)
	s.now.Wall = s.now.Wall.Add(9 * time.Minute)
	if ahead := s.extend(); ahead.Until < confirming.Until+540_000 {
		t.Fatalf("it asks for %d, with its clock nine minutes ahead", ahead.Until)
	}
	s.swapped("v3")
	s.now.Wall = s.now.Wall.Add(-9 * time.Minute)
	s.extend()
	s.conflict()
	s.found("v2", confirming)
	none[Revoke](s)
	s.wake()
	s.pass(testLayout().TimeOf(confirming.Until).Sub(s.now.Wall))
	s.found("v2", confirming)
	if cause := request[Revoke](s).Cause; !strings.HasSuffix(cause.Error(), "as it was before its last extension") {
		t.Errorf("revoked for %v", cause)
	}
	s.reopen()
}

func TestAnswerThatNobodyAwaitsChangesNothing(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.extend()
	old := s.state.awaited
	s.unknown()
	for _, outcome := range []Outcome{Swapped, Conflict, Found, Absent, Unknown} {
		before := s.state.phase
		s.do(Reply{ID: old, Outcome: outcome, Version: "late"})
		if len(s.out) > 0 || s.state.phase != before {
			t.Errorf("a late answer asks for %+v", s.out)
		}
	}
}

func TestOutcomeOfAClaimIsWhatTheRegisterShows(t *testing.T) {
	begin := func(t *testing.T) (*script, stored.Register) {
		s := newScript(t)
		s.open()
		s.found("v0", held(-10))
		_, r := s.written()
		s.unknown()
		s.called(Get)
		return s, r
	}
	t.Run("the very bytes: claimed", func(t *testing.T) {
		s, r := begin(t)
		s.found("v1", r)
		s.in(Verifying)
	})
	t.Run("the guarded version: sent again as it was", func(t *testing.T) {
		s, r := begin(t)
		s.found("v0", held(-10))
		if _, again := s.written(); again != r {
			t.Errorf("sent %+v after %+v", again, r)
		}
	})
	t.Run("anything else: another worker id", func(t *testing.T) {
		s, _ := begin(t)
		s.found("v1", held(900))
		s.in(Probing)
		none[Revoke](s)
		s.called(Get)
	})
	t.Run("undecided to the end of the claim-wait: abandoned", func(t *testing.T) {
		s, _ := begin(t)
		s.during(Claiming, func() { s.unknown() })
		s.in(Resting)
		// Its late arrival rests the worker id, and nobody issues under it.
		s.wake()
		s.reopen()
		s.in(Probing)
	})
}

func TestNamespaceIsReadAgainOnceAWindow(t *testing.T) {
	s := newScript(t)
	s.claim()
	for i := range 3 {
		s.acknowledge("v2")
		if _, reads := s.call(Get); reads != (i == 2) {
			t.Errorf("after extension %d it reads: %t", i+1, reads)
		}
	}
	other := anotherNamespace()
	s.found("n2", other)
	if revoke := request[Revoke](s); !errors.Is(revoke.Cause, stored.ErrNamespaceReplaced) {
		t.Errorf("revoked for %v", revoke.Cause)
	}
	s.in(Failed)
}

func TestExtensionDoesNotWaitForTheNamespace(t *testing.T) {
	s := newScript(t)
	s.claim()
	for range 3 {
		s.acknowledge("v2")
	}
	s.called(Get)
	s.wake()
	s.written()
}

func TestWindowThatEndedIsExtendedAtOnceButNotInAStorm(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(WindowEnded{})
	if len(s.out) > 0 {
		t.Errorf("right after the claim it asks for %+v", s.out)
	}
	s.pass(5 * time.Second) // paused
	s.do(WindowEnded{})
	s.written()
	s.do(WindowEnded{})
	if len(s.out) > 0 {
		t.Errorf("with one under way it asks for %+v", s.out)
	}
}

func TestWindowsRoundUpToWholeTicks(t *testing.T) {
	zero, coarse := int64(0), testLayout()
	coarse.Unit = time.Second
	tests := []struct {
		config Config
		want   time.Duration
	}{
		{Config{}, time.Minute},
		{Config{Worker: &zero}, 5 * time.Second},
		{Config{Window: 50 * time.Millisecond, Layout: coarse}, 4 * time.Second},
		{Config{Window: 55*time.Millisecond + 1}, 56 * time.Millisecond},
		{Config{Window: 31 * 24 * time.Hour}, 31 * 24 * time.Hour},
		{Config{Window: 900 * time.Millisecond, Loss: 299 * time.Millisecond, JournalAhead: 1}, 900 * time.Millisecond},
	}
	for _, test := range tests {
		if test.config.Layout.IsZero() {
			test.config.Layout = testLayout()
		}
		s, err := New(test.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Config(); got.Window != test.want || got.ClaimWait != got.Window || test.config.JournalAhead > 0 && got.JournalAhead != 2*time.Millisecond {
			t.Errorf("%s became %s, with a claim-wait of %s", test.config.Window, got.Window, got.ClaimWait)
		}
	}
}
