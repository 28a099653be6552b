package trace

import (
	"fmt"
	"time"
)

// Kind is the kind of a step.
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

// String names the step, with its fields as they are.
func (s Step) String() string {
	words := [...]string{
		Remark: "notes: ", Conflict: "refuses", Claim: "claims", Extend: "extends", Release: "releases", Effect: "takes",
		Failover: "loses", Acknowledged: "receives", Read: "reads", Asked: "is asked to end", Use: "may stamp", Stamp: "stamps",
		Forget: "forgets: ", Resume: "resumes",
	}
	return fmt.Sprintf("%s %s %s%s (write %.8s, guard %.8s, version %.8s, ticks %d to %d)",
		s.Place, words[s.Kind], s.Register, s.Note, s.Write, s.Guard, s.Version, s.Floor, s.Until)
}
