package overlap

import (
	"time"

	"snowfence.example/snowfence"
)

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
	// right: the later time of the two ticks, or that of the set that is not issued.
	At time.Time
	// ID is the integer, the lowest of that instant.
	ID snowfence.ID
	// A and B are how the two layouts read it.
	A, B Stamp
}

// Earliest returns the meeting that comes first: none has a lesser At. False is
// returned if the sets have no integer in common. At most one of them may be issued.
//
// At is the beginning of a tick of a, or of b. So it is found by bisecting the
// ticks of a, with those of b that have begun by then, and the other way round.
func Earliest(a, b Set) (m Meeting, found bool) {
	for _, x := range [2][2]Set{{a, b}, {b, a}} {
		if at, ok := begun(x[0], x[1]); ok && (!found || at.Before(m.At)) {
			m.At, found = at, true
		}
	}
	if !found {
		return Meeting{}, false
	}
	m.ID, found = Lowest(a.By(m.At), b.By(m.At))
	m.A, m.B = stampOf(a.Layout, m.ID), stampOf(b.Layout, m.ID)
	return m, found
}

// begun returns when the first tick of a begins by which a and b have an integer
// in common, all of whose ticks have begun.
func begun(a, b Set) (time.Time, bool) {
	ticks := a.Ticks.Meet(AllTicks(a.Layout))
	common := func(last snowfence.Tick) bool {
		return Meet(a.Until(last), b.By(a.Layout.TimeOf(last)))
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

// By returns the ids of ticks that have begun at some time, or all if they are issued.
func (s Set) By(at time.Time) Set {
	if s.Issued {
		return s
	}
	return s.Until(s.Layout.TickAt(at))
}
