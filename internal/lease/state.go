package lease

import (
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Phase is a holder's present activity.
type Phase uint8

// The phases. The package's comment draws how they follow each other.
const (
	Idle       Phase = iota // before Started
	Opening                 // reading the namespace's record, or creating it
	Judging                 // comparing the clock with a reference
	Probing                 // looking for a worker id that may be claimed
	Claiming                // the swap of the claim is sent; its outcome is awaited
	Confirming              // claimed on a lossy store; waiting to know that the claim is safe
	Verifying               // claimed; reading the namespace's record again
	Resuming                // a journal's term is to go on; asking the store whether it may
	Recording               // writing the journal's first page of this term
	Comparing               // issuing under a resumed term; asking the store for the time before it is extended
	Holding                 // a generator is issuing
	Resting                 // a claim failed; pausing before the next
	Releasing               // giving the worker id back; nothing is issued any more
	Stopped                 // the end after ReleaseAsked
	Failed                  // the end after an error that no retry mends
)

// String returns the phase's word.
func (p Phase) String() string {
	return [...]string{
		"idle", "opening", "judging", "probing", "claiming", "confirming",
		"verifying", "resuming", "recording", "comparing", "holding", "resting", "releasing", "stopped", "failed",
	}[min(p, Failed)]
}

// State is all that one holder knows. It is a value: [State.Step] returns the next state
// and leaves the old one as it was. So a state can be kept, compared and forked.
type State struct {
	config *Config // never written to
	last   Moment  // of the last step

	line    // to the store
	search  search
	term    term
	journal journal
	outage  outage

	releasing bool           // ReleaseAsked came
	drained   bool           // and the generator, if there was one, is sealed
	reserved  snowfence.Tick // lies above every tick that it issued
}

// New returns the state before [Started]. A *[stored.ConfigError] or a layout's own
// error is returned for a config that can't be used.
func New(c Config) (State, error) {
	c, err := c.prepare()
	if err != nil {
		return State{}, err
	}
	s := State{config: &c}
	if c.Lent != nil {
		s.search.record, s.search.recordKept, s.search.ahead = c.Lent.Known, true, c.Lent.Ahead
	}
	return s, nil
}

// Adapt returns the state, before [Started], for a store with that loss, and with or
// without a journal. A *[stored.ConfigError] is returned if the window is too short for
// the loss.
func (s State) Adapt(loss time.Duration, journal bool) (State, error) {
	c := *s.config
	if c.Loss = loss; !journal {
		c.JournalAhead, c.ahead = 0, 0
	}
	s.config = &c
	return s, Outlasts(c.Window, loss)
}

// Step returns the state after an event, and its requests.
func (s State) Step(e Event, now Moment) (State, []Request) {
	x := &step{Config: s.config, line: &s.line, now: now}
	if looked, ok := e.(Looked); ok {
		s.outage.stalled = looked.Err
		s.assess(x)
		return s, x.out
	}
	s.outage.stalled = nil
	if s.phase != Idle && steppedForward(s.last, now) {
		s.clockLost(x, ClockLost{Stepped: true})
		if _, told := e.(ClockLost); told {
			e = nil // it is the same step, seen by the generator too
		}
	}
	s.last = now
	s.handle(x, e)
	if !slices.ContainsFunc(x.out, answeredByLooked) {
		s.assess(x)
	}
	return s, x.out
}

// steppedForward reports whether the wall clock ran ahead of the monotonic one by more than
// the tolerance since the last step. A suspended machine looks the same, and is treated
// the same.
func steppedForward(last, now Moment) bool {
	return now.Wall.Sub(last.Wall)-(now.Monotonic-last.Monotonic) > stored.ClockTolerance
}

// Wake returns the monotonic instant at which [Woken] is due, if it is. Each
// step may change it.
func (s State) Wake() (at time.Duration, ok bool) {
	at = math.MaxInt64
	if s.waking {
		at = s.wake
	}
	if s.journal.waking {
		at = min(at, s.journal.wake)
	}
	if s.outage.looking {
		at = min(at, s.outage.look)
	}
	return at, at != math.MaxInt64
}

// Patience returns how long a call made now is awaited: no longer than the rest of its
// claim, but long enough for one last look.
func (s State) Patience(now time.Duration) time.Duration {
	limit := s.config.RequestTimeout
	switch s.phase {
	case Opening, Judging, Probing, Claiming, Verifying, Resuming, Comparing:
		if !s.term.started {
			limit = min(limit, max(s.search.deadline-now, leastTimeout))
		}
	}
	return limit
}

// holding reports whether there is a generator.
func (s *State) holding() bool { return s.term.started && !s.releasing }

// Config returns the config, with every default filled in.
func (s State) Config() Config { return *s.config }

// View is the visible part of a holder's state.
type View struct {
	Phase      Phase
	Namespace  stored.Namespace // the record; zero until it was read
	Register   stored.Register  // the term's, as last acknowledged; zero without a term
	Version    store.Version    // of that register
	Worker     int64            // the term's worker number
	Usable     snowfence.Tick   // the bound that the term may use; zero without one
	Kept       snowfence.Tick   // the journal's bound, which may be lower; zero while the term is in no journal
	Holding    bool             // there is a generator
	OnDisk     bool             // a release waits for the journal, and not for the store
	Inherited  bool             // an earlier process began the term
	Extensions uint64           // of this term, acknowledged
	Outage     Outage
	Trouble    Trouble // of the store
	Troubles
}

// View returns the state's view.
func (s State) View() View {
	t := &s.term
	v := View{
		Phase: s.phase, Namespace: s.search.record, Register: t.register, Version: t.version, Worker: t.worker, Usable: t.usable,
		Extensions: t.extensions, Inherited: t.inherited, Holding: s.holding(), OnDisk: s.onDisk(),
		Outage: s.outage.Outage, Troubles: s.outage.Troubles,
	}
	if s.inJournal() {
		v.Kept = s.journal.used
	}
	if o := &s.outage; o.remind > 0 {
		v.Trouble = Trouble{Err: o.Unanswered, Since: o.silent, Reads: o.reads}
	}
	return v
}

// Rests returns which worker id rests, and until when, if the holder sends no more: the
// term's, or that of a claim with an open outcome.
func (s State) Rests() (worker int64, until snowfence.Tick, rests bool) {
	if s.phase == Stopped {
		return 0, 0, false
	}
	return s.term.rests()
}
