package trace

import (
	"fmt"
	"time"
)

// Kind is what happens in a step.
type Kind uint8

// The kinds. Behind each stands the step of the model.
const (
	Remark       Kind = iota + 1 // none: a fault, or an answer that decides nothing
	Conflict                     // none: the guard of a write does not match
	Claim                        // claims
	Extend                       // extends
	Release                      // releases
	Effect                       // Wire: takes effect
	Failover                     // Failover, as often as it takes until the register shows Version
	Acknowledged                 // is acknowledged
	Read                         // reads its write
	Asked                        // is asked to release
	Use                          // grant: the generator's floor, or 0 where it stays, and its bound
	Stamp                        // stamps, each tick from Floor to below Until
	Forget                       // crashes, or gives up
	Resume                       // none: a process goes on with a journal's page
)

// Step is one thing that a process or a store does. Fields that its kind does not need are empty.
type Step struct {
	At    time.Duration // of the run
	Kind  Kind
	Place string        // the process, or the store
	Clock time.Duration // the process's monotonic clock; with Resume, when the page's bound was acknowledged on it

	Register     string // the worker id, such as "worker 1"
	Write        string // the mark of a write; with Resume, that of the page's extension
	Guard        string // the version that the write swaps
	Version      string // that the write makes; with Failover, that the register shows; with Resume, the page's
	Floor, Until int64  // ticks; with Resume, used and usable
	Bound        int64  // with Resume, the bound of the page's extension
	Note         string // in plain words: of Remark and Forget
}

// String describes the step, without its time.
func (s Step) String() string {
	const swap = " by write %s: it swaps version %s, until %d"
	what := s.Note
	switch s.Kind {
	case Claim:
		what = fmt.Sprintf("claims %s from tick %d on"+swap, s.Register, s.Floor, s.Write, s.Guard, s.Until)
	case Extend:
		what = fmt.Sprintf("extends %s"+swap, s.Register, s.Write, s.Guard, s.Until)
	case Release:
		what = fmt.Sprintf("releases %s"+swap, s.Register, s.Write, s.Guard, s.Until)
	case Effect:
		what = fmt.Sprintf("takes write %s of %s as version %s: until is %d", s.Write, s.Register, s.Version, s.Until)
	case Conflict:
		what = fmt.Sprintf("refuses write %s of %s: it swaps version %s, and the register shows version %s", s.Write, s.Register, s.Guard, s.Version)
	case Failover:
		what = fmt.Sprintf("loses writes: %s shows version %s", s.Register, s.Version)
	case Acknowledged:
		what = fmt.Sprintf("receives the acknowledgement of write %s: it is version %s", s.Write, s.Version)
	case Read:
		what = fmt.Sprintf("reads the register: it shows write %s, as version %s", s.Write, s.Version)
	case Asked:
		what = "is asked to end: it stamps no more"
	case Use:
		what = fmt.Sprintf("may stamp ticks below %d", s.Until)
		if s.Floor != 0 {
			what = fmt.Sprintf("may stamp ticks from %d to below %d", s.Floor, s.Until)
		}
	case Stamp:
		what = fmt.Sprintf("stamps ticks %d to %d", s.Floor, s.Until-1)
	case Resume:
		what = fmt.Sprintf("goes on with its journal: version %s of %s, used %d, usable %d", s.Version, s.Register, s.Floor, s.Until)
	}
	return s.Place + " " + what
}
