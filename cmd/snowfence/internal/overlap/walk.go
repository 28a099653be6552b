package overlap

import (
	"math"
	"math/bits"

	"snowfence.example/snowfence"
)

// The facts that the walk remembers of a lane: that the bits of the field so far
// equal those of its lower bound, and those of its upper bound.
const (
	atLow  = 1
	atHigh = 2
	atBoth = atLow | atHigh

	perLane = 2                  // bits of one lane's facts in a state
	states  = 1 << (2 * perLane) // of two lanes
)

// step takes one bit of an integer and returns what is then known of its lane, or
// false if the integer is not in the box.
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
type pair struct{ a, b lane }

func (p pair) step(state uint8, bit int, digit uint64) (uint8, bool) {
	a, ok := p.a.step(state&atBoth, bit, digit)
	if !ok {
		return 0, false
	}
	b, ok := p.b.step(state>>perLane, bit, digit)
	return a | b<<perLane, ok
}

// start is the state above the highest bit. Both lanes begin a field there.
const start = atBoth | atBoth<<perLane

// meet reports whether an integer is in both boxes. It walks down with the states
// that some integer can be in, which are few.
func (p pair) meet() bool {
	live := uint16(1 << start)
	for bit := 63; bit >= 0 && live != 0; bit-- {
		var next uint16
		for ; live != 0; live &= live - 1 {
			state := uint8(bits.TrailingZeros16(live))
			for digit := range uint64(2) {
				if after, ok := p.step(state, bit, digit); ok {
					next |= 1 << after
				}
			}
		}
		live = next
	}
	return live != 0
}

// ways says, for each bit and each state above it, whether the bits from there
// down can be chosen so that the integer is in both boxes.
func (p pair) ways() (can [65]uint16) {
	can[0] = math.MaxUint16
	for bit := range 64 {
		for state := range uint8(states) {
			for digit := range uint64(2) {
				if next, ok := p.step(state, bit, digit); ok && can[bit]>>next&1 != 0 {
					can[bit+1] |= 1 << state
				}
			}
		}
	}
	return can
}

// find returns the lowest integer of both boxes, or the highest if the digit
// that is preferred is 1.
func (p pair) find(preferred uint64) (uint64, bool) {
	can := p.ways()
	if can[64]>>start&1 == 0 {
		return 0, false
	}
	var n uint64
	state := uint8(start)
	for bit := 63; bit >= 0; bit-- {
		digit := preferred
		next, ok := p.step(state, bit, digit)
		if !ok || can[bit]>>next&1 == 0 {
			digit = 1 - preferred
			next, _ = p.step(state, bit, digit)
		}
		n, state = n<<1|digit, next
	}
	return n, true
}

// pairs calls f with each pair of boxes, until it returns false.
func pairs(a, b Set, f func(pair) bool) {
	others := b.lanes()
	for _, l := range a.lanes() {
		for _, m := range others {
			if !f(pair{l, m}) {
				return
			}
		}
	}
}

// Meet reports whether an integer is in both sets.
func Meet(a, b Set) (ok bool) {
	pairs(a, b, func(p pair) bool {
		ok = p.meet()
		return !ok
	})
	return ok
}

// Lowest returns the lowest integer that is in both sets, as an unsigned number;
// false if there is none.
func Lowest(a, b Set) (id snowfence.ID, ok bool) {
	lowest := uint64(math.MaxUint64)
	pairs(a, b, func(p pair) bool {
		if n, found := p.find(0); found {
			lowest, ok = min(lowest, n), true
		}
		return true
	})
	if !ok {
		return 0, false
	}
	return snowfence.ID(lowest), true
}

// Highest is Lowest's counterpart.
func Highest(a, b Set) (id snowfence.ID, ok bool) {
	highest := uint64(0)
	pairs(a, b, func(p pair) bool {
		if n, found := p.find(1); found {
			highest, ok = max(highest, n), true
		}
		return true
	})
	return snowfence.ID(highest), ok
}
