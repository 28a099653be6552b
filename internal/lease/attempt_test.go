package lease

import (
	"errors"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

func TestEmptiedStoreIsNotClaimedUnderTheOldIncarnation(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.extend()
	s.unknown()
	s.absent() // the register is gone
	request[Revoke](s)
	s.in(Opening)
	for s.state.phase == Opening {
		s.absent() // and so is the record
		s.uncalled(Swap)
		if s.state.phase == Opening {
			s.wake()
		}
	}
	s.in(Resting)
	s.because(errNamespaceGone)
	// Somebody else makes it anew: that is another namespace.
	s.wake()
	other := anotherNamespace()
	s.found("n2", other)
	s.in(Failed)
}

func TestClaimGoesOnWhenTheRecordIsBack(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(ClockLost{})
	s.absent() // a late read, or a store that is being restored
	s.wake()
	s.reopen()
	s.in(Probing)
}

// TestRecordThatALossyStoreLosesVoidsTheClaim has a failover after the claim. The record is read after
// the claim's confirmation, and is missing or another one. No id was issued, so the search begins
// again.
func TestRecordThatALossyStoreLosesVoidsTheClaim(t *testing.T) {
	young, other := testNamespace(), testNamespace()
	young.Created, other.Created = testWall().Add(-10*time.Minute), testWall()
	other.Incarnation = "ff112233445566778899aabbccddeeff"
	old := young
	old.Created = young.Created.Add(-100 * time.Millisecond)
	tests := []struct {
		name    string
		record  stored.Namespace
		changes []func(*Config)
		ends    Phase // when the other record is read
	}{
		{"a young record", young, []func(*Config){lossy}, Opening},
		{"an old record, which can't be lost", old, []func(*Config){lossy}, Failed},
		{"a durable store", young, nil, Failed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, test.changes...)
			s.do(Started{})
			s.found("n1", test.record)
			s.absent()
			s.swapped("v1")
			begun := s.now.Monotonic
			if s.state.phase == Confirming {
				s.acknowledge("v2")
				if waited := s.now.Monotonic - begun; waited != 100*time.Millisecond {
					t.Errorf("the record is read %s after the claim, and the store can lose 100 ms", waited)
				}
			}
			s.in(Verifying)
			s.found("n2", other)
			none[Start](s)
			s.in(test.ends)
			if test.ends == Failed {
				return
			}
			// The next attempt is under the other record.
			s.found("n2", other)
			s.absent()
			if _, r := s.written(); r.Incarnation != other.Incarnation {
				t.Errorf("it claims under incarnation %s, not %s", r.Incarnation, other.Incarnation)
			}
			s.swapped("v1")
			s.acknowledge("v2")
			s.found("n2", other)
			request[Start](s)
		})
	}
}

// TestRecordThatALossyStoreForgetsIsWrittenAgainBeforeTheFirstID has no record at all after the claim.
func TestRecordThatALossyStoreForgetsIsWrittenAgainBeforeTheFirstID(t *testing.T) {
	young := testNamespace()
	young.Created = testWall()
	s := newScript(t, lossy)
	s.do(Started{})
	s.found("n1", young)
	s.absent()
	s.swapped("v1")
	s.acknowledge("v2")
	for s.state.phase == Verifying {
		s.absent()
		none[Start](s)
		s.wake()
	}
	s.in(Opening)
	s.absent()
	s.called(Swap)
}

func TestNamespaceWhoseDatacentersChangedIsReplaced(t *testing.T) {
	begin := testNamespace()
	begin.Datacenters = []int64{0, 1}
	changed := begin
	changed.Datacenters = []int64{0}
	tests := []struct {
		name  string
		reach func(*script)
	}{
		{"after the claim", func(s *script) { s.absent(); s.swapped("v1") }},
		{"within the term", func(s *script) {
			s.absent()
			s.swapped("v1")
			s.found("n1", begin)
			for range verifyEvery {
				s.acknowledge("v2")
			}
		}},
		{"at the next attempt", func(s *script) {
			s.absent()
			s.swapped("v1")
			s.found("n1", begin)
			s.do(ClockLost{})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t)
			s.do(Started{})
			s.found("n1", begin)
			test.reach(s)
			s.found("n2", changed)
			none[Start](s)
			s.in(Failed)
			if broken := s.reports(Broken); len(broken) != 1 || !errors.Is(broken[0].Err, stored.ErrNamespaceReplaced) {
				t.Errorf("reported as %+v", s.out)
			}
		})
	}
}

// reports returns the last step's reports of a kind.
func (s *script) reports(what Happening) []Report {
	var reports []Report
	for _, r := range s.out {
		if report, ok := r.(Report); ok && report.What == what {
			reports = append(reports, report)
		}
	}
	return reports
}

// TestLossIsReportedOfStartedTermsOnly ends terms in every way that there is
// but a release, with and without a generator.
func TestLossIsReportedOfStartedTermsOnly(t *testing.T) {
	replaced := anotherNamespace()
	late := func(s *script) {
		s.now.Wall = time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC)
		s.state.last.Wall = s.now.Wall // or the step alone would end the term
	}
	tests := []struct {
		name    string
		end     func(*script)
		started bool
		changes []func(*Config)
	}{
		{"taken over", func(s *script) { s.claim(); s.extend(); s.conflict(); s.found("v7", held(800)) }, true, nil},
		{"taken over before it was confirmed", func(s *script) { s.claim(); s.extend(); s.conflict(); s.found("v7", held(800)) }, false, []func(*Config){lossy}},
		{"the clock stepped", func(s *script) { s.claim(); s.do(ClockLost{Stepped: true}) }, true, nil},
		{"the clock stepped before it was confirmed", func(s *script) { s.claim(); s.do(ClockLost{Stepped: true}) }, false, []func(*Config){lossy}},
		{"the clock stepped before the record was read", func(s *script) { s.swap(); s.do(ClockLost{Stepped: true}) }, false, nil},
		{"the namespace was replaced", func(s *script) {
			s.claim()
			for range verifyEvery {
				s.acknowledge("v2")
			}
			s.found("n2", replaced)
		}, true, nil},
		{"the namespace was replaced before the first id", func(s *script) { s.swap(); s.found("n2", replaced) }, false, nil},
		{"the extension can't be written down", func(s *script) { s.claim(); late(s); s.wake() }, true, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, test.changes...)
			test.end(s)
			_, revoked := find[Revoke](s.out)
			if lost := s.reports(Lost); revoked != test.started || (len(lost) == 1) != test.started {
				t.Errorf("revoked %t, and the losses are %+v", revoked, lost)
			}
			if s.state.term.register.Holder != "" {
				t.Errorf("the term goes on: %+v", s.state.term)
			}
			if _, told := find[Report](s.out); !told {
				t.Error("nothing is reported")
			}
		})
	}
}

// TestTermIsRevokedBeforeItsLossIsReported looks at the order of requests: every id of a term comes
// before the report of its loss, because a revoked generator refuses.
func TestTermIsRevokedBeforeItsLossIsReported(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(ClockLost{Stepped: true})
	revoked := slices.IndexFunc(s.out, func(r Request) bool { _, ok := r.(Revoke); return ok })
	lost := slices.IndexFunc(s.out, func(r Request) bool { report, ok := r.(Report); return ok && report.What == Lost })
	if revoked < 0 || lost < revoked {
		t.Errorf("it asks for %+v", s.out)
	}
}

func TestReleaseThatCanNotBeWrittenDownEnds(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(ReleaseAsked{})
	s.now.Wall = time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC)
	s.do(Drained{Reserved: testStart})
	s.in(Stopped)
	if len(s.reports(Ended)) != 1 {
		t.Errorf("reported as %+v", s.out)
	}
}

// wideLayout has a thousand and more workers.
func wideLayout() snowfence.Layout {
	l := testLayout()
	l.Fields = []snowfence.Field{{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 10}, {Kind: snowfence.Sequence, Bits: 12}}
	return l
}

// TestIdleRegistersDoNotHideTheLiving puts many abandoned registers before a few that are alive, and
// steps the clock of the claimant.
func TestIdleRegistersDoNotHideTheLiving(t *testing.T) {
	layout, step := wideLayout(), 5*24*time.Hour
	for _, idle := range []int{10, 100, 980} {
		s := newScript(t, func(c *Config) { c.Layout = layout })
		s.claim()
		s.now.Wall = s.now.Wall.Add(step)
		s.stepped()
		list := func(version store.Version) {
			var entries []store.Entry
			for i := range idle + 20 {
				r, at := released(-100), store.Version("old")
				if i >= idle {
					r, at = held(900), version
					r.Clock = s.now.Wall.Add(-step)
				}
				r.Layout = layout.String()
				e := entry(t, 0, r)
				e.Key, e.Version = stored.RegisterKey("default", layout, int64(i)), at
				entries = append(entries, e)
			}
			s.reply(Reply{Outcome: Listed, Entries: entries})
		}
		list("v1")
		s.in(Judging)
		s.wake()
		list("v2")
		s.in(Resting)
		if off := reason[*ClockError](s); off.Offset < step {
			t.Errorf("behind %d idle registers: %v", idle, off)
		}
	}
}

func TestJudgingEndsBesideForeignRegisters(t *testing.T) {
	foreign := held(900)
	foreign.Incarnation = "ff112233445566778899aabbccddeeff"
	s := newScript(t)
	mine := s.claim()
	s.stepped()
	begun := s.now.Monotonic
	entries := []store.Entry{entry(t, 0, mine), entry(t, 1, foreign)}
	s.reply(Reply{Outcome: Listed, Entries: entries})
	s.in(Judging)
	s.wake()
	s.reply(Reply{Outcome: Listed, Entries: entries})
	s.in(Probing)
	if watched := s.now.Monotonic - begun; watched != s.state.config.watch() {
		t.Errorf("it watched for %s", watched)
	}
}

func TestForwardStepWhileOpeningIsJudgedWithCare(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.do(ClockLost{})
	s.now.Wall = s.now.Wall.Add(time.Hour)
	s.reopen() // the step is noticed with this answer, which is void then
	s.reopen()
	s.in(Judging)
	s.called(List)
}

// TestPinnedClaimantOutwaitsWhatItsProgramLeftBehind shows the claimant the
// register of another holder of its program, whose end was cut short: nobody
// extends it.
func TestPinnedClaimantOutwaitsWhatItsProgramLeftBehind(t *testing.T) {
	left := held(900)
	left.Process = testProcess()
	s := newScript(t, pinned)
	s.open()
	for s.found("v0", left); s.state.phase == Probing; s.found("v0", left) {
		s.wake()
	}
	s.in(Claiming)
	if _, r := s.written(); r.Floor != left.Until {
		t.Errorf("it is claimed from %d, and the ticks left behind end at %d", r.Floor, left.Until)
	}

	// If they do not end within the claim-wait, the reason is given.
	left = held(5000)
	left.Process = testProcess()
	s = newScript(t, pinned)
	s.open()
	for s.found("v0", left); s.state.phase == Probing; s.found("v0", left) {
		s.wake()
	}
	s.in(Resting)
	if waited := s.now.Monotonic - time.Hour; waited != time.Second {
		t.Errorf("it gave up after %s, and the claim-wait is a second", waited)
	}
	s.because(ErrPinnedTwice, ErrNoWorker)
}

func TestWindowThatEndedIsConfirmedAsSoonAsItCanBe(t *testing.T) {
	s := newScript(t, lossy)
	s.claim()
	s.confirm()
	s.now.Wall = s.now.Wall.Add(5 * time.Second) // suspended
	s.pass(99 * time.Millisecond)
	s.do(WindowEnded{})
	s.uncalled(Swap)
	s.pass(time.Millisecond)
	s.do(WindowEnded{})
	s.written()
}

// TestExtensionThatTookEffectTooLateIsFollowedAtOnce suspends the machine while
// an extension is under way. Its bound has passed when it is acknowledged.
func TestExtensionThatTookEffectTooLateIsFollowedAtOnce(t *testing.T) {
	s := newScript(t)
	s.claim()
	s.extend()
	s.now.Wall = s.now.Wall.Add(time.Minute)
	s.pass(time.Millisecond)
	s.swapped("v2")
	begun := s.now.Monotonic
	s.wake()
	if _, r := s.written(); s.now.Monotonic-begun > 10*time.Millisecond || r.Until <= testStart+60_000 {
		t.Errorf("after %s it asks for %d", s.now.Monotonic-begun, r.Until-testStart)
	}
	// At the horizon there is nothing to be had by it.
	s = newScript(t)
	s.now.Wall = testLayout().Horizon().Add(-350 * time.Millisecond)
	s.claim()
	s.extend()
	s.pass(60 * time.Millisecond)
	s.swapped("v2")
	if at, _ := s.state.Wake(); at-s.now.Monotonic != 240*time.Millisecond {
		t.Errorf("it looks again in %s", at-s.now.Monotonic)
	}
}
