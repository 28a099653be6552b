package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// Plan is all that decides a run. Equal plans give equal runs.
type Plan struct {
	Claim  string        // the claim that the plan proves, in a sentence or more; empty for a drawn plan
	Seed   uint64        // decides everything random: the order of processes, the time of a message, the strikes of the weather
	Length time.Duration // how long the faults last
	Rough  bool          // nothing is owed when the faults have ended: the run is over then

	Nodes       int              // machines, 1 to 64
	Misfits     int              // how many of them, the last ones, are configured with another layout
	Borrowers   int              // how many further machines have borrowers, which the others' daemons lend to
	Founded     bool             // the namespace has its record from the start; else the first process makes it, even a misfit
	Layout      snowfence.Layout // of all nodes but the misfits
	Begin       time.Duration    // the true time at the start, counted from the layout's epoch
	Pins        int              // how many worker ids the nodes are pinned to, in turn; 0 means that they take any
	Datacenters int              // to which the nodes belong in turn; 0 means that they belong to none
	Split       bool             // each datacenter has a store of its own, which may issue it alone

	Window                         time.Duration // the lease's
	MaxRollback, MaxBurst, MaxWait time.Duration // the policy's; zero means zero, not the default; a wait is two ticks at least
	Batch                          int           // the greatest number of ids that a call asks for, at least 1

	Loss        time.Duration // the loss that the store declares and may have, below a third of the window
	EngineClock bool          // the store has a clock
	Journals    bool          // nodes keep journals
	Shared      bool          // pairs of nodes share a folder for them, with a lock that does not work

	Weather Weather       // how often messages and disks fail by chance
	Faults  []Fault       // in the order of their times
	Expect  []Expectation // the expected counts, in a scenario
}

// Weather is how often messages and disks fail by chance: a field counts out of the number that stands
// behind it. Zero leaves a fault out. A message meets one fault at most.
type Weather struct {
	Lost, Silent, Late, Slow, Damaged int // of a hundred requests
	Repeated                          int // of a hundred swaps that took effect
	Stale                             int // of a hundred reads
	Disk                              int // of a thousand writes to disks
}

// Expectation is a bound on a count of a run.
type Expectation struct {
	Name        string // a kind of fault or a count; see [Tally]
	Least, Most int64  // both inclusive
}

// Lossless returns the plan without what only the reference store can do: take writes away, and have a
// clock that shows virtual time. Its expectations go too.
func (p Plan) Lossless() Plan {
	p.Loss, p.EngineClock, p.Expect = 0, false, nil
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.Kind.takesAway() })
	return p
}

func (p *Plan) lossless() bool {
	return p.Loss == 0 && !p.EngineClock && !slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind.takesAway() })
}

// maxNodes is how many machines a plan may have.
const maxNodes = 64

// Validate returns an error if the plan can't be run.
func (p *Plan) Validate() error {
	if err := p.Layout.Validate(); err != nil {
		return err
	}
	for _, s := range slices.Concat(p.settings(), p.Weather.settings()) {
		if n := s.number(); n < s.least || n > s.most {
			return fmt.Errorf("sim: plan: %s is %s: must be from %s to %s", s.word, s.text(n), s.text(s.least), s.text(s.most))
		}
	}
	if p.Datacenters == 0 && p.Split || p.Datacenters > 0 && p.Pins > 0 {
		return fmt.Errorf("sim: plan: datacenters is %d: must be 0 beside pins, and more beside split", p.Datacenters)
	}
	for _, f := range p.Faults {
		if !p.allows(f) {
			return fmt.Errorf("sim: plan: %q can't strike", f)
		}
	}
	for _, e := range p.Expect {
		if _, ok := new(Tally).count(e.Name); !ok {
			return fmt.Errorf("sim: plan: %q is neither a count nor a kind of fault", e.Name)
		}
	}
	return nil
}

// allows reports whether the fault can strike.
func (p *Plan) allows(f Fault) bool {
	m, places := f.Kind.manner(), p.machines()
	if m.place == aStore {
		places = p.stores()
	}
	switch {
	case m.place == byWeather, f.At < 0, f.Node < Everywhere, f.Node >= places, f.For.Abs() > 2*year:
		return false
	case f.For < 0:
		return f.Kind == Step || f.Kind == Leap
	case f.Kind == Drift, f.Kind == Slew:
		return max(f.N, -f.N) <= 900_000
	case f.Kind == Failover:
		return f.For <= p.Loss
	case f.Kind.operators():
		return f.N >= 0 && f.N < p.Layout.Workers()
	}
	return f.N >= 0 || f.Kind == Glitch
}

// add adds a fault.
func (p *Plan) add(f Fault) { p.Faults = append(p.Faults, f) }

// sort puts the faults in the order of their times.
func (p *Plan) sort() {
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
}

// machines is the number of machines. The borrowers' machines are the last.
func (p *Plan) machines() int { return p.Nodes + p.Borrowers }

// stores is how many stores there are.
func (p *Plan) stores() int {
	if p.Split {
		return p.Datacenters
	}
	return 1
}

// Many things happen at a pace that follows the window, so a run with a window of hours costs as little
// as a run with a window of a fraction of a second.

// beat is the measure of that: a thirtieth of the window.
func (p *Plan) beat() time.Duration { return p.Window / 30 }

// latency is the longest that a message takes in fair weather.
func (p *Plan) latency() time.Duration { return min(p.beat()*4/5, 250*time.Millisecond) }

// timeout is how long an answer is awaited.
func (p *Plan) timeout() time.Duration { return min(4*p.beat(), 5*time.Second) }

// ahead is how far the journal's bound is moved.
func (p *Plan) ahead() time.Duration { return max(2*p.beat(), 2*p.Layout.Unit) }

// policy is the policy of the nodes' generators.
func (p *Plan) policy() snowfence.Policy {
	const none = time.Nanosecond // zero would be the default
	return snowfence.Policy{MaxRollback: max(p.MaxRollback, none), MaxBurst: max(p.MaxBurst, none), MaxWait: p.MaxWait}
}
