package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// CustomaryYears is the life where none is asked for: what 41 bits of ms provide.
const CustomaryYears = 69

// easyTick is how many ids of one worker a tick should hold. Below it a burst
// of ordinary size waits for the next tick, so such layouts rank behind.
const easyTick = 32

// narrowMiss is how much of the asked life a layout must provide to be shown
// as a near miss: 31 bits of seconds are 68.05 years, not 69.
const narrowMiss = 0.98

// units are the ticks that are weighed, finest first.
func units() []time.Duration {
	return []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}
}

// Option is a layout that is offered.
type Option struct {
	Layout snowfence.Layout `json:"layout"`
	// Widths is the layout for people, without its epoch.
	Widths string `json:"widths"`
	Capacity
	// Why says what speaks for it and what against.
	Why string `json:"why"`
}

// Offer is the answer of [For].
type Offer struct {
	// Options meet every requirement, best first.
	Options []Option `json:"options"`
	// Near misses provide everything but the whole of the asked life.
	Near []Option `json:"near"`
	// Relax is filled when there are no options: each entry is alone enough.
	Relax []Relaxation `json:"relax,omitempty"`
	// Problem says by how many bits the requirements miss, if there are no options.
	Problem string `json:"problem,omitempty"`
}

// For offers layouts that meet the requirements, counting from an epoch. Years and
// workers that ask nothing are [CustomaryYears] and one worker.
//
// Ranking: finer ticks first, as they order ids more finely, if they hold 32 ids of one
// worker; then those that hold less, the roomiest first; then variants that spend the
// spare bits of the best otherwise. The error is that of [Requirements.Validate].
func For(need Requirements, epoch time.Time) (Offer, error) {
	if err := need.Validate(); err != nil {
		return Offer{}, err
	}
	need = need.complete()
	offer := Offer{Options: []Option{}, Near: []Option{}}
	var budgets []budget
	for _, unit := range units() {
		b := need.budget(unit)
		if b.spare() >= 0 {
			budgets = append(budgets, b)
		}
		if near, ok := b.shorter(need.Years); ok {
			offer.Near = append(offer.Near, near.miss(need.Years, epoch))
		}
	}
	slices.SortStableFunc(budgets, func(a, b budget) int { return a.rank() - b.rank() })
	for _, b := range budgets {
		offer.Options = append(offer.Options, b.widest().option(epoch))
	}
	if len(budgets) > 0 {
		offer.Options = append(offer.Options, budgets[0].variants(epoch)...)
		return offer, nil
	}
	offer.Problem = need.problem()
	offer.Relax = need.relax()
	return offer, nil
}

// complete fills in what is always needed.
func (r Requirements) complete() Requirements {
	r.Years, r.Workers, r.Bits = cmp.Or(r.Years, CustomaryYears), max(r.Workers, 1), r.limit()
	return r
}

// budget is a division of an id's bits.
type budget struct {
	unit                               time.Duration
	limit                              int
	timeBits, workerBits, sequenceBits int
}

// budget is the smallest division that meets the requirements; it may exceed an id.
func (r Requirements) budget(unit time.Duration) budget {
	// One worker sustains its own rate, or its even share of all workers' where that is more.
	perTick := max(max(r.WorkerRate, r.Rate/float64(max(r.Workers, 1)))*unit.Seconds(), float64(r.Burst))
	return budget{
		unit:         unit,
		limit:        r.limit(),
		timeBits:     max(1, bitsFor(r.Years*Year.Seconds()/unit.Seconds())),
		workerBits:   bitsFor(float64(r.Workers)),
		sequenceBits: max(1, bitsFor(perTick)),
	}
}

// bitsFor is how many bits it takes to tell n things apart, a fraction counting as one.
// A rounding error above a power of two counts as that power.
func bitsFor(n float64) int {
	bits := 0
	for math.Ldexp(1+1e-12, bits) < n {
		bits++
	}
	return bits
}

func (b budget) total() int { return b.timeBits + b.workerBits + b.sequenceBits }
func (b budget) spare() int { return b.limit - b.total() }

// widest gives every spare bit to the sequence: it costs nothing, and a tick
// that holds more ids makes fewer callers wait.
func (b budget) widest() budget {
	b.sequenceBits += b.spare()
	return b
}

// rank orders budgets: fine ticks that are easy, then others by how little they hold.
func (b budget) rank() int {
	widest := b.widest()
	if widest.easy() {
		return slices.Index(units(), b.unit)
	}
	return len(units()) + MaxBits - widest.sequenceBits
}

// easy reports that a tick holds enough for ordinary bursts.
func (b budget) easy() bool { return powerOfTwo(b.sequenceBits) >= easyTick }

// shorter saves one bit of time, if that fits and narrowly misses the asked life.
func (b budget) shorter(years float64) (budget, bool) {
	b.timeBits--
	lasts := math.Ldexp(b.unit.Seconds()/Year.Seconds(), b.timeBits)
	return b.widest(), b.timeBits >= 1 && b.spare() >= 0 && lasts >= narrowMiss*years
}

// variants spend the spare bits on something other than the sequence, as long
// as a tick still holds enough for ordinary bursts.
func (b budget) variants(epoch time.Time) []Option {
	half := b.spare() / 2
	var options []Option
	for _, v := range []struct {
		time, worker int // bits more
		why          string
	}{
		{1, 0, "twice the life, for half the ids in a tick"},
		{0, half, fmt.Sprintf("spare bits shared with the workers: room for %s times as many", text.Grouped(powerOfTwo(half)))},
	} {
		other, taken := b.widest(), v.time+v.worker
		other.timeBits += v.time
		other.workerBits += v.worker
		other.sequenceBits -= taken
		if taken > 0 && taken <= b.spare() && other.easy() {
			o := other.option(epoch)
			o.Why = v.why
			options = append(options, o)
		}
	}
	return options
}

// layout is the budget as a layout.
func (b budget) layout(epoch time.Time) snowfence.Layout {
	return layoutOf(b.unit, epoch, b.timeBits, b.workerBits, b.sequenceBits)
}

// option is the budget as an offer, with the reason that its unit gives.
func (b budget) option(epoch time.Time) Option {
	l := b.layout(epoch)
	o := Option{Layout: l, Widths: Widths(l), Capacity: CapacityOf(l)}
	unit := UnitWord(b.unit)
	switch {
	case o.PerTick < easyTick:
		o.Why = fmt.Sprintf("only %d ids of a worker in %s: a burst waits", o.PerTick, article(unit))
	case b.unit >= time.Second:
		o.Why = "any burst shape; ids sort by the second, and a full second waits up to 1 s"
	case b.unit > time.Millisecond:
		o.Why = fmt.Sprintf("bursts even out over %s; ids sort by %s", unit, unit)
	default:
		o.Why = fmt.Sprintf("the finest order; a tick holds %s ids of a worker", text.Grouped(o.PerTick))
	}
	return o
}

// miss is the budget as a near miss.
func (b budget) miss(years float64, epoch time.Time) Option {
	o := b.option(epoch)
	o.Why = fmt.Sprintf("lasts %.2f years, %.2f short of %s", o.Years, years-o.Years, Years(years))
	return o
}

// article sets a unit into a phrase: "a ms", "10 ms".
func article(unit string) string {
	if unit[0] >= '0' && unit[0] <= '9' {
		return unit
	}
	return "one " + unit
}
