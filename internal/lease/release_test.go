package lease

import (
	"bytes"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

func TestReleaseLowersUntilOnlyToWhatWasStamped(t *testing.T) {
	tests := []struct {
		name     string
		reserved snowfence.Tick // above the floor
		want     snowfence.Tick
	}{
		{"nothing was reserved", 0, 0},
		{"some ticks were reserved", 17, 17},
		{"all were", 900, 900},
		{"never below the floor", -5, 0},
		{"never above until", 1000, 900},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t)
			r := s.claim()
			s.do(ReleaseAsked{})
			request[Drain](s)
			s.uncalled(Swap)
			s.do(Drained{Reserved: r.Floor + test.reserved})
			swap, released := s.written()
			if swap.Prev != "v1" || released.Holder != "" || released.Until != r.Floor+test.want || released.Term != r.Term || released.Floor != r.Floor {
				t.Errorf("released under %q as %+v", swap.Prev, released)
			}
			s.swapped("v2")
			s.in(Stopped)
			if report := request[Report](s); report.What != Ended {
				t.Errorf("reported as %+v", report)
			}
		})
	}
}

func TestReleaseWaitsForTheOutcomeOfAnExtension(t *testing.T) {
	s := newScript(t)
	s.claim()
	wanted := s.extend()
	s.release(testStart + 3)
	s.uncalled(Swap)
	s.unknown()
	s.found("v2", wanted)
	none[Extend](s)
	if swap, r := s.written(); swap.Prev != "v2" || r.Holder != "" || r.Until != testStart+3 {
		t.Errorf("released under %q as %+v", swap.Prev, r)
	}
}

func TestUnknownReleaseIsSentAgainAsItWasAndEndsAtAnythingElse(t *testing.T) {
	s := newScript(t)
	claimed := s.claim()
	s.release(testStart + 3)
	first, _ := s.written()
	s.unknown()
	s.found("v1", claimed)
	if again := s.called(Swap); again.Prev != first.Prev || !bytes.Equal(again.Value, first.Value) {
		t.Errorf("sent again as %+v", again)
	}
	s.conflict()
	s.wake()
	s.found("v9", held(900))
	s.in(Stopped)
}

// TestNothingIsIssuedOnceAReleaseWasAsked asks for it in every phase, and then
// lets everything go well.
func TestNothingIsIssuedOnceAReleaseWasAsked(t *testing.T) {
	phases := []struct {
		name    string
		reach   func(*script)
		changes []func(*Config)
	}{
		{"opening", func(s *script) { s.do(Started{}) }, nil},
		{"judging", func(s *script) { s.open() }, []func(*Config){func(c *Config) { c.EngineClock = true }}},
		{"probing", func(s *script) { s.open() }, nil},
		{"claiming", func(s *script) { s.open(); s.absent() }, nil},
		{"claiming, undecided", func(s *script) { s.open(); s.absent(); s.unknown(); s.unknown() }, nil},
		{"verifying", func(s *script) { s.swap() }, nil},
		{"confirming", func(s *script) { s.claim() }, []func(*Config){lossy}},
		{"confirming, sent", func(s *script) { s.claim(); s.extend() }, []func(*Config){lossy}},
		{"holding", func(s *script) { s.claim() }, nil},
		{"extending", func(s *script) { s.claim(); s.extend() }, nil},
		{"extending, undecided", func(s *script) { s.claim(); s.extend(); s.unknown(); s.unknown() }, nil},
		{"resting", func(s *script) { s.now.Wall = testLayout().Horizon(); s.open() }, nil},
	}
	for _, phase := range phases {
		t.Run(phase.name, func(t *testing.T) {
			s := newScript(t, phase.changes...)
			phase.reach(s)
			s.do(ReleaseAsked{})
			for range 20 {
				none[Start](s)
				none[Extend](s)
				_, draining := find[Drain](s.out)
				switch {
				case s.state.phase == Stopped:
					return
				case draining:
					s.do(Drained{Reserved: testStart})
				case s.state.awaited == 0:
					s.wake()
				case s.reads:
					s.foundBytes("v8", s.state.term.write.Value)
				default:
					s.swapped("v8")
				}
			}
			t.Fatalf("it never stops: phase %s", s.state.phase)
		})
	}
}

func TestLossyClaimIssuesNothingBeforeItIsConfirmed(t *testing.T) {
	s := newScript(t, lossy)
	claimed := s.claim()
	none[Start](s)
	s.in(Confirming)
	at, _ := s.state.Wake()
	if wait := at - s.now.Monotonic; wait != 100*time.Millisecond {
		t.Errorf("it is confirmed after %s, and the store can lose 100 ms", wait)
	}
	if told := request[Report](s); told.What != Waiting || told.For != 100*time.Millisecond {
		t.Errorf("it reports %+v", told)
	}
	confirming := s.extend()
	none[Start](s)
	s.swapped("v2")
	none[Start](s)
	s.in(Verifying)
	s.found("n1", testNamespace())
	if start := request[Start](s); start.Until != claimed.Until || confirming.Until <= claimed.Until {
		t.Errorf("the generator gets %d; claimed %d, extended to %d", start.Until, claimed.Until, confirming.Until)
	}
	// Each bound is usable with the swap after the next.
	s.acknowledge("v3")
	s.grants(confirming.Until)
}

func TestLossyBoundIsConfirmedOnlyByASwapThatWasSentAtItsAge(t *testing.T) {
	s := newScript(t, lossy)
	s.claim()
	s.confirm() // sent when the claim is 100 ms old
	second := s.state.term.register.Until
	// The next is sent in time, but its answer takes long. It confirms the state at the time of its
	// sending.
	s.extend()
	s.pass(200 * time.Millisecond)
	s.swapped("v3")
	s.grants(second)
	term := s.state.term
	x := &step{Config: s.state.config, now: s.now}
	term.acknowledge(x, &write{register: held(99999), sent: term.pending[0].acked + 99*time.Millisecond}, "v4")
	if term.usable != second {
		t.Errorf("a swap that was sent at 99 ms of age confirmed %d", term.usable)
	}
}

func TestLossyClaimThatIsTakenAwayIssuesNothing(t *testing.T) {
	s := newScript(t, lossy)
	s.claim()
	s.extend()
	s.conflict()
	s.found("v7", held(800))
	none[Start](s)
	none[Revoke](s)
	s.reopen()
	s.in(Probing)
}

func TestLossyClaimThatIsNotConfirmedIsGivenUpWithTheClaimWait(t *testing.T) {
	s := newScript(t, lossy)
	s.claim()
	s.extend()
	for s.state.phase == Confirming {
		if s.state.awaited == 0 {
			s.wake()
		}
		s.unknown()
		none[Start](s)
	}
	s.in(Resting)
	if waited := s.now.Monotonic - time.Hour; waited > 1300*time.Millisecond {
		t.Errorf("it gave up after %s", waited)
	}
}

// TestReleaseIsOverAfterAFewLooksAtAStoreThatWasRolledBack sets the clock back
// besides, so that the term's ticks are not over for hours.
func TestReleaseIsOverAfterAFewLooksAtAStoreThatWasRolledBack(t *testing.T) {
	tests := []struct {
		name  string
		write func(*script) // until its outcome is open
	}{
		{"the release is open", func(s *script) {
			s.release(testStart + 3)
			s.called(Swap)
		}},
		{"an extension is open", func(s *script) {
			s.extend()
			s.release(testStart + 3)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, pinned)
			first := s.claim()
			s.acknowledge("v2")
			s.now.Wall = s.now.Wall.Add(-3 * time.Hour)
			test.write(s)
			begun := s.now.Monotonic
			s.conflict()
			for look := range looks {
				s.in(Releasing)
				s.uncalled(Swap)
				if look > 0 {
					s.wake()
				}
				s.found("v1", first)
			}
			s.in(Stopped)
			if report := request[Report](s); report.What != Ended {
				t.Errorf("reported as %+v", report)
			}
			if took, most := s.now.Monotonic-begun, 4*s.state.config.poll(); took > most {
				t.Errorf("it took %s, more than %s", took, most)
			}
		})
	}
}

// TestReleaseTakesAnAnswerForLateAFewTimesInARow lets each look but the last be
// at an older write, and then shows the guard, from where it counts anew.
func TestReleaseTakesAnAnswerForLateAFewTimesInARow(t *testing.T) {
	s := newScript(t)
	first := s.claim()
	second := s.extend()
	s.swapped("v2")
	s.release(testStart + 3)
	sent := s.called(Swap)
	s.conflict()
	for round := range 3 {
		if round > 0 {
			s.conflict()
			s.wake()
		}
		for range looks - 1 {
			s.found("v1", first)
			s.in(Releasing)
			s.wake()
		}
		s.found("v2", second)
		if again := s.called(Swap); again.Prev != sent.Prev || !bytes.Equal(again.Value, sent.Value) {
			t.Errorf("sent again as %+v", again)
		}
	}
	s.swapped("v3")
	s.in(Stopped)
}
