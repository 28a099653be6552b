package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

func TestWhoMayBeClaimed(t *testing.T) {
	foreign, other, marked := released(0), released(0), released(0)
	foreign.Incarnation = "ff112233445566778899aabbccddeeff"
	other.Layout = snowfence.DefaultLayout().String()
	marked.Quarantined = true
	tests := []struct {
		name     string
		register stored.Register
		want     stored.Standing
	}{
		{"held, now one tick before until", held(1), stored.Held},
		{"held, now at until", held(0), stored.Free},
		{"held, now after until", held(-1), stored.Free},
		{"released, until max-rollback ahead", released(100), stored.Free},
		{"released, until a tick further ahead", released(101), stored.Ahead},
		{"released, until behind", released(-5000), stored.Free},
		{"quarantined", marked, stored.Quarantined},
		{"of another incarnation", foreign, stored.Foreign},
		{"of another layout", other, stored.Foreign},
		{"released at the horizon", released(testLayout().HorizonTick() - testStart), stored.UsedUp},
		{"held to the horizon", held(testLayout().HorizonTick() - testStart), stored.UsedUp},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := testNamespace().Judge(test.register, testLayout(), testWall(), 100*time.Millisecond); got != test.want {
				t.Errorf("it is %s, not %s", got, test.want)
			}
		})
	}
}

func TestFloorIsTheGreaterOfNowAndTheGuardedUntil(t *testing.T) {
	tests := []struct {
		name         string
		register     stored.Register
		floor, until snowfence.Tick
		term         int64
	}{
		{"expired", held(-3), testStart, testStart + 900, 5},
		{"expired now", held(0), testStart, testStart + 900, 5},
		{"released ahead of this clock", released(100), testStart + 100, testStart + 1000, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t)
			s.open()
			s.found("v0", test.register)
			swap, r := s.written()
			if swap.Prev != "v0" || r.Floor != test.floor || r.Until != test.until || r.Term != test.term {
				t.Errorf("guarded by %q: %+v", swap.Prev, r)
			}
			if r.Holder == test.register.Holder || len(r.Holder) != 32 || r.Incarnation != testIncarnation || r.Layout != testLayout().String() {
				t.Errorf("the register is %+v", r)
			}
			s.swapped("v1")
			s.found("n1", testNamespace())
			if start := request[Start](s); start.Floor != test.floor || start.Until != test.until {
				t.Errorf("the generator gets %+v", start)
			}
		})
	}
}

func TestUntilNeverPassesTheHorizon(t *testing.T) {
	s := newScript(t)
	horizon := testLayout().HorizonTick()
	s.now.Wall = testLayout().TimeOf(horizon - 10)
	s.open()
	s.absent()
	if _, r := s.written(); r.Until != horizon {
		t.Errorf("until is %d, the horizon %d", r.Until, horizon)
	}
	s.swapped("v1")
	s.found("n1", testNamespace())
	s.pass(20 * time.Millisecond)
	if r := s.extend(); r.Until != horizon {
		t.Errorf("until is %d, the horizon %d", r.Until, horizon)
	}
}

func TestNothingIsClaimedOutsideTheLayoutsTime(t *testing.T) {
	for want, wall := range map[error]time.Time{
		snowfence.ErrBeforeEpoch: testLayout().Epoch.Add(-1),
		snowfence.ErrPastHorizon: testLayout().Horizon(),
	} {
		s := newScript(t)
		s.now.Wall = wall
		s.open()
		s.in(Resting)
		s.because(want)
	}
}

func TestNothingIsIssuedBeforeTheNamespaceWasReadAgain(t *testing.T) {
	s := newScript(t)
	s.swap()
	none[Start](s)
	s.in(Verifying)
	s.absent() // a store that answers late
	none[Start](s)
	s.wake()
	other := anotherNamespace()
	s.found("n2", other)
	none[Start](s)
	s.in(Failed)
	s.because(stored.ErrNamespaceReplaced)
}

func TestBusyWorkerIDMakesWayForAnother(t *testing.T) {
	unreadable := []byte(`{"format":1,"until":null}`)
	s := newScript(t)
	s.open()
	for i := range 3 {
		if get := s.called(Get); get.Key[:18] != stored.RegisterPrefix("default") {
			t.Fatalf("probe %d reads %q", i, get.Key)
		}
		s.found("v0", held(5000))
	}
	s.foundBytes("v0", unreadable)
	// Four were tried in a pool of four: time for a list, which shows a hole.
	list := s.called(List)
	entries := []store.Entry{entry(t, 0, held(5000)), entry(t, 1, held(5000)), entry(t, 3, released(5000))}
	s.reply(Reply{Outcome: Listed, Entries: entries})
	if get := s.called(Get); get.Key != stored.RegisterKey("default", testLayout(), 2) {
		t.Errorf("after listing %q it reads %q", list.Key, get.Key)
	}
	s.absent()
	s.written()
}

func entry(t *testing.T, worker int64, r stored.Register) store.Entry {
	t.Helper()
	return store.Entry{Key: stored.RegisterKey("default", testLayout(), worker), Value: encoded(t, r), Version: "v0"}
}

// listed answers a list with the registers of the workers 0, 1 and so on.
func (s *script) listed(registers ...stored.Register) {
	s.t.Helper()
	var entries []store.Entry
	for w, r := range registers {
		entries = append(entries, entry(s.t, int64(w), r))
	}
	s.reply(Reply{Outcome: Listed, Entries: entries})
}

func TestExhaustedPoolSaysWhoHoldsItUntilWhen(t *testing.T) {
	s := newScript(t)
	s.open()
	for range 4 {
		s.found("v0", held(5000))
	}
	marked := released(0)
	marked.Quarantined = true
	rounds := 0
	for s.state.phase == Probing {
		s.listed(held(8000), held(5000), released(9000), marked)
		if s.state.phase == Probing {
			s.wake()
			rounds++
		}
	}
	if waited := s.now.Monotonic - time.Hour; waited < time.Second || waited > time.Second+100*time.Millisecond {
		t.Errorf("it gave up after %s, and the claim-wait is a second", waited)
	}
	if rounds < 5 {
		t.Errorf("it looked %d times", rounds)
	}
	var exhausted *ExhaustedError
	err := request[Report](s).Err
	if !errors.As(err, &exhausted) || !errors.Is(err, ErrNoWorker) {
		t.Fatalf("the error is %v", err)
	}
	if exhausted.Workers != 4 || exhausted.Held != 2 || exhausted.Ahead != 1 || exhausted.Quarantined != 1 || exhausted.First[0].Worker != 1 ||
		exhausted.First[0].Process.Host != "host-b" || !exhausted.First[0].Until.Equal(testWall().Add(5*time.Second)) {
		t.Errorf("the error is %+v", exhausted)
	}
	// A running program tries again.
	s.wake()
	s.reopen()
	s.in(Probing)
}

func TestFullPoolIsReadThroughLessAndLessOften(t *testing.T) {
	s := newScript(t, func(c *Config) { c.Window, c.ClaimWait = time.Minute, time.Hour })
	s.open()
	for range 4 {
		s.found("v0", held(1e6))
	}
	// A rest is half as long again at the most, and half as long at the least.
	for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		s.listed(held(1e6), held(1e6), held(1e6), held(1e6))
		before := s.now.Monotonic
		s.wake()
		if rested := s.now.Monotonic - before; rested < want/2 || rested > want*3/2 {
			t.Errorf("rest %d lasts %s, want %s or a half more or less", i, rested, want)
		}
	}
}

// TestClaimWaitIsKeptToTheInstant has a full pool: the last rest is cut short, and the wait is reported
// again every ten seconds or so, as rests allow.
func TestClaimWaitIsKeptToTheInstant(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, 65 * time.Second} {
		s := newScript(t, func(c *Config) { c.Window, c.ClaimWait = time.Minute, wait })
		s.open()
		begun := s.now.Monotonic
		for range 4 {
			s.found("v0", held(1e6))
		}
		reports := 0
		for s.state.phase == Probing {
			s.listed(held(1e6), held(1e6), held(1e6), held(1e6))
			if reports += len(s.reports(Waiting)); s.state.phase == Probing {
				s.wake()
			}
		}
		if waited := s.now.Monotonic - begun; waited != wait {
			t.Errorf("it waited for %s, and the claim-wait is %s", waited, wait)
		}
		if least, most := int(wait/(25*time.Second)), int(wait/(10*time.Second)); reports < 1+least || reports > 1+most {
			t.Errorf("in %s the wait is reported %d times, want %d to %d", wait, reports, 1+least, 1+most)
		}
		if err := request[Report](s).Err; !strings.Contains(err.Error(), "raise claim-wait, release") {
			t.Errorf("the error names no way out: %v", err)
		}
	}
}

func TestExpiringWorkerIDIsClaimedWhenItsTimeComes(t *testing.T) {
	s := newScript(t)
	s.open()
	for range 4 {
		s.found("v0", held(50))
	}
	s.listed(held(5000), held(50), held(5000), held(5000))
	s.wake()
	s.listed(held(5000), held(50), held(5000), held(5000))
	s.found("v0", held(50))
	if swap, r := s.written(); swap.Key != stored.RegisterKey("default", testLayout(), 1) || r.Floor != testStart+50 {
		t.Errorf("%s is claimed from %d", swap.Key, r.Floor)
	}
}

func TestPoolOfAMillionIsNotReadAsAWhole(t *testing.T) {
	layout := testLayout()
	layout.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 20}, {Kind: snowfence.Sequence, Bits: 2}}
	s := newScript(t, func(c *Config) { c.Layout = layout })
	s.open()
	busy := held(5000)
	busy.Layout = layout.String()
	seen := map[string]bool{}
	for range luck {
		seen[s.called(Get).Key] = true
		s.found("v0", busy)
	}
	if len(seen) < luck-1 {
		t.Errorf("%d probes saw %d worker ids", luck, len(seen))
	}
	list := s.called(List)
	if digits := len(list.Key) - len(stored.RegisterPrefix("default")); digits != 4 {
		t.Errorf("it lists %q, which is not a thousand", list.Key)
	}
	s.reply(Reply{Outcome: Listed})
	s.called(Get)
	s.absent()
	s.called(Swap)
}

func TestPoolsBlocksCoverItOnce(t *testing.T) {
	layout := testLayout()
	layout.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Datacenter, Bits: 5}, {Kind: snowfence.Worker, Bits: 7}, {Kind: snowfence.Sequence, Bits: 5}}
	for _, datacenters := range [][]int64{nil, {0}, {7}, {0, 1, 2}, {3, 7, 8, 9, 31}, {7, 9}} {
		p, err := newPool("default", layout, datacenters)
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []int64{0, p.size / 2, p.size - 1} {
			seen := map[int64]bool{}
			for cursor := p.at(start); int64(len(seen)) < p.size; {
				b := p.block(cursor)
				workers := p.workers(b)
				if len(workers) == 0 || seen[workers[0]] {
					t.Fatalf("%v: block %+v repeats or is empty", datacenters, b)
				}
				for _, w := range workers {
					seen[w] = true
				}
				cursor = b.next
			}
			for i := range p.size {
				if !seen[p.at(i)] {
					t.Fatalf("%v: worker %d is in no block", datacenters, p.at(i))
				}
			}
		}
	}
}

func TestStoreThatDoesNotAnswerEndsAClaimWithTheClaimWait(t *testing.T) {
	s := newScript(t)
	s.do(Started{})
	s.during(Opening, func() { s.unknown() })
	if waited := s.now.Monotonic - time.Hour; waited < time.Second || waited > 1200*time.Millisecond {
		t.Errorf("it gave up after %s", waited)
	}
	s.because(errNoAnswer)
}
