package lease

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

func TestPinnedClaimantWaitsForAtMostClaimWait(t *testing.T) {
	s := newScript(t, pinned)
	s.open()
	s.during(Probing, func() { s.found("v0", held(5000)) })
	if waited := s.now.Monotonic - time.Hour; waited != time.Second {
		t.Errorf("it gave up after %s, and the claim-wait is a second", waited)
	}
	var busy *HeldError
	if err := request[Report](s).Err; !errors.As(err, &busy) || !errors.Is(err, ErrNoWorker) {
		t.Fatalf("the error is %v", err)
	}
	if busy.Worker != 2 || busy.Process.Host != "host-b" || !busy.Until.Equal(testWall().Add(5*time.Second)) {
		t.Errorf("the error is %+v", busy)
	}
}

func TestPinnedClaimantTakesOverWhenTheHolderReleases(t *testing.T) {
	s := newScript(t, pinned)
	s.open()
	s.found("v0", held(5000))
	s.wake()
	s.found("v1", released(20))
	if swap, r := s.written(); swap.Prev != "v1" || r.Floor < testStart+20 {
		t.Errorf("claimed under %q: %+v", swap.Prev, r)
	}
}

func TestPinnedClaimantAnHourBehindIsRefusedAtOnceAndWritesNothing(t *testing.T) {
	for name, r := range map[string]stored.Register{"held": held(900), "released": released(10)} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, pinned)
			s.now.Wall = s.now.Wall.Add(-500 * time.Second)
			r.Clock, r.Until, r.Floor = s.now.Wall.Add(time.Hour), r.Until+3_100_000, r.Floor+3_100_000
			s.open()
			s.found("v0", r)
			s.uncalled(Swap)
			s.in(Resting)
			if off := reason[*ClockError](s); off.Offset > -time.Hour || off.Offset < -time.Hour-time.Second {
				t.Errorf("the error is %v", off)
			}
		})
	}
}

func TestPinnedClaimantDoesNotWaitForWhatNeverComes(t *testing.T) {
	marked, foreign := held(900), held(900)
	marked.Quarantined = true
	foreign.Incarnation = "ff112233445566778899aabbccddeeff"
	for name, r := range map[string]stored.Register{"quarantined": marked, "foreign": foreign} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, pinned)
			s.open()
			s.found("v0", r)
			s.in(Resting)
			_ = reason[*HeldError](s)
		})
	}
}

func TestTwoHoldersOfOneProgramPinnedToOneWorkerAreToldWhenOneIsSeenToLive(t *testing.T) {
	mine := held(900)
	mine.Process = testProcess()
	s := newScript(t, pinned)
	s.open()
	s.found("v0", mine)
	s.in(Probing)
	s.wake()
	mine.Clock = s.now.Wall
	s.found("v1", mine)
	s.in(Resting)
	s.because(ErrPinnedTwice, ErrNoWorker)
	// A restarted process may have the same host and pid, but not the same start.
	mine.Process.Started = mine.Process.Started.Add(-time.Second)
	s = newScript(t, pinned)
	s.open()
	s.found("v0", mine)
	s.in(Probing)
}

// A failover within the store's loss brings the write before back, under its own version.
func TestWriteThatAFailoverBringsBackIsNotTakenForALivingTwin(t *testing.T) {
	mine := held(5000)
	mine.Process = testProcess()
	s := newScript(t, pinned, func(c *Config) { c.ClaimWait = time.Hour })
	s.open()
	s.found("v2", mine)
	s.wake()
	mine.Clock = mine.Clock.Add(-300 * time.Millisecond)
	s.found("v1", mine)
	s.in(Probing)
}

func TestPinnedHolderWaitsForItsOwnLostTermToEnd(t *testing.T) {
	s := newScript(t, pinned)
	mine := s.claim()
	s.stepped()
	s.reply(Reply{Outcome: Listed})
	s.found("v1", mine)
	s.in(Probing)
	s.pass(900 * time.Millisecond)
	s.do(Woken{})
	s.found("v1", mine)
	if swap, r := s.written(); swap.Prev != "v1" || r.Floor != mine.Until || r.Term != mine.Term+1 {
		t.Errorf("claimed under %q: %+v", swap.Prev, r)
	}
}
