package overlap

import (
	"time"

	"snowfence.example/snowfence"
)

// firstTick returns the first tick of a at which one of its ids is in b; false if
// none ever is.
func firstTick(a, b Set) (snowfence.Tick, bool) {
	a.Ticks = a.Ticks.Meet(AllTicks(a.Layout))
	return lowest(a.Ticks, func(last snowfence.Tick) bool { return Meet(a.Until(last), b) })
}

// Stamp is an id as one layout reads it.
type Stamp struct {
	Tick   snowfence.Tick
	Time   time.Time // at which the tick begins
	Worker int64     // the worker number
}

// stampOf reads an id, which must be one of the layout.
func stampOf(l snowfence.Layout, id snowfence.ID) Stamp {
	tick, worker, _ := NewSplitter(l).Split(id)
	return Stamp{tick, l.TimeOf(tick), worker}
}

// Meeting is an integer that two layouts can both issue.
type Meeting struct {
	// At is when the second of the two equal ids is issued, by a clock that is
	// right: the later of the times of both ticks, or for [Reached] that of the tick
	// of a.
	At time.Time
	// ID is the integer, the lowest of that instant.
	ID snowfence.ID
	// A and B are what the two layouts make of it.
	A, B Stamp
}

// Earliest returns the meeting that comes first: none has a lesser At. False is
// returned if the sets have no integer in common.
//
// At is the beginning of a tick of a, or of b. So it is found by bisecting the
// ticks of a, with those of b that have begun by then, and the other way round.
func Earliest(a, b Set) (Meeting, bool) {
	if !Meet(a, b) {
		return Meeting{}, false
	}
	at, found := begun(a, b)
	if other, ok := begun(b, a); ok && (!found || other.Before(at)) {
		at, found = other, true
	}
	if !found {
		return Meeting{}, false
	}
	m := Meeting{At: at}
	m.ID, found = Lowest(a.Until(a.Layout.TickAt(at)), b.Until(b.Layout.TickAt(at)))
	m.A, m.B = stampOf(a.Layout, m.ID), stampOf(b.Layout, m.ID)
	return m, found
}

// Reached returns the first meeting if all ids of b are there already: At is when
// the first tick of a begins at which one of its ids is in b.
func Reached(a, b Set) (Meeting, bool) {
	tick, ok := firstTick(a, b)
	if !ok {
		return Meeting{}, false
	}
	m := Meeting{At: a.Layout.TimeOf(tick)}
	m.ID, ok = Lowest(a.Until(tick), b)
	m.A, m.B = stampOf(a.Layout, m.ID), stampOf(b.Layout, m.ID)
	return m, ok
}

// begun returns when the first tick of a begins by which a and b have an integer
// in common, all of whose ticks have begun.
func begun(a, b Set) (time.Time, bool) {
	a.Ticks = a.Ticks.Meet(AllTicks(a.Layout))
	tick, ok := lowest(a.Ticks, func(last snowfence.Tick) bool {
		return Meet(a.Until(last), b.Until(b.Layout.TickAt(a.Layout.TimeOf(last))))
	})
	return a.Layout.TimeOf(tick), ok
}

// lowest bisects for the first tick from which on something holds.
func lowest(in Ticks, holds func(snowfence.Tick) bool) (snowfence.Tick, bool) {
	if in.Empty() || !holds(in.Last) {
		return 0, false
	}
	low, high := in.First, in.Last
	for low < high { // the answer is from low to high
		middle := low + (high-low)/2
		if holds(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, true
}
