package lease

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// step is one step under way. The machines read the world from it, and put their requests
// into it. They are values of a [State]; their methods change the step's own copy.
type step struct {
	*Config // never written to
	*line
	now    Moment
	out    []Request
	copied bool // the sightings are this step's own
}

// line is the state's one line to the store: a request whose answer is awaited, or a
// date for the next one.
type line struct {
	phase    Phase
	requests uint64        // so far; the last one's id
	awaited  uint64        // the id of the request whose answer is awaited; 0 for none
	asked    time.Duration // when the last one was made, on the monotonic clock
	verb     Verb          // of the last one
	wake     time.Duration // the date, on the monotonic clock
	waking   bool          // whether there is one
	failures int           // tries in a row that failed
	noted    []string      // the notes since the last write that landed; never written to in place
}

// enter begins a phase. What an earlier one waited for is void.
func (x *step) enter(p Phase) { x.phase, x.waking, x.awaited = p, false, 0 }

// call makes a request to the store, in place of one that is still awaited.
func (x *step) call(request Call) {
	x.requests++
	request.ID, x.awaited, x.waking, x.asked = x.requests, x.requests, false, x.now.Monotonic
	x.verb = request.Verb
	x.out = append(x.out, request)
}

func (x *step) get(key string)           { x.call(Call{Verb: Get, Key: key}) }
func (x *step) getRegister(worker int64) { x.get(stored.RegisterKey(x.Namespace, x.Layout, worker)) }
func (x *step) getNamespace()            { x.get(stored.NamespaceKey(x.Namespace)) }

func (x *step) wakeAt(at time.Duration) { x.wake, x.waking = at, true }
func (x *step) wakeIn(d time.Duration)  { x.wakeAt(x.now.Monotonic + d) }

// backOff counts a failure and waits longer after each in a row. The wait is up to a half
// more or less by chance, so that holders that failed together don't return together.
func (x *step) backOff() {
	pause := x.pause(x.failures)
	x.failures++
	x.wakeIn(x.about(pause))
}

// about is a duration, up to a half more or less by chance.
func (x *step) about(d time.Duration) time.Duration {
	return d/2 + time.Duration(x.choice().Int64N(int64(d)+1))
}

// ripen waits until the store can't lose the write any more.
func (x *step) ripen(at time.Duration, written string) {
	x.wakeAt(at)
	x.out = append(x.out, Report{
		What: Waiting, For: max(0, at-x.now.Monotonic),
		Err: fmt.Errorf("until the store can't lose %s any more", written), //nolint:err113 // what is waited for
	})
}

func (x *step) report(what Happening, err error) {
	x.out = append(x.out, Report{What: what, Err: err})
}

// note reports an error that is tried again, with a word about what happens now. It reports
// each distinct text once, and only so many of them, until a write lands.
func (x *step) note(err error, now string) {
	text := err.Error()
	if len(x.noted) >= maxNotes || slices.Contains(x.noted, text) {
		return
	}
	x.noted = append(slices.Clone(x.noted), text)
	x.report(Noted, fmt.Errorf("%w: %s", err, now))
}

// nonce identifies a claim.
func (x *step) nonce() string { return hex.EncodeToString(x.now.Random[:16]) }

// mark identifies a write.
func (x *step) mark() string { return hex.EncodeToString(x.now.Random[16:24]) }

// choice returns a random source for choices that may be guessed.
func (x *step) choice() *rand.Rand {
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(x.now.Random[24:]), x.requests))
}

// tick is the present tick by the wall clock.
func (x *step) tick() snowfence.Tick { return x.Layout.TickAt(x.now.Wall) }

// outside returns why no tick can be stamped now; nil if one can.
func (x *step) outside() error { return CheckTime(x.Layout, x.now.Wall) }

// verdict is the result of a machine. The zero verdict is none yet: the machine asked for
// something, or waits.
type verdict struct {
	what    conclusion
	err     error         // with gaveUp, failed and skipped
	look    look          // with chosen, and with missed: the register as it is now
	write   *write        // with landed and missed
	version store.Version // with landed
}

type conclusion uint8

const (
	_       conclusion = iota
	chosen             // of search: the worker id that may be claimed
	gaveUp             // the attempt to claim ended; another is made after a pause
	failed             // nothing will ever be issued again
	landed             // a write took effect
	missed             // a write did not and never will take effect
	skipped            // a claim: the register can't be read
)
