package lease

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
)

// Supply is whether ids can be issued.
type Supply uint8

// The supplies.
const (
	Unopened Supply = iota // before the first term: nothing is missing yet
	Issuing                // the term's generator issues
	Failing                // nothing is issued: a call waits for the next term or window
	Refusing               // for longer than a call would wait: it was reported; a call judges by Since and Final
)

// Outage is whether ids could be issued after the last step, and why not.
type Outage struct {
	Supply Supply
	Since  time.Duration // when the outage began, on the monotonic clock
	Reason error         // why no ids can be issued; nil if they can
	Final  bool          // it never ends
}

// Troubles are the errors so far.
type Troubles struct {
	Outages      uint64 // the reported ones
	WindowsEnded uint64 // before the next was acknowledged, however short the gap was; the term goes on after most of them
	Losses       uint64 // terms that were lost
	Unanswered   error  // the store's last error, unless a good answer has followed

	silent time.Duration // when the first request without a good answer was made, on the monotonic clock
	heard  time.Duration // when its last good answer came, on the monotonic clock

	answered bool // whether there was one
	read     bool // the last answer was a read's, which showed that the open write had no effect
	reads    bool // such a read came between the last two errors: the store takes no write
}

// Trouble is a store's failure that was reported, until the store does its part again. The zero value is none.
type Trouble struct {
	Err   error         // the last one
	Since time.Duration // when the first request that failed was made, on the monotonic clock
	Reads bool          // the store answers reads, and takes no write
}

// outage is the present [Outage] and the knowledge of its reason. It ends in the step that
// finds the generator issuing. It is reported when calls begin to be refused: at once where
// waiting can't help, otherwise after max-wait.
type outage struct {
	Outage
	Troubles
	look    time.Duration // when the generator is looked at again, on the monotonic clock
	looking bool          // whether it is
	remind  time.Duration // when a silent store is reported again, on the monotonic clock; 0 before the first time
	trouble error         // why there is no term, as far as is known
	stalled error         // why no event can be taken; see [Looked]
}

// remindEvery is how often a store that does not answer is reported, and a wait for a worker id.
const remindEvery = 10 * time.Second

// lookAgain is how often the generator's clock is looked at during an outage. Nothing else
// shows that the clock is back.
const lookAgain = time.Second

var (
	// errNoTerm is the reason of an outage without a known reason.
	errNoTerm = errors.New("no worker id is held")

	// errJournalLags means that the store's bound has ticks left, and the journal's has
	// none.
	errJournalLags = errors.New("the journal's disk does not keep up")
)

// Refusal returns why a generator with this status refuses every call, or nil.
func Refusal(layout snowfence.Layout, g snowfence.GeneratorStatus, wall time.Time) error {
	switch outside := CheckTime(layout, wall); {
	case g.Revoked != nil:
		return g.Revoked
	case outside != nil:
		return outside
	case g.ClockLost:
		return fmt.Errorf("%w: by %s", snowfence.ErrClockBehind, g.Behind)
	case g.Left == 0:
		return snowfence.ErrWindowEnded
	}
	return nil
}

// Passes reports whether a generator's refusal may end with its term, its window or its
// clock, so that a call may wait. The holder is pinned to its worker id or not.
func Passes(err error, g snowfence.GeneratorStatus, pinned bool) bool {
	switch {
	case errors.Is(err, snowfence.ErrRevoked), errors.Is(err, snowfence.ErrWindowEnded):
		return true
	case errors.Is(err, snowfence.ErrClockBehind):
		// A pool has another worker id. The holder takes it when the generator has
		// stopped, not when it merely lags.
		return !pinned && g.ClockLost
	}
	return false
}

// hear notes whether the store does its part. In a term it reports a store that does not, every remindEvery,
// and one that does again. A single quick failure does not count: a connection may have been broken.
//
// A store may answer reads and take no write: its disk is full, or a right was taken away. Then each swap
// fails, and the read after it shows that the swap had no effect. Such a read is no good answer.
func (s *State) hear(x *step, err error, undone bool) {
	o, now := &s.outage, x.now.Monotonic
	switch {
	case undone && o.Unanswered != nil:
		o.read = true
		return
	case err == nil:
		o.heard, o.answered = now, true
	case o.Unanswered == nil:
		o.silent = s.asked
	}
	if err != nil {
		o.reads, o.read = o.read && x.verb == Swap, false
	}
	single := o.Unanswered == nil && now-s.asked < time.Second
	o.Unanswered = err
	switch {
	case err == nil && o.remind > 0:
		x.out = append(x.out, Report{What: Answered, For: now - o.silent, Reads: o.reads})
		o.remind = 0
	case err != nil && !single && s.holding() && now >= o.remind:
		silent := Report{What: Silent, Err: err, For: now - o.silent, Left: s.left(x), Reads: o.reads}
		if o.answered {
			silent.Since = now - o.heard
		}
		x.out = append(x.out, silent)
		o.remind = now + remindEvery
	}
}

// left is how long ids go on without another answer of the store, by this clock.
func (s *State) left(x *step) time.Duration {
	left := x.Layout.TimeOf(s.term.usable).Sub(x.now.Wall)
	if s.term.expires > 0 {
		left = min(left, s.term.expires-x.now.Monotonic)
	}
	return max(0, left)
}

// assess judges whether ids can be issued. After a step with a request to the generator,
// [Looked] follows, and assess waits for that.
func (s *State) assess(x *step) {
	o, now := &s.outage, x.now.Monotonic
	o.looking = false
	if s.releasing || o.Supply == Unopened && !s.term.started {
		return
	}
	reason := errNoTerm
	if s.term.started {
		reason = Refusal(x.Layout, x.now.Generator, x.now.Wall)
	}
	if reason == nil {
		if o.Supply == Refusing {
			x.out = append(x.out, Report{What: Resumed, For: now - o.Since})
		}
		o.Outage, o.trouble = Outage{Supply: Issuing}, nil
		o.lookAt(x, now+x.now.Generator.Left)
		return
	}
	if o.Supply < Failing {
		o.Supply, o.Since = Failing, now
		if errors.Is(reason, snowfence.ErrWindowEnded) {
			o.WindowsEnded++
		}
	}
	o.Reason, o.Final = s.because(x, reason), s.phase == Failed
	if o.Supply == Failing {
		if refused := o.Since + s.patience(x, reason); refused > now {
			o.lookAt(x, refused)
			return
		}
		o.Supply = Refusing
		o.Outages++
		x.report(Interrupted, o.Reason)
	}
	if s.term.started {
		o.lookAt(x, now+lookAgain)
	}
}

// patience is how long a call waits for such an outage to end.
func (s *State) patience(x *step, reason error) time.Duration {
	if s.phase == Failed || s.term.started && !Passes(reason, x.now.Generator, x.Worker != nil) {
		return 0
	}
	return x.MaxWait
}

// because adds the store's or the disk's trouble to the reason of an outage.
func (s *State) because(x *step, reason error) error {
	var more error
	switch {
	case errors.Is(reason, errNoTerm) && s.outage.trouble != nil:
		return s.outage.trouble
	case !errors.Is(reason, snowfence.ErrWindowEnded):
		return reason
	case s.inJournal() && s.journal.used < s.term.usable:
		more = errJournalLags
	case s.outage.stalled != nil:
		more = s.outage.stalled
	case s.outage.Unanswered != nil:
		what, lasted := "has not answered", (x.now.Monotonic - s.outage.silent).Round(time.Second)
		if s.outage.reads {
			what = "has taken no write"
		}
		return fmt.Errorf("the store %s for %s: %w: %w", what, lasted, reason, s.outage.Unanswered)
	default:
		return reason
	}
	return fmt.Errorf("%w: %w", reason, more)
}

// lookAt sets the date of the next look at the generator.
func (o *outage) lookAt(x *step, at time.Duration) {
	o.look, o.looking = max(at, x.now.Monotonic+time.Millisecond), true
}

// answeredByLooked reports whether a request changes the generator's status.
func answeredByLooked(request Request) bool {
	switch request.(type) {
	case Start, Extend, Revoke:
		return true
	}
	return false
}
