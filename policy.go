package snowfence

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"
)

// Defaults of a [Policy]'s three durations.
const (
	DefaultMaxRollback = 5 * time.Second
	DefaultMaxBurst    = 10 * time.Millisecond
	DefaultMaxWait     = time.Second
)

// Policy sets what a [Generator] does when time and demand do not agree: when the wall clock
// steps back, and when a tick has too few ids. It has three durations where other generators
// have modes. The zero value is the default policy. Zero means the default of each duration
// too. A MaxRollback or MaxBurst of 1 ns means none.
type Policy struct {
	// MaxRollback is how far behind the generator's now the wall clock may fall while ids
	// are still issued. Beyond it the generator stops and issues nothing until the clock
	// is back. Zero means [DefaultMaxRollback]. Without WallEveryCall a millisecond is
	// always tolerated: two clocks drift apart by as much in 100 ms.
	MaxRollback time.Duration
	// MaxBurst is how far ahead of the generator's now a burst may stamp when it uses
	// ticks up. It is rounded down to whole ticks; below one tick no id is stamped ahead.
	// Zero means [DefaultMaxBurst].
	MaxBurst time.Duration
	// MaxWait is how long a call may block, whether for the next tick or for a
	// clock that stepped back. Zero means [DefaultMaxWait] or two ticks,
	// whichever is longer; anything else must be at least two ticks.
	MaxWait time.Duration
	// WallEveryCall reads the wall clock at every call and takes it for the generator's now, as
	// generators without an anchored clock do. If the clock is behind the last tick stamped by at
	// most MaxRollback, the call waits until it is there again. Otherwise the call is refused. It
	// does not notice a step forward. False means a monotonic clock that is anchored to the wall
	// clock and compared with it at least every 100 ms of activity.
	WallEveryCall bool
	// Start is where the sequence of a tick begins. Zero means [StartQuarter].
	Start SequenceStart
}

// SequenceStart is where the sequence begins in a new tick.
type SequenceStart struct {
	Rule StartRule
	// Max is the rule's bound; see each rule. It must fit the sequence.
	Max int64
}

// StartRule names a way to begin the sequence of a tick.
type StartRule uint8

const (
	// StartQuarter begins an idle tick at a random point of the sequence's lowest quarter,
	// and a tick after an overflow at 0. So skew at rest is zero, and capacity under load is full. Max
	// is not used. It is the default.
	StartQuarter StartRule = iota

	// StartZero begins every tick at 0, as Twitter's Snowflake does. Max is not used.
	StartZero

	// StartRandom begins every tick, after an overflow too, at a random point
	// in 0..Max, as Leaf and JSnowflake do with Max 99.
	StartRandom

	// StartVibration begins each idle tick one further in the cycle 0..Max than the last, and a
	// tick after an overflow at 0, as ShardingSphere does. Its documents advise a Max of 2^n - 1.
	StartVibration

	// StartCarry goes on from the last tick's sequence, and from 0 after a sequence above
	// Max, as CosId does with Max 2047.
	StartCarry
)

// String returns the rule's word: quarter, zero, random, vibration or carry.
func (r StartRule) String() string {
	words := [...]string{"quarter", "zero", "random", "vibration", "carry"}
	if int(r) >= len(words) {
		return fmt.Sprintf("StartRule(%d)", uint8(r))
	}
	return words[r]
}

// Validate returns nil if the policy can be used with a valid layout. A *[PolicyError] is
// returned when a duration is negative, a wait is shorter than two ticks, or a sequence
// start does not fit the layout's sequence.
func (p Policy) Validate(l Layout) error {
	const none = "must not be negative; none is 1ns"
	if p.MaxRollback < 0 {
		return &PolicyError{"max-rollback", p.MaxRollback.String(), none}
	}
	if p.MaxBurst < 0 {
		return &PolicyError{"max-burst", p.MaxBurst.String(), none}
	}
	if p.MaxWait != 0 && p.MaxWait < 2*l.Unit {
		return &PolicyError{"max-wait", p.MaxWait.String(), fmt.Sprintf("must be at least two ticks, %s", 2*l.Unit)}
	}
	switch p.Start.Rule {
	case StartQuarter, StartZero:
		if p.Start.Max != 0 {
			return &PolicyError{"sequence-start", fmt.Sprintf("%s with %d", p.Start.Rule, p.Start.Max), "takes no bound"}
		}
	case StartRandom, StartVibration, StartCarry:
		if largest := l.Sequences() - 1; p.Start.Max < 0 || p.Start.Max > largest {
			return &PolicyError{"sequence-start", fmt.Sprintf("%s with %d", p.Start.Rule, p.Start.Max), fmt.Sprintf("must be from 0 to %d", largest)}
		}
	default:
		return &PolicyError{"sequence-start", p.Start.Rule.String(), "is no rule"}
	}
	return nil
}

// WithDefaults returns the policy with every zero duration replaced by its default for the layout.
func (p Policy) WithDefaults(l Layout) Policy {
	p.MaxRollback = cmp.Or(p.MaxRollback, DefaultMaxRollback)
	p.MaxBurst = cmp.Or(p.MaxBurst, DefaultMaxBurst)
	p.MaxWait = cmp.Or(p.MaxWait, max(DefaultMaxWait, 2*l.Unit))
	return p
}

// enter returns the slot for a caller at the tick now: the next free one, or, in an idle tick, the
// one of the start rule. The slot is never below old: an idle tick lies above old's tick.
func (g *Generator) enter(old, now uint64) uint64 {
	if first := now << (g.seqBits & 63); old < first {
		return g.begin(old, first)
	}
	if old&g.mask == 0 && g.policy.Start.Rule == StartRandom {
		return old | g.random()
	}
	return old
}

// begin returns the first slot of an idle tick, whose slots begin at first, when old was the
// next free slot.
func (g *Generator) begin(old, first uint64) uint64 {
	switch g.policy.Start.Rule {
	case StartQuarter:
		return first | g.rand()&g.quarter
	case StartRandom:
		return first | g.random()
	case StartVibration:
		return first | g.vibrate.Load()%uint64(g.policy.Start.Max+1)
	case StartCarry:
		if sequence := old & g.mask; sequence <= uint64(g.policy.Start.Max) {
			return first | sequence
		}
	}
	return first
}

// random returns a uniform point in 0..Max.
func (g *Generator) random() uint64 {
	point, _ := bits.Mul64(g.rand(), uint64(g.policy.Start.Max)+1)
	return point
}

// run returns how many slots from slot on may be taken in one step. Under StartRandom a tick
// after an overflow does not begin at 0, so a step ends with its tick.
func (g *Generator) run(slot uint64) uint64 {
	if g.policy.Start.Rule == StartRandom {
		return g.mask + 1 - slot&g.mask
	}
	return 1<<64 - 1
}
