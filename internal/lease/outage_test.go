package lease

import (
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

const errReadOnly = testError("permission denied")

// refuse lets the script's store refuse a swap and answer the read after it, until so many reports came or the
// time is over. It returns them.
func (s *script) refuse(prior interface{ Encode() ([]byte, error) }, until time.Duration, most int) (reports []Report) {
	s.t.Helper()
	for s.now.Monotonic < until && len(reports) < most {
		switch call, ok := find[Call](s.out); {
		case !ok:
			s.wake()
			continue
		case call.Verb == Swap:
			s.reply(Reply{Err: errReadOnly})
		default:
			s.found("v1", prior)
		}
		if r, ok := find[Report](s.out); ok {
			reports = append(reports, r)
		}
	}
	return reports
}

// A full disk, a right that was taken away: reads are answered, and each swap fails at once.
func TestStoreThatTakesNoWritesIsReportedThoughItAnswersReads(t *testing.T) {
	s := newScript(t)
	r := s.claim()
	s.extend()
	begun := s.now.Monotonic
	third := s.state.config.third()
	reports := s.refuse(r, begun+third, 1)
	if len(reports) != 1 || reports[0].What != Silent || !reports[0].Reads || reports[0].Err != errReadOnly || reports[0].Left < third { //nolint:errorlint // as it is
		t.Fatalf("it is reported as %+v", reports)
	}
	if trouble := s.state.View().Trouble; trouble.Err != errReadOnly || !trouble.Reads || trouble.Since != begun { //nolint:errorlint // as it is
		t.Errorf("the view shows %+v, and it began at %s", trouble, begun)
	}
	s.refuse(r, begun+900*time.Millisecond, 100)
	reason := s.state.View().Outage.Reason
	if text := reason.Error(); !strings.HasPrefix(text, "the store has taken no write for 1s: "+snowfence.ErrWindowEnded.Error()) || !strings.HasSuffix(text, errReadOnly.Error()) {
		t.Errorf("the outage's reason is %q", text)
	}
	for {
		if _, ok := s.call(Swap); ok {
			break
		}
		if _, ok := s.call(Get); ok {
			s.found("v1", r)
		} else {
			s.wake()
		}
	}
	s.swapped("v2")
	if back := request[Report](s); back.What != Answered || !back.Reads || back.For < 600*time.Millisecond {
		t.Errorf("its end is reported as %+v", back)
	}
	if trouble := s.state.View().Trouble; trouble != (Trouble{}) {
		t.Errorf("the view shows %+v", trouble)
	}
}

func TestStoreThatFallsSilentIsNoLongerSaidToAnswerReads(t *testing.T) {
	s := newScript(t)
	r := s.claim()
	s.extend()
	s.refuse(r, s.now.Monotonic+time.Second, 1)
	for s.state.View().Trouble.Reads {
		if _, ok := find[Call](s.out); ok {
			s.unknown()
		} else {
			s.wake()
		}
	}
	if trouble := s.state.View().Trouble; trouble.Err != errNoAnswer { //nolint:errorlint // as it is
		t.Errorf("the view shows %+v", trouble)
	}
}
