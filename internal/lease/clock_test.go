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

func engine(c *Config) { c.EngineClock = true }

func TestClaimIsJudgedByTheEnginesClockBeforeAnythingIsWritten(t *testing.T) {
	tests := []struct {
		offset time.Duration
		ok     bool
	}{
		{0, true},
		{10 * time.Minute, true},
		{-10 * time.Minute, true},
		{10*time.Minute + time.Millisecond, false},
		{-10*time.Minute - time.Millisecond, false},
	}
	for _, test := range tests {
		t.Run(test.offset.String(), func(t *testing.T) {
			s := newScript(t, engine)
			s.open()
			s.called(Ask)
			s.reply(Reply{Outcome: Told, Time: s.now.Wall.Add(-test.offset)})
			if test.ok {
				s.in(Probing)
				return
			}
			s.in(Resting)
			s.uncalled(Swap)
			if off := reason[*ClockError](s); off.Offset != test.offset {
				t.Errorf("the error is %v", off)
			}
		})
	}
}

func TestEachClaimIsJudgedAnew(t *testing.T) {
	s := newScript(t, engine)
	s.open()
	s.reply(Reply{Outcome: Told, Time: s.now.Wall})
	s.absent()
	s.swapped("v1")
	s.found("n1", testNamespace())
	s.do(ClockLost{})
	request[Revoke](s)
	s.reopen()
	s.called(Ask)
	s.in(Judging)
}

func TestForwardStepEndsTheTermAndNothingIsWrittenUnderIt(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.now.Wall = s.now.Wall.Add(10*time.Minute + time.Millisecond)
	s.wake()
	if report := request[Report](s); report.What != Lost {
		t.Errorf("reported as %+v", report)
	}
	request[Revoke](s)
	s.uncalled(Swap)
	s.reopen()
	s.uncalled(Swap)
	s.in(Judging)
}

func TestSmallStepForwardIsNoEvent(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.now.Wall = s.now.Wall.Add(10 * time.Minute)
	s.wake()
	none[Revoke](s)
	s.written()
}

func TestForwardStepDuringAClaimBeginsItAnew(t *testing.T) {
	s := newScript(t)
	s.open()
	s.absent()
	s.in(Claiming)
	s.now.Wall = s.now.Wall.Add(time.Hour)
	s.swapped("v1")
	none[Start](s)
	s.reopen()
	s.in(Judging)
}

// TestClaimAfterAForwardStepIsJudgedByThoseWhoAreAlive shows the claimant the
// registers twice, a third of the window apart.
func TestClaimAfterAForwardStepIsJudgedByThoseWhoAreAlive(t *testing.T) {
	// That register comes from the very clock that is judged.
	const ownHolder = "another holder of this program agrees, and one of others does not"
	tests := []struct {
		name    string
		offsets []time.Duration // of the claimant's clock to each that is alive
		want    Phase
	}{
		{"nobody is alive: accepted, and noted", nil, Probing},
		{"they agree", []time.Duration{0, 5 * time.Minute, -5 * time.Minute}, Probing},
		{"one is an hour behind this clock", []time.Duration{time.Hour}, Resting},
		{"one is an hour ahead of this clock", []time.Duration{-time.Hour}, Resting},
		{"one was ten minutes behind this clock when it wrote", []time.Duration{10 * time.Minute}, Probing},
		{"one was a second more behind it", []time.Duration{10*time.Minute + time.Second}, Resting},
		{"most agree", []time.Duration{0, 0, time.Hour}, Probing},
		{"most do not", []time.Duration{0, time.Hour, time.Hour}, Resting},
		{ownHolder, []time.Duration{0, time.Hour}, Resting},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t)
			s.claim()
			s.stepped()
			list := func(version store.Version) {
				s.called(List)
				dead := held(2000)
				entries := []store.Entry{entry(t, 3, dead)}
				for i, offset := range test.offsets {
					r := held(900)
					r.Clock = s.now.Wall.Add(-offset - 10*time.Millisecond)
					if test.name == ownHolder && i == 0 {
						r.Process = testProcess()
					}
					e := entry(t, int64(i), r)
					e.Version = version
					entries = append(entries, e)
				}
				s.reply(Reply{Outcome: Listed, Entries: entries})
			}
			list("v1")
			s.in(Judging)
			s.wake()
			list("v2")
			s.in(test.want)
			s.uncalled(Swap)
			var off *ClockError
			if report, _ := find[Report](s.out); test.want == Resting && !errors.As(report.Err, &off) {
				t.Errorf("reported as %+v", report)
			}
		})
	}
}

func TestHolderThatIsAloneDoesNotWatchAfterAForwardStep(t *testing.T) {
	s := newScript(t)
	mine := s.claim()
	s.stepped()
	s.reply(Reply{Outcome: Listed, Entries: []store.Entry{entry(t, 0, mine), entry(t, 1, released(5))}})
	s.in(Probing)
	s.absent()
	s.swapped("v1")
	s.found("n1", testNamespace())
	if request[Start](s).Compared {
		t.Error("it reports that its clock was compared")
	}
}

func TestPinnedClaimantIsJudgedByTheHolderThatKeepsItWaiting(t *testing.T) {
	s := newScript(t, pinned, func(c *Config) { c.ClaimWait = time.Hour })
	s.open()
	r := held(900)
	r.Clock = s.now.Wall.Add(11 * time.Minute)
	s.found("v0", r)
	s.in(Probing)
	s.wake()
	r.Clock = s.now.Wall.Add(11 * time.Minute)
	s.found("v1", r)
	s.in(Resting)
	if off := reason[*ClockError](s); off.Offset != -11*time.Minute {
		t.Errorf("the error is %v", off)
	}
}

// TestWriteThatAFailoverBringsBackSaysNothingOfClocks shows a waiting claim the write of a holder, and then,
// after a failover within the store's loss, an older one again. All clocks are right.
func TestWriteThatAFailoverBringsBackSaysNothingOfClocks(t *testing.T) {
	for name, earlier := range map[string]int64{"of the same term": 0, "of an earlier term": 1} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, pinned, lossy, func(c *Config) { c.ClaimWait = time.Hour })
			s.open()
			r := held(900_000)
			s.found("v9", r)
			s.in(Probing)
			s.wake()
			r.Term -= earlier
			r.Clock = r.Clock.Add(-time.Hour) // the holder was idle until just before
			s.found("v3", r)
			s.in(Probing)
			none[Report](s)
			s.wake()
			// The holder writes again. Its clock agrees with this one.
			r.Clock = s.now.Wall
			s.found("v10", r)
			s.in(Probing)
			if j := s.state.search.judgement; j.agree != 1 || j.disagree != 0 {
				t.Errorf("%d clocks agree, and %d disagree", j.agree, j.disagree)
			}
		})
	}
}

func TestClockBehindMakesAPoolChangeItsWorkerAndAPinnedHolderWait(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(ClockLost{})
	request[Revoke](s)
	s.reopen()
	s.in(Probing)

	s = newScript(t, pinned)
	s.claim()
	s.do(ClockLost{})
	none[Revoke](s)
	s.in(Holding)
	s.extend()
}

// TestHoldersAreLookedForInAllOfThePoolAfterAForwardStep has one holder or none in
// pools of up to a million worker ids, and steps the clock of a claimant by two hours.
func TestHoldersAreLookedForInAllOfThePoolAfterAForwardStep(t *testing.T) {
	tests := []struct {
		bits   int
		holder int64 // -1 for none
		lists  int   // at the most
		want   Phase
	}{
		{10, 1023, 2, Resting}, {10, 3, 2, Resting}, {10, -1, 2, Probing},
		{16, 0, 66, Resting}, {16, 999, 66, Resting}, {16, 1000, 66, Resting}, {16, 31_415, 66, Resting}, {16, 65_535, 66, Resting},
		{16, -1, 66, Probing}, {20, -1, 66, Probing},
	}
	for _, test := range tests {
		layout := wideLayout()
		layout.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: test.bits}, {Kind: snowfence.Sequence, Bits: 2}}
		s := newScript(t, func(c *Config) { c.Layout = layout })
		s.open()
		s.now.Wall = s.now.Wall.Add(2 * time.Hour)
		s.stepped()
		seen, version := map[string]bool{}, store.Version("v1")
		list := func() {
			prefix := s.called(List).Key
			seen[prefix] = true
			var entries []store.Entry
			if key := stored.RegisterKey("default", layout, max(0, test.holder)); test.holder >= 0 && strings.HasPrefix(key, prefix) {
				r := held(900)
				r.Layout, r.Clock = layout.String(), s.now.Wall.Add(-2*time.Hour)
				e := entry(t, 0, r)
				e.Key, e.Version = key, version
				entries = append(entries, e)
			}
			s.reply(Reply{Outcome: Listed, Entries: entries})
		}
		for s.state.phase == Judging && s.state.awaited != 0 {
			list()
			if len(seen) > test.lists {
				t.Fatalf("%+v: %d blocks are listed", test, len(seen))
			}
		}
		if s.state.phase == Judging {
			version = "v2"
			s.wake()
			list()
		}
		if s.in(test.want); test.holder < 0 && len(seen) != test.lists {
			t.Errorf("%+v: %d blocks are listed", test, len(seen))
		}
		var off *ClockError
		if report := request[Report](s); (test.want == Resting) != errors.As(report.Err, &off) {
			t.Errorf("%+v: reported as %+v", test, report)
		}
	}
}

func TestClockErrorSaysWhichWay(t *testing.T) {
	for offset, want := range map[time.Duration]string{time.Hour: "1h0m0s ahead of", -time.Hour: "1h0m0s behind"} {
		if err := (&ClockError{Offset: offset, Reference: "the store's clock"}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s reads %q", offset, err)
		}
	}
}

// stepped ends a term by a step forward, and begins another attempt.
func (s *script) stepped() {
	s.t.Helper()
	s.do(ClockLost{Stepped: true})
	s.reopen()
}
