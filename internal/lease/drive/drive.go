package drive

import (
	"errors"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
)

// Shell is the surroundings of a driver.
type Shell interface {
	// Random fills b with unpredictable bits, never the same twice. After an error events are refused;
	// see [Driver.Take].
	Random(b []byte) error

	// Request asks the store or the journal for something: [lease.Call], Keep or Discard.
	// The answer is an event, and comes later.
	Request(lease.Request)

	// Began gives the generator of a new term to the callers.
	Began(*snowfence.Generator, lease.Start)

	// Sealed reports that the generator issues no more. Every id that it issued lies below
	// the tick reserved.
	Sealed(reserved snowfence.Tick)

	// Report is for people.
	Report(lease.Report)
}

// Config has the parts of a driver.
type Config struct {
	State lease.State // before [lease.Started]

	// Step is the step function. Nil means [lease.State.Step].
	Step func(lease.State, lease.Event, lease.Moment) (lease.State, []lease.Request)

	// Of the generators; see [snowfence.GeneratorConfig].
	Policy snowfence.Policy
	Clock  snowfence.Clock
	Rand   func() uint64
}

// Driver is a lease and the generator of its term. It belongs to one goroutine.
type Driver struct {
	config Config
	shell  Shell
	state  lease.State

	generator *snowfence.Generator // the present term's; nil without one
	events    []lease.Event        // not taken yet
	clockLost *lease.ClockLost     // the last finding about the generator's clock; nil if it is well
}

// New returns a driver before its first event.
func New(config Config, shell Shell) *Driver {
	if config.Step == nil {
		config.Step = lease.State.Step
	}
	return &Driver{config: config, shell: shell, state: config.State}
}

// State returns the lease's state.
func (d *Driver) State() lease.State { return d.state }

// Generator returns the present term's generator; nil without one.
func (d *Driver) Generator() *snowfence.Generator { return d.generator }

// Wake returns the monotonic instant at which to take [lease.Woken], if there is one.
func (d *Driver) Wake() (at time.Duration, ok bool) { return d.state.Wake() }

// Take takes an event to the state, with everything that follows from it at once.
//
// Without random bits, nonces and steps are impossible. Then Take returns the error and
// keeps the events, because an answer comes only once, and so does the wish to end. They
// are taken with the next event, which should come soon. Meanwhile the term lasts to the
// end of its window.
//
// At most one event is kept that only carries the time.
func (d *Driver) Take(e lease.Event) error {
	passing, idle := false, len(d.events) == 0
	switch e.(type) {
	case lease.Woken, lease.WindowEnded:
		passing = true
		d.watch()
	}
	if idle || !passing {
		d.events = append(d.events, e)
	}
	for len(d.events) > 0 {
		now := lease.Moment{}
		if err := d.shell.Random(now.Random[:]); err != nil {
			d.step(lease.Looked{Err: err}, now)
			return err
		}
		e, d.events = d.events[0], d.events[1:]
		d.step(e, now)
	}
	return nil
}

// watch checks the clock on behalf of a generator that may be idle. Each finding is an event
// once.
func (d *Driver) watch() {
	if d.generator == nil {
		return
	}
	d.generator.CheckClock()
	status := d.generator.Status()
	finding := lease.ClockLost{Stepped: errors.Is(status.Revoked, snowfence.ErrClockStepped)}
	if !status.ClockLost {
		d.clockLost = nil
	} else if d.clockLost == nil || *d.clockLost != finding {
		d.clockLost = &finding
		d.events = append(d.events, finding)
	}
}

// step makes one step, and as many looks as follow from it.
func (d *Driver) step(e lease.Event, now lease.Moment) {
	now.Wall, now.Monotonic = d.config.Clock.Wall(), d.config.Clock.Monotonic()
	if d.generator != nil {
		now.Generator = d.generator.Status()
	}
	state, requests := d.config.Step(d.state, e, now)
	d.state = state
	looked := false
	for _, request := range requests {
		looked = d.Perform(request) || looked
	}
	if looked {
		d.step(lease.Looked{}, lease.Moment{})
	}
}

// Perform carries out a request, and reports whether it changed the generator.
func (d *Driver) Perform(request lease.Request) (changed bool) {
	switch r := request.(type) {
	case lease.Start:
		d.start(r)
	case lease.Extend:
		d.extend(r)
	case lease.Revoke:
		d.seal(r.Cause)
	case lease.Drain:
		d.events = append(d.events, lease.Drained{Reserved: d.seal(lease.ErrClosed)})
		return false
	case lease.Report:
		d.shell.Report(r)
		return false
	default:
		d.shell.Request(r)
		return false
	}
	return true
}

// start makes the generator of a new term.
func (d *Driver) start(r lease.Start) {
	config := d.state.Config()
	g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{
		Layout: config.Layout, Worker: &r.Worker, Floor: r.Floor, Until: r.Until, Expires: r.Expires,
		Policy: d.config.Policy, Clock: d.config.Clock, Rand: d.config.Rand,
	})
	if err != nil {
		// A generator accepts every request of a correct lease.
		d.events = append(d.events, lease.Unfit{Err: err})
		return
	}
	d.generator, d.clockLost = g, nil
	d.shell.Began(g, r)
}

// extend moves the end of the window. A generator that revoked itself because of its clock
// refuses, and watch finds that.
func (d *Driver) extend(r lease.Extend) {
	if d.generator == nil {
		return
	}
	if err := d.generator.ExtendWithin(r.Until, r.Expires); err != nil && !errors.Is(err, snowfence.ErrRevoked) {
		d.events = append(d.events, lease.Unfit{Err: err})
	}
	d.generator.CheckClock()
}

// seal ends the generator. Every id that it issued lies below the tick reserved.
func (d *Driver) seal(cause error) (reserved snowfence.Tick) {
	if d.generator == nil {
		return 0
	}
	reserved = d.generator.Revoke(cause)
	d.generator, d.clockLost = nil, nil
	d.shell.Sealed(reserved)
	return reserved
}

// Abandon ends the generator without a release: the worker id rests until its ticks
// are over. It is the last event.
func (d *Driver) Abandon() { d.seal(lease.ErrClosed) }
