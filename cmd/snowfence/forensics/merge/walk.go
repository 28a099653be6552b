package merge

import (
	"time"

	"snowfence.example/snowfence"
)

// The walk down the bits of an integer remembers two facts for each box: the bits of the field so far
// equal the bits of its lower bound, and of its upper bound.
const (
	atLow  = 1
	atHigh = 2
	atBoth = atLow | atHigh

	perBox = 2 // bits of one box's facts in a state
)

// step takes one bit of an integer and returns the facts after it; false if it leaves the box.
func (b box) step(facts uint8, bit int, digit uint64) (uint8, bool) {
	if b.starts>>bit&1 != 0 {
		facts = atBoth
	}
	low, high := b.low>>bit&1, b.high>>bit&1
	if facts&atLow != 0 && digit < low || facts&atHigh != 0 && digit > high {
		return 0, false
	}
	if digit > low {
		facts &^= atLow
	}
	if digit < high {
		facts &^= atHigh
	}
	return facts, true
}

// walk is a walk through two boxes. Dead has a bit for each state above a bit from which no
// integer of both can be reached.
type walk struct {
	a, b box
	dead [64]uint16
}

// meet reports whether an integer of both boxes has the upper bits that led to this state.
// It enters each state once at most.
func (w *walk) meet(bit int, state uint8) bool {
	if bit < 0 {
		return true
	}
	if w.dead[bit]>>state&1 != 0 {
		return false
	}
	for digit := range uint64(2) {
		a, inA := w.a.step(state&atBoth, bit, digit)
		b, inB := w.b.step(state>>perBox, bit, digit)
		if inA && inB && w.meet(bit-1, a|b<<perBox) {
			return true
		}
	}
	w.dead[bit] |= 1 << state
	return false
}

// meets reports whether an integer is in both sets. It is exact and does not list integers: two
// boxes have four facts, so the walk has 16 states at each bit.
func meets(a, b set) bool {
	others := b.boxes()
	for _, l := range a.boxes() {
		for _, m := range others {
			if w := (walk{a: l, b: m}); w.meet(63, atBoth|atBoth<<perBox) {
				return true
			}
		}
	}
	return false
}

// meeting returns when the second of two equal ids of two sets is issued first, by clocks
// that are right: the later time of the two ticks, or that of the set that is not issued.
// False is returned if the sets have different integers only. At most one may be issued.
//
// That time is the beginning of a tick of a, or of b. So it is found by bisecting the ticks
// of a, with those of b that have begun by then, and the other way round.
func meeting(a, b set) (first time.Time, found bool) {
	for _, x := range [2][2]set{{a, b}, {b, a}} {
		if at, ok := begun(x[0], x[1]); ok && (!found || at.Before(first)) {
			first, found = at, true
		}
	}
	return first, found
}

// begun returns when the first tick of a begins by which a and b have an integer in common,
// all of whose ticks have begun.
func begun(a, b set) (time.Time, bool) {
	ticks := a.Ticks.Meet(allTicks(a.Layout))
	common := func(last snowfence.Tick) bool {
		return meets(a.until(last), b.by(a.Layout.TimeOf(last)))
	}
	if a.Issued || ticks.Empty() || !common(ticks.Last) {
		return time.Time{}, false
	}
	for ticks.First < ticks.Last { // the answer is among them
		if middle := ticks.First + (ticks.Last-ticks.First)/2; common(middle) {
			ticks.Last = middle
		} else {
			ticks.First = middle + 1
		}
	}
	return a.Layout.TimeOf(ticks.First), true
}

// by returns the ids of ticks that have begun at some time, or all if they are issued.
func (s set) by(at time.Time) set {
	if s.Issued {
		return s
	}
	return s.until(s.Layout.TickAt(at))
}
