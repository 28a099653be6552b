package lease

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// Phase is what a holder is doing.
type Phase uint8

// The phases. The package's comment draws how they follow each other.
const (
	Idle       Phase = iota // before Started
	Opening                 // reading the namespace's record, or creating it
	Judging                 // comparing the clock with a reference
	Probing                 // looking for a worker id that may be claimed
	Claiming                // the swap of the claim is sent; its outcome is awaited
	Verifying               // claimed; reading the namespace's record again
	Confirming              // claimed on a lossy store; waiting to know that the claim is safe
	Resuming                // a journal's term is to go on; asking the store whether it may
	Recording               // writing the journal's first page of this term
	Holding                 // a generator is issuing
	Resting                 // a claim failed; pausing before the next
	Releasing               // giving the worker id back; nothing is issued any more
	Stopped                 // the end after ReleaseAsked
	Failed                  // the end after an error that no retry mends
)

// String returns the phase's word.
func (p Phase) String() string {
	return [...]string{
		"idle", "opening", "judging", "probing", "claiming", "verifying",
		"confirming", "resuming", "recording", "holding", "resting", "releasing", "stopped", "failed",
	}[min(p, Failed)]
}

// State is all that one holder knows. It is a value: [State.Step] returns the
// next one and leaves the old one as it was, so a state can be kept, compared
// with what came of it, and forked.
type State struct {
	config *Config // never written to

	phase    Phase
	last     Moment // of the last step
	wake     time.Duration
	waking   bool
	requests uint64   // to the store so far; the last one's id
	awaited  uint64   // the id of the request that an answer is awaited to; 0 for none
	failures int      // tries in a row that failed
	noted    []string // what was noted since a write landed last; never written to in place

	namespace Namespace // zero until it was read
	glimpsed  string    // the incarnation of a record that was fleeting when it was first read
	pool      pool      // what may be claimed from it

	claimed bool // a claim was sent, at some time
	attempt attempt
	write   *write // the register's swap whose outcome is not known; never written to once set
	term    term
	journal journal
	outage  outage

	releasing bool           // ReleaseAsked came
	drained   bool           // and the generator, if there was one, is sealed
	reserved  snowfence.Tick // below which all lie that it issued
}

// term is one claim of one worker id that the store acknowledged. The zero
// term is none.
type term struct {
	look                      // the register as it was last acknowledged; its worker is the term's
	floor      snowfence.Tick // where its generator begins: above all that was stamped before
	compared   bool           // the clock was compared with another before the claim, or since
	comparing  bool           // the engine's time is asked for before the register is taken up
	inherited  bool           // an earlier process began it
	started    bool           // a generator was made
	open       *write         // an extension of the earlier process, until it is taken up
	usable     snowfence.Tick // the bound that the term may use
	pending    []bound        // acknowledged but not usable yet; never appended to in place
	sent       time.Duration  // when the last extension was first sent
	extensions uint64
}

// bound is an acknowledged until.
type bound struct {
	until snowfence.Tick
	acked time.Duration // when the acknowledgement came, on the monotonic clock
}

// New returns the state before [Started]. A *[ConfigError] or a layout's own
// error is returned for a config that can't be used.
func New(c Config) (State, error) {
	c, err := c.prepare()
	if err != nil {
		return State{}, err
	}
	return State{config: &c}, nil
}

// Step returns the state after an event and what it asks to be done.
func (s State) Step(e Event, now Moment) (State, []Request) {
	r := run{State: s, now: now}
	if looked, ok := e.(Looked); ok {
		r.outage.stalled = looked.Err
		r.assess()
		return r.State, r.out
	}
	r.outage.stalled = nil
	if s.phase != Idle && r.steppedForward() {
		r.clockLost(ClockLost{Stepped: true})
		if _, told := e.(ClockLost); told {
			e = nil // it is the same step, seen by the generator too
		}
	}
	r.last = now
	r.handle(e)
	if !slices.ContainsFunc(r.out, answeredByLooked) {
		r.assess()
	}
	return r.State, r.out
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

// Deadline returns the monotonic instant at which the claim that is under way
// ends, if one is: nothing that is asked of the store for it need be awaited
// for longer.
func (s State) Deadline() (at time.Duration, ok bool) {
	switch s.phase {
	case Opening, Judging, Probing, Claiming, Verifying, Resuming:
		return s.attempt.deadline, true
	default:
		return 0, false
	}
}

// Config returns the config, with every default filled in.
func (s State) Config() Config { return *s.config }

// View is how a holder stands.
type View struct {
	Phase Phase
	// Namespace is the record; zero until it was read.
	Namespace Namespace
	// Register is the term's, as it was last acknowledged; zero without a term.
	Register Register
	// Worker is the term's worker number.
	Worker int64
	// Usable is the bound that the term may use; zero without one. The generator
	// has it, or the journal's bound if that is lower.
	Usable snowfence.Tick
	// Kept is the journal's bound; zero while the term is in no journal.
	Kept snowfence.Tick
	// OnDisk says that a release waits for the journal, and not for the store.
	OnDisk bool
	// Inherited says that an earlier process began the term.
	Inherited bool
	// Extensions counts those of this term that were acknowledged.
	Extensions uint64
	// Unanswered is what the store answered last, if that was an error.
	Unanswered error
	// Losses counts the terms that were lost.
	Losses uint64
	// Outage is whether ids can be issued, and Outages counts those that were
	// reported. WindowsEnded counts the times at which a window ended before the
	// next was acknowledged, however short; the term goes on after most.
	Outage                Outage
	Outages, WindowsEnded uint64
}

// View returns how the holder stands.
func (s State) View() View {
	v := View{
		Phase: s.phase, Namespace: s.namespace, Register: s.term.register,
		Worker: s.term.worker, Usable: s.term.usable, Extensions: s.term.extensions,
		Inherited: s.term.inherited,
		OnDisk:    s.phase == Releasing && s.write == nil && s.journal.awaited != 0,
		Outage:    s.outage.Outage, Outages: s.outage.outages, WindowsEnded: s.outage.windows, Losses: s.outage.losses,
		Unanswered: s.outage.unanswered,
	}
	if s.inJournal() {
		v.Kept = s.journal.used
	}
	return v
}

// Rests returns which worker id rests, and until when, if nothing more is asked of
// the store: that of the term, or of a claim whose outcome is open. It counts a
// write whose outcome is open as one that takes effect, but for a release.
func (s State) Rests() (worker int64, until snowfence.Tick, rests bool) {
	if s.phase == Stopped {
		return 0, 0, false
	}
	worker, until, rests = s.term.worker, s.term.register.Until, s.term.register.Holder != ""
	w := s.write
	if w == nil || w.purpose == releasing {
		w = s.term.open
	}
	if w != nil && !w.unsent {
		worker, until, rests = w.worker, max(until, w.register.Until), true
	}
	return worker, until, rests
}

// run is one step under way. Its methods change its own copy of the state.
type run struct {
	State
	now    Moment
	out    []Request
	copied bool // the attempt's sightings are this step's own copy
}

// handle takes an event to what it means in this phase.
func (r *run) handle(e Event) {
	switch e := e.(type) {
	case Started:
		switch {
		case r.phase != Idle:
		case e.Page != nil:
			r.resume(*e.Page)
		default:
			r.open()
		}
	case Reply:
		if e.ID == r.awaited && r.awaited != 0 {
			r.awaited, r.outage.unanswered = 0, e.Err
			r.reply(e)
		}
	case Woken:
		if r.waking && r.now.Monotonic >= r.wake {
			r.waking = false
			r.woken()
		}
		if r.journal.waking && r.now.Monotonic >= r.journal.wake {
			r.journal.waking = false
			r.journalWoken()
		}
	case WindowEnded:
		r.windowEnded()
	case ClockLost:
		r.clockLost(e)
	case ReleaseAsked:
		r.releaseAsked()
	case Drained:
		if r.releasing && !r.drained {
			r.drained, r.reserved = true, e.Reserved
			r.release()
		}
	case Unfit:
		if !r.releasing && r.phase != Failed {
			r.fail(e.Err)
		}
	case Kept:
		if e.ID == r.journal.awaited && !r.journal.discarding {
			r.kept(e.Err)
		}
	case Discarded:
		if e.ID == r.journal.awaited && r.journal.discarding {
			r.discarded(e.Err)
		}
	}
}

// reply takes an answer of the store to who waits for it. A write whose
// outcome is open goes before everything else.
func (r *run) reply(e Reply) {
	if r.write != nil {
		r.settle(e)
		return
	}
	switch r.phase {
	case Opening:
		r.opened(e)
	case Judging:
		r.judged(e)
	case Probing:
		r.probed(e)
	case Verifying:
		r.verified(e)
	case Resuming:
		r.vouched(e)
	case Holding:
		if r.term.comparing {
			r.timed(e)
			return
		}
		r.reread(e)
	case Releasing:
		r.answers(e)
	default:
	}
}

// woken goes on where the phase set its timer.
func (r *run) woken() {
	if r.write != nil {
		r.read()
		return
	}
	switch r.phase {
	case Opening:
		r.readNamespace()
	case Judging:
		r.judge()
	case Probing:
		r.probe()
	case Verifying:
		r.readNamespace()
	case Holding:
		if r.term.comparing {
			r.takeUp()
			return
		}
		r.extend()
	case Confirming:
		r.extend()
	case Resting:
		r.open()
	case Resuming:
		r.goOn()
	case Releasing:
		r.release()
	default:
	}
}

// enter begins a phase. Nothing that an earlier one waited for matters in it.
func (r *run) enter(p Phase) {
	r.phase, r.waking, r.awaited = p, false, 0
}

// ask sends a request to the store, in place of one that is still awaited.
func (r *run) ask(request func(id uint64) Request) {
	r.requests++
	r.awaited, r.waking = r.requests, false
	r.out = append(r.out, request(r.requests))
}

func (r *run) get(key string) {
	r.ask(func(id uint64) Request { return Get{ID: id, Key: key} })
}

// wakeAt sets the one timer.
func (r *run) wakeAt(at time.Duration) { r.wake, r.waking = at, true }

// backOff counts a failure and waits longer after each in a row, up to a half
// more or less by chance, so that many who failed together don't return
// together.
func (r *run) backOff() {
	pause := r.config.pause(r.failures)
	r.failures++
	r.wakeAt(r.now.Monotonic + pause/2 + time.Duration(r.choice().Int64N(int64(pause)+1)))
}

func (r *run) report(what Happening, err error) {
	r.out = append(r.out, Report{What: what, Err: err})
}

// note reports what goes wrong and is tried again, with the given word about
// what happens now: each distinct text once, and only so many of them, until a
// write lands.
func (r *run) note(err error, now string) {
	text := err.Error()
	if len(r.noted) >= maxNotes || slices.Contains(r.noted, text) {
		return
	}
	r.noted = append(slices.Clone(r.noted), text)
	r.report(Noted, fmt.Errorf("%w: %s", err, now))
}

// tellWaiting reports, once in an attempt, what it waits for.
func (r *run) tellWaiting(err error) {
	if !r.attempt.waiting {
		r.attempt.waiting = true
		r.report(Waiting, err)
	}
}

// nonce is what a claim is known by.
func (r *run) nonce() string { return hex.EncodeToString(r.now.Random[:16]) }

// mark is what a write is known by.
func (r *run) mark() string { return hex.EncodeToString(r.now.Random[16:24]) }

// choice returns a source for what may be guessed.
func (r *run) choice() *rand.Rand {
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(r.now.Random[24:]), r.requests))
}

// tick is the present tick by the wall clock.
func (r *run) tick() snowfence.Tick { return r.config.Layout.TickAt(r.now.Wall) }
