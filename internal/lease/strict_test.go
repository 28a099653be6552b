package lease

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// strict gives a config a layout with one worker id.
func strict(c *Config) { c.Layout = strictLayout() }

func strictLayout() snowfence.Layout {
	l := testLayout()
	l.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Sequence, Bits: 12}}
	return l
}

// ofStrict makes a register one of that layout.
func ofStrict(r stored.Register) stored.Register {
	r.Layout = strictLayout().String()
	return r
}

func TestSuccessorWaitsUntilItsPredecessorHasStoppedByTheMonotonicClock(t *testing.T) {
	// The ticks of the predecessor are over by this wall clock, and that one's may be far behind.
	for name, until := range map[string]snowfence.Tick{"over for long": -400, "over now": 0, "over soon": 300} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, strict)
			s.open()
			began := s.now.Monotonic
			s.during(Probing, func() { s.found("v0", ofStrict(held(until))) })
			swap, r := s.written()
			if waited := s.now.Monotonic - began; waited < 1012*time.Millisecond || waited > 1100*time.Millisecond {
				t.Errorf("claimed after %s, want a window of 900 ms and an eighth", waited)
			}
			if swap.Prev != "v0" || r.Floor < testStart+until {
				t.Errorf("claimed under %q: %+v", swap.Prev, r)
			}
		})
	}
}

func TestSuccessorBeginsToWaitAgainWhenItsPredecessorIsSeenToWrite(t *testing.T) {
	s := newScript(t, strict, func(c *Config) { c.ClaimWait = time.Minute })
	s.open()
	s.found("v0", ofStrict(held(0)))
	for s.pass(time.Second); s.state.phase == Probing; s.wake() {
		if _, asked := s.call(Get); asked {
			break
		}
	}
	s.found("v1", ofStrict(held(0)))
	s.uncalled(Swap)
	began := s.now.Monotonic
	for s.state.phase == Probing {
		s.wake()
		s.found("v1", ofStrict(held(0)))
	}
	if waited := s.now.Monotonic - began; waited < 1012*time.Millisecond {
		t.Errorf("claimed %s after a write, want a window of 900 ms and an eighth", waited)
	}
}

func TestSuccessorOfAReleaseClaimsAtOnce(t *testing.T) {
	s := newScript(t, strict)
	s.open()
	own := ofStrict(released(20))
	own.Window = 0 // as a holder leaves it
	s.found("v0", own)
	if swap, r := s.written(); swap.Prev != "v0" || r.Floor < testStart+20 {
		t.Errorf("claimed under %q: %+v", swap.Prev, r)
	}
}

// An operator clears the holder of a register, and that one may live.
func TestSuccessorWaitsForAHolderThatAnOperatorReleased(t *testing.T) {
	s := newScript(t, strict)
	s.open()
	began := s.now.Monotonic
	s.during(Probing, func() { s.found("v0", ofStrict(released(-400))) })
	if waited := s.now.Monotonic - began; waited < 1012*time.Millisecond {
		t.Errorf("claimed after %s, want a window of 900 ms and an eighth", waited)
	}
}

func TestHolderLeavesNoWindowWhenItReleases(t *testing.T) {
	s := newScript(t, strict)
	s.claim()
	s.release(testStart)
	if _, r := s.written(); r.Holder != "" || r.Window != 0 {
		t.Errorf("%+v", r)
	}
}

func TestPatienceOfASuccessorEndsWithTheClaimWait(t *testing.T) {
	s := newScript(t, strict, func(c *Config) { c.ClaimWait = 500 * time.Millisecond })
	s.open()
	s.during(Probing, func() { s.found("v0", ofStrict(held(0))) })
	_ = reason[*HeldError](s)
}

func TestGeneratorExpiresAWindowAfterTheWriteWasSent(t *testing.T) {
	s := newScript(t, strict)
	s.open()
	s.absent()
	sent := s.now.Monotonic
	s.pass(40 * time.Millisecond)
	s.swapped("v1")
	s.found("n1", s.namespace())
	if got := request[Start](s).Expires; got != sent+900*time.Millisecond {
		t.Errorf("the claim expires %s after it was sent", got-sent)
	}
	s.wake()
	sent = s.now.Monotonic
	s.pass(60 * time.Millisecond)
	s.swapped("v2")
	if got := request[Extend](s).Expires; got != sent+900*time.Millisecond {
		t.Errorf("the extension expires %s after it was sent", got-sent)
	}
	other := newScript(t)
	other.claim()
	if got := request[Start](other).Expires; got != 0 {
		t.Errorf("with several worker ids it expires at %s", got)
	}
}

func TestConfirmedBoundExpiresAWindowAfterItsOwnWrite(t *testing.T) {
	s := newScript(t, strict, lossy)
	s.open()
	s.absent()
	sent := s.now.Monotonic
	s.swapped("v1")
	s.acknowledge("v2")
	s.found("n1", s.namespace())
	// The second write confirms the first, which no failover can take back then. A successor may see
	// the first.
	if got := request[Start](s).Expires; got != sent+900*time.Millisecond {
		t.Errorf("it expires %s after the first write was sent", got-sent)
	}
}
