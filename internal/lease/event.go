package lease

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Moment is all that a step knows of the world, apart from its event.
type Moment struct {
	// Wall is the wall clock. Ticks follow from it, safety does not.
	Wall time.Time
	// Monotonic is the monotonic clock. Waits are measured on it.
	Monotonic time.Duration
	// Random is fresh and unpredictable, and never repeats: nonces are made of it. A State
	// has no source of its own, because a cloned process would share it with its twin.
	Random [32]byte
	// Generator is the status of the term's generator; zero without one. After a step
	// back its own now is ahead of the wall clock. Outages and the journal's bound follow
	// from it, safety does not.
	Generator snowfence.GeneratorStatus
}

// Event is an input of a holder's state. It is one of the types below.
type Event interface{ event() }

type (
	// Started is the first event. Page is the page of an earlier process's journal, or nil.
	// It was consumed: no other process has it, or will.
	Started struct{ Page *stored.Page }

	// Reply answers a request to the store. A reply to a request that the state
	// no longer waits for changes nothing.
	Reply struct {
		ID      uint64 // the request's
		Outcome Outcome
		Entry   store.Entry   // with Found
		Version store.Version // with Swapped
		Entries []store.Entry // with Listed; with Unknown, the ones before the error
		Time    time.Time     // with Told
		Err     error         // with Unknown
	}

	// Woken means that the time of [State.Wake] has come.
	Woken struct{}

	// WindowEnded means that the generator refused a call because its window is
	// over. It hastens the extension that is due anyway.
	WindowEnded struct{}

	// Looked answers [Start], [Extend] and [Revoke]: the generator has obeyed, and the
	// moment shows its status. No other event can do without random bits. So Looked is also sent for an
	// empty list.
	Looked struct {
		Err error // why no other event can be taken now; nil if they can
	}

	// ClockLost means that the generator can't use the clock. With Stepped the clock
	// stepped forward by more than ten minutes. Without it is behind by more than
	// max-rollback.
	ClockLost struct{ Stepped bool }

	// ReleaseAsked means that the holder is to end. From here on nothing is
	// issued, whatever happens.
	ReleaseAsked struct{}

	// Drained answers [Drain]: the generator is sealed, and no id that it ever
	// issued has the tick Reserved or a later one.
	Drained struct{ Reserved snowfence.Tick }

	// Unfit means that the state can't go on with this store, for the reason Err. Nothing
	// is ever issued again.
	Unfit struct{ Err error }
)

func (Started) event()      {}
func (Reply) event()        {}
func (Woken) event()        {}
func (WindowEnded) event()  {}
func (ClockLost) event()    {}
func (ReleaseAsked) event() {}
func (Drained) event()      {}
func (Unfit) event()        {}
func (Looked) event()       {}

// Outcome is the result of a request to the store.
type Outcome uint8

// The outcomes.
const (
	Unknown  Outcome = iota // an error, or no answer in time: it may have taken effect, or still may
	Found                   // Get: the register is Entry
	Absent                  // Get: no such key
	Swapped                 // Swap: acknowledged, as Version
	Conflict                // Swap: it did not and never will take effect
	Listed                  // List: all of Entries
	Told                    // Ask: the engine's clock shows Time
)

// Request is one thing that a step asks for: one of the types below. Requests are carried
// out in their order.
type Request interface{ request() }

type (
	// Call goes to the store, and is answered by a [Reply]. At most one is awaited at any
	// time.
	Call struct {
		ID    uint64
		Verb  Verb
		Key   string        // with List the keys begin with it
		Prev  store.Version // with Swap, its guard
		Value []byte        // with Swap
	}

	// Start makes the term's one generator, which may stamp ticks in [Floor, Until).
	Start struct {
		Worker, Term int64
		Floor, Until snowfence.Tick
		Expires      time.Duration // no id is issued from this monotonic instant on; 0 for no such instant
		Compared     bool          // the clock was compared with another before the claim
		Resumed      bool          // this process goes on with the term of an earlier one
	}

	// Extend lets the generator stamp ticks below Until, before Expires, which is as in Start.
	Extend struct {
		Until   snowfence.Tick
		Expires time.Duration
	}

	// Revoke ends the generator for good: the term is lost.
	Revoke struct{ Cause error }

	// Drain ends the generator for good: the term is to be released.
	Drain struct{}

	// Report is for people.
	Report struct {
		What   Happening
		Err    error // with all but Ended, Resumed, Answered and Made
		Worker int64 // with Lost, whose term it was; with Ended, if Term is that of a page that was left
		Term   int64
		For    time.Duration // with Resumed, Silent and Answered; with Waiting until a loss is impossible, and with Ended until the page is useless
		Left   time.Duration // with Silent: for how long ids go on
		Since  time.Duration // with Silent: from the store's last good answer on
		Reads  bool          // with Silent and Answered: the store answers reads, and takes, or took, no write
	}
)

func (Call) request()   {}
func (Start) request()  {}
func (Extend) request() {}
func (Revoke) request() {}
func (Drain) request()  {}
func (Report) request() {}

// Verb is the action of a [Call].
type Verb uint8

// The verbs.
const (
	Get  Verb = iota + 1 // read a register
	Swap                 // write one
	List                 // read all registers below a prefix
	Ask                  // ask for the engine's clock
)

// Happening is the subject of a [Report].
type Happening uint8

// The happenings.
const (
	GaveUp Happening = iota + 1 // a claim failed; another is made after a pause
	Lost                        // a term with a generator ended against the holder's will
	Broken                      // nothing will ever be issued again, and why
	Ended                       // after ReleaseAsked: all is done
	Noted                       // worth a line in the log

	Interrupted // no ids are issued and calls are refused from now on, and why
	Resumed     // ids are issued again, after Interrupted

	Silent   // the store does not answer, or takes no write; ids go on for as long as the window lasts
	Answered // it does again, after Silent

	Made // the namespace: there was none of its name

	// Waiting reports why a claim waits. A *[HeldError] or an *[ExhaustedError] is reported
	// every ten seconds or so. A wait for a young write on a lossy store is reported each
	// time, with its length.
	Waiting
)
