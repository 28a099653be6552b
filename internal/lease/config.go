package lease

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// Defaults and bounds.
const (
	DefaultWindow       = 60 * time.Second // of a holder that takes any worker id
	DefaultPinnedWindow = 5 * time.Second  // of a pinned one: a crash costs this long

	maxWindow = 31 * 24 * time.Hour   // keeps a slip of the pen from resting a worker id for years
	minWindow = 50 * time.Millisecond // keeps another, such as 10 for 10 s, from hundreds of requests a second
	minTicks  = 4                     // the least window, so that a third of it is one

	// leastTimeout and mostTimeout bound the default request timeout. The end of a claim
	// does not cut a request shorter than the least.
	leastTimeout = 250 * time.Millisecond
	mostTimeout  = 10 * time.Second

	// luck is how many worker ids are tried at random before the registers are
	// listed. While half of the pool is free it fails once in 256 claims.
	luck = 8

	// maxNotes is how many distinct troubles are noted before a write lands.
	maxNotes = 8

	// occupantsShown is how many occupants an error names.
	occupantsShown = 8
)

// Range is worker numbers from First to Last, both included.
type Range struct{ First, Last int64 }

// String returns the range as 0-31.
func (r Range) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Config sets which worker ids one holder may claim, and how. Package fence explains each
// field. Durations are measured on the monotonic clock, except where they become ticks.
type Config struct {
	Namespace   string // empty means [DefaultNamespace]
	Layout      snowfence.Layout
	Datacenters []int64 // that the store may issue; empty means the record's
	Datacenter  *int64  // nil means all that the store may issue
	Worker      *int64  // the worker number to claim; nil means any
	Workers     *Range  // the worker numbers that may be claimed; nil means all

	Window         time.Duration  // whole ticks, four at least; zero means [DefaultWindow] or [DefaultPinnedWindow]
	ClaimWait      time.Duration  // zero means the window and MaxRollback together
	MaxRollback    time.Duration  // how far ahead the used ticks of a released worker id may reach
	MaxWait        time.Duration  // how long a call for ids waits for the next term or window
	RequestTimeout time.Duration  // of a call; zero means a sixth of the window, from 250 ms to 10 s
	Loss           time.Duration  // how much the store can lose, less than a third of the window; zero means durable
	EngineClock    bool           // the store has a clock to judge this one by
	Process        stored.Process // written into the register

	Existing bool // a new namespace is not made: its record must be there

	// Lent is set where the claim is on behalf of a borrower; nil means that it is not.
	Lent *Lent

	// JournalAhead is how far ahead of the clock ticks are marked as used in the
	// journal, in whole ticks, at least two. Zero means: no journal.
	JournalAhead time.Duration

	ticks snowfence.Tick // the window
	ahead snowfence.Tick // JournalAhead
}

// Lent is the rest of a claim for a borrower, beside its config. The moments of its steps have the
// borrower's wall clock.
type Lent struct {
	// Known is the namespace's record. It must be there: a new one would have another incarnation, while borrowers
	// of the old one mint.
	Known stored.Namespace

	// Ahead is how far this machine's clock is ahead of the borrower's. A register must be free by both, or by the
	// engine's instead of this machine's if there is one: a borrower whose clock is ahead takes no worker id of a
	// living holder.
	Ahead time.Duration
}

// prepare fills the defaults in, or returns a *[stored.ConfigError].
func (c Config) prepare() (Config, error) {
	c.Namespace = cmp.Or(c.Namespace, stored.DefaultNamespace)
	if c.strict() && c.Worker == nil {
		c.Worker = new(int64)
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
		if c.Worker != nil {
			c.Window = DefaultPinnedWindow
		}
	}
	const notNegative = "must not be negative"
	worker, workers := *cmp.Or(c.Worker, new(int64)), c.Layout.Workers()
	if err := cmp.Or(
		stored.CheckNamespace(c.Namespace),
		c.Layout.Validate(),
		stored.RefuseIf(c.Window < minWindow || c.Window > maxWindow, "window", c.Window, fmt.Sprintf("must be from %s to %s", minWindow, maxWindow)),
		stored.RefuseIf(c.ClaimWait < 0, "claim-wait", c.ClaimWait, notNegative),
		stored.RefuseIf(c.RequestTimeout < 0, "request-timeout", c.RequestTimeout, notNegative),
		stored.RefuseIf(c.MaxRollback < 0, "max-rollback", c.MaxRollback, notNegative),
		stored.RefuseIf(worker < 0 || worker >= workers, "worker", worker, fmt.Sprintf("must be from 0 to %d", workers-1)),
		stored.CheckProcess(c.Process),
	); err != nil {
		return c, err
	}
	unit := c.Layout.Unit
	c.ticks = max(minTicks, snowfence.Tick((c.Window-1)/unit+1))
	c.Window = time.Duration(c.ticks) * unit
	if err := cmp.Or(
		Outlasts(c.Window, c.Loss),
		stored.RefuseIf(c.strict() && c.JournalAhead != 0, "journal", true, "must be off with layout "+c.Layout.String()+", which has one worker id: its order needs the store at each start"),
	); err != nil {
		return c, err
	}
	if c.JournalAhead > 0 {
		c.ahead = max(2, snowfence.Tick((c.JournalAhead-1)/unit+1))
		c.JournalAhead = time.Duration(c.ahead) * unit
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = min(max(c.Window/6, leastTimeout), mostTimeout)
	}
	if c.ClaimWait == 0 {
		c.ClaimWait = c.Window + c.MaxRollback
		if c.strict() {
			c.ClaimWait = rested(c.Window) + c.MaxRollback
		}
	}
	c.Datacenters = slices.Compact(slices.Sorted(slices.Values(c.Datacenters)))
	// A datacenter out of range is found here, not when the record was read.
	_, err := c.claims(stored.Namespace{Datacenters: c.Datacenters})
	return c, err
}

// Outlasts returns a *[stored.ConfigError] unless a window is longer than three times what
// a store can lose.
func Outlasts(window, loss time.Duration) error {
	return stored.RefuseIf(loss < 0 || loss >= window/3, "window", window, fmt.Sprintf("must be more than three times what the store can lose, %s", loss))
}

// strict reports whether one holder at a time issues ids, so that they increase in the order in which
// they are asked for, across holders. See docs/decisions on strict order.
func (c *Config) strict() bool { return c.Layout.Workers() == 1 }

// rested is for how long a register of a strict namespace has to be unchanged before it may be taken
// from a holder that did not release it. By then that holder has stopped, even if its monotonic clock
// is slower than this one by a tenth.
func rested(window time.Duration) time.Duration { return window + window/8 }

// third is when an extension is due, counted from the sending of the last.
func (c *Config) third() time.Duration { return c.Window / 3 }

// watch is how long registers are watched for a change: a third of the window, and a
// little more for late extensions. Every holder with such a window extends in that time.
// The changes of longer windows are too rare to wait for.
func (c *Config) watch() time.Duration { return min(c.third(), time.Minute) + c.poll() }

// poll is how often a waiting claim looks again, and the longest pause between two tries of
// anything. A pause can be half as long again, so a holder is back within a second of its
// store's return.
func (c *Config) poll() time.Duration {
	return min(max(c.Window/12, 10*time.Millisecond), 500*time.Millisecond)
}

// pause is the wait before the next try after that many failures in a row. It
// doubles up to poll.
func (c *Config) pause(failures int) time.Duration {
	first := c.poll() / 16
	return min(first<<min(failures, 8), c.poll())
}

// rest is the wait before a full pool is read through once more, after that
// many readings. It doubles up to a sixth of the window: a reading costs a
// request for each thousand registers, and many may be waiting.
func (c *Config) rest(rounds int) time.Duration {
	most := max(c.poll(), min(c.Window/6, 10*time.Second))
	return min(c.poll()<<min(rounds, 8), most)
}

// claims returns the worker numbers that this holder may claim from a namespace.
func (c *Config) claims(n stored.Namespace) (pool, error) {
	allowed := n.Datacenters
	if c.Datacenter != nil {
		if len(allowed) > 0 && !slices.Contains(allowed, *c.Datacenter) {
			return pool{}, stored.Refuse("datacenter", *c.Datacenter, fmt.Sprintf("must be one that this store may issue, %v", allowed))
		}
		allowed = []int64{*c.Datacenter}
	}
	p, err := newPool(c.Namespace, c.Layout, allowed)
	if err != nil {
		return p, err
	}
	if r := c.Workers; r != nil {
		if most := c.Layout.Workers() - 1; r.First < 0 || r.First > r.Last || r.Last > most {
			return pool{}, stored.Refuse("workers", r, fmt.Sprintf("must be a range within 0-%d", most))
		}
		if p = p.within(*r); p.size == 0 {
			return pool{}, stored.Refuse("workers", r, "has no worker id of a datacenter that may be used here")
		}
	}
	if c.Worker == nil {
		return p, nil
	}
	only, ok := p.only(*c.Worker)
	if !ok {
		return pool{}, stored.Refuse("worker", *c.Worker, "is in no datacenter, or not among the workers, that may be used here")
	}
	return only, nil
}
