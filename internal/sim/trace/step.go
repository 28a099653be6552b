package trace

import (
	"fmt"
	"strings"
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

// String describes the step for people, without its time.
func (s Step) String() string {
	const swap = " by write {write}: it swaps version {guard}, until {until}"
	text := [...]string{
		Remark:       "{note}",
		Conflict:     "refuses write {write} of {register}: it swaps version {guard}, and version {version} is there",
		Claim:        "claims {register} from tick {floor} on" + swap,
		Extend:       "extends {register}" + swap,
		Release:      "releases {register}" + swap,
		Effect:       "takes write {write} of {register} as version {version}: until is {until}",
		Failover:     "loses writes: {register} shows version {version}",
		Acknowledged: "receives the acknowledgement of write {write}: it is version {version}",
		Read:         "reads the register: it shows write {write}, as version {version}",
		Asked:        "is asked to end: it stamps no more",
		Use:          "may stamp ticks from {floor} to below {until}",
		Stamp:        "stamps ticks {floor} to {last}",
		Forget:       "{note}",
		Resume:       "goes on with its journal: version {version} of {register}, used {floor}, usable {until}",
	}[s.Kind]
	switch {
	case s.Kind == Use && s.Floor == 0:
		text = "may stamp ticks below {until}"
	case s.Kind == Stamp && s.Until == s.Floor+1:
		text = "stamps tick {floor}"
	}
	fields := strings.NewReplacer(
		"{register}", s.Register, "{write}", s.Write, "{guard}", s.Guard, "{version}", s.Version, "{note}", s.Note,
		"{floor}", fmt.Sprint(s.Floor), "{until}", fmt.Sprint(s.Until), "{last}", fmt.Sprint(s.Until-1),
	)
	return s.Place + " " + fields.Replace(text)
}
