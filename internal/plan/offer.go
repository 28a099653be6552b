package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// easyTick is how many ids of one worker a tick should hold. Below it a burst
// of ordinary size waits for the next tick, so such layouts rank behind.
const easyTick = 32

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
}

// Offer is the answer of [For].
type Offer struct {
	// Options meet every requirement, best first.
	Options []Option `json:"options"`
	// Problem shows by how many bits the requirements miss, if there are no options.
	Problem string `json:"problem,omitempty"`

	// Need is the requirements met by the options, with the defaults of [For].
	Need Requirements `json:"-"`
	// Misfits are the units that have no option, each with its narrowest layout.
	Misfits []Misfit `json:"-"`
}

// Misfit is a layout that misses a requirement.
type Misfit struct {
	Name   string // a unit of time
	Layout snowfence.Layout
	Why    string
}

// For offers layouts that meet the requirements, counting from an epoch: one for each unit.
// Years and workers that ask nothing are [CustomaryYears] and one worker.
//
// Ranking: ticks that hold 32 ids of one worker come first, the finest of them at the top, because
// they order ids best. Ticks that hold fewer follow, the roomiest at the top. For returns the error
// of [Requirements.Validate].
func For(need Requirements, epoch time.Time) (Offer, error) {
	if err := need.Validate(); err != nil {
		return Offer{}, err
	}
	need.Years, need.Workers = cmp.Or(need.Years, CustomaryYears), max(need.Workers, 1)
	offer := Offer{Options: []Option{}, Need: need}
	for _, unit := range units() {
		l := need.narrowest(unit, epoch)
		if spare := need.limit() - l.TotalBits(); spare >= 0 {
			// The sequence gets it: a tick that holds more ids makes fewer callers wait.
			l.Fields[len(l.Fields)-1].Bits += spare
			offer.Options = append(offer.Options, Option{Layout: l, Widths: Widths(l), Capacity: CapacityOf(l)})
		} else {
			why := fmt.Sprintf("%d bits, %d more than the %d there are", l.TotalBits(), -spare, need.limit())
			offer.Misfits = append(offer.Misfits, Misfit{"ticks of " + unit.String(), l, why})
		}
	}
	slices.SortStableFunc(offer.Options, func(a, b Option) int {
		return cmp.Compare(min(b.PerTick, easyTick), min(a.PerTick, easyTick))
	})
	if len(offer.Options) == 0 {
		least := need.least(epoch)
		bits := least.TotalBits()
		offer.Problem = fmt.Sprintf("%d bits at the least (%s), %d more than the %d there are", bits, Widths(least), bits-need.limit(), need.limit())
	}
	return offer, nil
}

// narrowest is the smallest division of an id's bits that meets the requirements. It may exceed an id.
func (r Requirements) narrowest(unit time.Duration, epoch time.Time) snowfence.Layout {
	// One worker sustains its own rate, or its even share of all workers' where that is more.
	perTick := max(max(r.WorkerRate, r.Rate/max(r.Workers, 1))*unit.Seconds(), r.Burst)
	years := r.Years * Year.Seconds() / unit.Seconds()
	return layoutOf(unit, epoch, max(1, bitsFor(years)), bitsFor(r.Workers), max(1, bitsFor(perTick)))
}

// least is the narrowest division over all units.
func (r Requirements) least(epoch time.Time) snowfence.Layout {
	var all []snowfence.Layout
	for _, unit := range units() {
		all = append(all, r.narrowest(unit, epoch))
	}
	return slices.MinFunc(all, func(a, b snowfence.Layout) int { return cmp.Compare(a.TotalBits(), b.TotalBits()) })
}

// bitsFor is how many bits it takes to distinguish n things, a fraction counting as one.
// A rounding error above a power of two counts as that power.
func bitsFor(n float64) int {
	bits := 0
	for math.Ldexp(1+1e-12, bits) < n {
		bits++
	}
	return bits
}
