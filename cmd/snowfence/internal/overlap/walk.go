package overlap

import (
	"snowfence.example/snowfence"
)

// The facts that the walk remembers of a lane: that the bits of the field so far
// equal those of its lower bound, and those of its upper bound.
const (
	atLow  = 1
	atHigh = 2
	atBoth = atLow | atHigh

	perLane = 2 // bits of one lane's facts in a state
)

// step takes one bit of an integer and returns the facts after it; false if it leaves the box.
func (l lane) step(facts uint8, bit int, digit uint64) (uint8, bool) {
	if l.starts>>bit&1 != 0 {
		facts = atBoth
	}
	low, high := l.low>>bit&1, l.high>>bit&1
	if facts&atLow != 0 {
		if digit < low {
			return 0, false
		}
		if digit > low {
			facts &^= atLow
		}
	}
	if facts&atHigh != 0 {
		if digit > high {
			return 0, false
		}
		if digit < high {
			facts &^= atHigh
		}
	}
	return facts, true
}

// pair is two boxes that are walked together.
type pair struct {
	a, b      lane
	preferred uint64 // the digit that is tried first: 0 finds the lowest integer
	// dead has a bit for each state above a bit that leads to no integer of both boxes.
	dead [64]uint16
}

// find returns the lowest or the highest integer of both boxes whose upper bits are
// those of n, which led to this state; false if none. It enters each state once at most.
func (p *pair) find(bit int, state uint8, n uint64) (uint64, bool) {
	if bit < 0 {
		return n, true
	}
	if p.dead[bit]>>state&1 != 0 {
		return 0, false
	}
	for _, digit := range [2]uint64{p.preferred, 1 - p.preferred} {
		a, ok := p.a.step(state&atBoth, bit, digit)
		if !ok {
			continue
		}
		b, ok := p.b.step(state>>perLane, bit, digit)
		if !ok {
			continue
		}
		if found, ok := p.find(bit-1, a|b<<perLane, n<<1|digit); ok {
			return found, true
		}
	}
	p.dead[bit] |= 1 << state
	return 0, false
}

// extreme returns the lowest integer of both sets for the digit 0, or the highest for 1.
func extreme(a, b Set, digit uint64) (id snowfence.ID, ok bool) {
	others := b.lanes()
	var best uint64
	for _, l := range a.lanes() {
		for _, m := range others {
			p := pair{a: l, b: m, preferred: digit}
			n, found := p.find(63, atBoth|atBoth<<perLane, 0)
			if found && (!ok || (digit == 0) == (n < best)) {
				best, ok = n, true
			}
		}
	}
	return snowfence.ID(best), ok
}

// Lowest returns the lowest unsigned integer that is in both sets; false if none is.
func Lowest(a, b Set) (snowfence.ID, bool) { return extreme(a, b, 0) }

// Highest is Lowest's counterpart.
func Highest(a, b Set) (snowfence.ID, bool) { return extreme(a, b, 1) }

// Meet reports whether an integer is in both sets.
func Meet(a, b Set) bool {
	_, ok := Lowest(a, b)
	return ok
}
