package lease

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// late brings a lossy script to where an extension is acknowledged that long after
// it was sent, and returns what it asked for.
func (s *script) late(took time.Duration) stored.Register {
	s.t.Helper()
	s.claim()
	s.confirm()
	s.acknowledge("v3")
	r := s.extend()
	s.pass(took)
	s.swapped("v4")
	return r
}

func TestWhatFollowsALossyStoresReturnIsAskedForAtOnceAndUsableAfterItsLoss(t *testing.T) {
	s := newScript(t, lossy)
	stale := s.late(10 * time.Second)
	back := s.now.Monotonic
	fresh := s.extend()
	if waited := s.now.Monotonic - back; waited != 0 || fresh.Until < stale.Until+9000 {
		t.Errorf("it asks for %d after %s; what came late was %d", fresh.Until, waited, stale.Until)
	}
	s.pass(5 * time.Millisecond)
	s.swapped("v5")
	s.acknowledge("v6")
	s.grants(fresh.Until)
	if took := s.now.Monotonic - back; took != 105*time.Millisecond {
		t.Errorf("it is usable after %s, and the store can lose 100 ms", took)
	}
}

func TestTicksThatEndBeforeTheNextExtensionHastenIt(t *testing.T) {
	s := newScript(t, lossy)
	s.late(550 * time.Millisecond) // 50 ms are left of the confirmed time
	fresh := s.extend()
	s.pass(5 * time.Millisecond)
	s.swapped("v5")
	acknowledged := s.now.Monotonic
	s.extend()
	if waited := s.now.Monotonic - acknowledged; waited != 100*time.Millisecond {
		t.Errorf("the next is sent after %s, and the store can lose 100 ms", waited)
	}
	s.swapped("v6")
	s.grants(fresh.Until)
	if at, _ := s.state.Wake(); at-s.now.Monotonic != 300*time.Millisecond {
		t.Errorf("the one after is due in %s", at-s.now.Monotonic)
	}
}

func TestBoundThatIsWorthItsWaitIsNotFollowedInHaste(t *testing.T) {
	s := newScript(t, lossy)
	s.late(480 * time.Millisecond) // 320 ms will be left of it when it can be confirmed
	if at, _ := s.state.Wake(); at-s.now.Monotonic != 100*time.Millisecond {
		t.Errorf("the next is due in %s", at-s.now.Monotonic)
	}
}

func TestNothingIsHastenedAtTheHorizon(t *testing.T) {
	for name, changes := range map[string][]func(*Config){"durable": nil, "lossy": {lossy}} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, changes...)
			s.now.Wall = testLayout().TimeOf(testLayout().HorizonTick() - snowfence.Tick(500))
			s.claim()
			extensions := 0
			for begun := s.now.Monotonic; s.now.Monotonic < begun+2*time.Second && s.state.phase != Failed; extensions++ {
				s.wake()
				if s.state.term.write == nil {
					s.found("n1", testNamespace())
					continue
				}
				s.swapped("v2")
				if s.state.awaited != 0 {
					s.found("n1", testNamespace())
				}
			}
			if extensions > 20 {
				t.Errorf("%d extensions in two seconds", extensions)
			}
		})
	}
}

// A claim has nothing else to go on, so it is confirmed however late it came.
func TestLateClaimOfALossyStoreIsConfirmed(t *testing.T) {
	s := newScript(t, lossy)
	s.open()
	s.absent()
	s.pass(850 * time.Millisecond)
	s.swapped("v1")
	s.in(Confirming)
	next := s.confirm()
	request[Start](s)
	s.acknowledge("v3")
	s.grants(next.Until)
}
