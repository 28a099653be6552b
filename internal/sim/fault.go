package sim

import (
	"fmt"
	"slices"
	"time"
)

// Fault is a failure of a machine or a store at a certain time.
type Fault struct {
	At   time.Duration // when, on the plan's time
	Node int           // which machine or store, from 0; [Everywhere] means all of them
	Kind Kind
	For  time.Duration // how long or how far; see each kind
	N    int64         // how many or which, for the kinds that name N
}

// meets reports whether the fault is one of that machine, or of that store.
func (f Fault) meets(place int) bool {
	return f.Node == place || f.Node == Everywhere
}

// Everywhere is the Node of a fault of all machines, or all stores.
const Everywhere = -1

// Kind is a kind of fault.
type Kind uint8

// The kinds that a plan names.
const (
	Crash              Kind = iota + 1 // the process dies, and another starts after For
	Power                              // the machine loses its power, and perhaps unsynced changes; starts after For
	Pause                              // the process is stopped for For
	Suspend                            // the machine is stopped for For, and with it the monotonic clock
	Step                               // the wall clock steps by For
	Right                              // the wall clock is set right
	Drift                              // the wall clock runs fast by N parts per million from now on
	Slew                               // the monotonic clock runs fast by N parts per million from now on
	Leap                               // a leap second of For: the wall clock repeats it, or leaves it out if negative
	Terminate                          // the process is asked to end, and is killed after For if it has not
	TerminateExtending                 // the same while its next write is under way
	TerminateResuming                  // the same about when the next process that has a page begins to issue
	PowerKeeping                       // as Power, while its next page is being written
	PowerDiscarding                    // as Power, soon after its next page was discarded; it is cut off for For then
	CrashAfterStep                     // as Crash, after the process's N-th step
	TerminateAfterStep                 // as Terminate, after the process's N-th step
	Cut                                // the machine is cut off from the store for For
	Clone                              // the machine is copied, memory and all, and both go on; a limit
	Outage                             // the store is silent for For
	Failover                           // the store loses the writes of the last For, at most its declared loss
	Rollback                           // the store is as it was For ago; a limit
	Quarantine                         // an operator takes worker number N out of use
	Refound                            // while the next claim is under way, the store is emptied, and the namespace founded again; a limit
	Lossy                              // people find out that the store has the plan's loss; all processes start again, and know it

	NoRandom // the machine lacks random bits for For
	Glitch   // the wall clock steps by N milliseconds, and back after For

	Fork   // the borrower forks, and its child goes on beside it
	Vacate // an operator releases worker number N, whoever holds it
	Raise  // an operator raises the bound of worker number N by For, and with it the next floor

	// The kinds that a plan's weather brings.

	Lost        // a request is lost
	Silent      // a request is carried out, and its answer lost
	Late        // a request arrives up to two windows late, or much later
	Slow        // an answer arrives about when it is given up
	Repeated    // a swap takes effect and meets itself
	Stale       // a read shows an earlier write
	Damaged     // the store reports that its data can't be read
	DiskFailed  // a page can't be written, removed or taken
	DiskHung    // the disk takes long
	PageLost    // a page or its removal is lost with the power
	PageCopied  // copies of earlier files are put in the place of a page's
	PageRemoved // a file of a page is removed while in use

	kinds // one more than there are
)

// place is where a fault strikes, as a scenario writes it.
type place string

const (
	aNode     place = "node"
	aStore    place = "store"
	byWeather place = "" // not in a plan: the weather brings it
)

// manner is how a kind of fault is written: a word, where, and whether For and N follow.
type manner struct {
	word          string
	place         place
	lasts, counts bool
}

// manners returns how the kinds are written.
func manners() [kinds]manner {
	lasting := func(word string) manner { return manner{word, aNode, true, false} }
	return [kinds]manner{
		Crash: lasting("crash"), Power: lasting("power"), Pause: lasting("pause"), Suspend: lasting("suspend"),
		Step: lasting("step"), Right: {"right", aNode, false, false}, Drift: {"drift", aNode, false, true},
		Slew: {"slew", aNode, false, true}, Leap: lasting("leap"), Terminate: lasting("terminate"),
		TerminateExtending: lasting("terminate-extending"), TerminateResuming: lasting("terminate-resuming"),
		PowerKeeping: lasting("power-keeping"), PowerDiscarding: lasting("power-discarding"),
		CrashAfterStep: {"crash-after-step", aNode, true, true}, TerminateAfterStep: {"terminate-after-step", aNode, true, true},
		Cut: lasting("cut"), Clone: {"clone", aNode, false, false}, Outage: {"outage", aStore, true, false},
		Failover: {"failover", aStore, true, false}, Rollback: {"rollback", aStore, true, false},
		Quarantine: {"quarantine", aStore, false, true}, Refound: {"refound", aNode, false, false},
		Lossy: {"lossy", aStore, false, false}, NoRandom: lasting("no-random"), Glitch: {"glitch", aNode, true, true},
		Fork: {"fork", aNode, false, false}, Vacate: {"vacate", aStore, false, true}, Raise: {"raise", aStore, true, true},
		Lost: {word: "lost"}, Silent: {word: "silent"}, Late: {word: "late"}, Slow: {word: "slow"}, Repeated: {word: "repeated"},
		Stale: {word: "stale"}, Damaged: {word: "damaged"}, DiskFailed: {word: "disk-failed"}, DiskHung: {word: "disk-hung"},
		PageLost: {word: "page-lost"}, PageCopied: {word: "page-copied"}, PageRemoved: {word: "page-removed"},
	}
}

// manner returns how the kind is written; the zero manner for an unknown kind.
func (k Kind) manner() manner {
	if k >= kinds {
		return manner{}
	}
	return manners()[k]
}

// operators reports whether the kind is an operator's act on a worker id.
func (k Kind) operators() bool { return k == Quarantine || k == Vacate || k == Raise }

// takesAway reports whether the kind takes writes away from a store, or makes that known.
func (k Kind) takesAway() bool { return k == Failover || k == Lossy || k == Rollback || k == Refound }

// String returns the kind's word.
func (k Kind) String() string {
	if m := k.manner(); m.word != "" {
		return m.word
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// kindOf returns the kind of that word; 0 for any other word.
func kindOf(word string) Kind {
	all := manners()
	return Kind(max(0, slices.IndexFunc(all[:], func(m manner) bool { return m.word == word })))
}

// Kinds returns every kind of fault.
func Kinds() []Kind {
	all := make([]Kind, 0, kinds-1)
	for k := Kind(1); k < kinds; k++ {
		all = append(all, k)
	}
	return all
}
