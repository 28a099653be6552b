package merge

import (
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// maxSets is how many sets of an issuer are held against those of one with another
// layout. Where there are more, neighbours are taken together.
const maxSets = 256

// Moment says when an issuer stamps the id that both issue.
type Moment string

// The moments.
const (
	// Past is a tick that may have been stamped already.
	Past Moment = "past"
	// Future is a tick that may be stamped from now on.
	Future Moment = "future"
)

// Chance is a way in which two issuers may issue the same integer.
type Chance struct {
	// A and B say when either of them does.
	A, B Moment
	// First is the first meeting of its kind.
	First overlap.Meeting
	// Recorded is true if, of two in the past, there is a meeting within the present
	// terms of both. Otherwise it lies in terms of which nothing is kept.
	Recorded bool
}

// Forecast is what can become of the ids of two issuers.
type Forecast struct {
	A, B *Issuer
	// NameA and NameB are what sentences call them: their sides, or for two of one
	// side what they are.
	NameA, NameB string
	// Same is true when both have one layout, epoch included.
	Same bool
	// Chances are the ways in which they may clash: none if they can't, ever.
	Chances []Chance
	// FromNow is the first instant from which an id that one of them issues from now
	// on can equal one that the other has issued or will have issued by then; zero if
	// there is none.
	FromNow time.Time
	// Shared are the worker numbers that both may stamp with from now on, if they
	// have one layout.
	Shared []overlap.Workers
	// Above says that every id that the one issues from now on is above all that the
	// other issues or issued before FromNow: 1 for A, -1 for B, 0 for neither.
	Above int
	// Why says why they can't clash; nil if they may.
	Why []Reason
}

// Within reports whether both are of one side.
func (f Forecast) Within() bool { return f.A.Side == f.B.Side }

// Possible reports whether an id of now or later may clash.
func (f Forecast) Possible() bool { return !f.FromNow.IsZero() }

// Settles reports whether their ids, compared, tell more than is known of them
// here: both may have issued the same already.
func (f Forecast) Settles() bool {
	return slices.ContainsFunc(f.Chances, func(c Chance) bool { return c.A == Past && c.B == Past })
}

// Predict holds two issuers against each other, of two sides or of one.
func Predict(a, b *Issuer) Forecast {
	f := Forecast{A: a, B: b, NameA: a.Side, NameB: b.Side, Same: a.Layout.Equal(b.Layout)}
	if f.Within() {
		f.NameA, f.NameB = apart(a, b)
	}
	if a.is(b) {
		f.Why = []Reason{"they are one namespace, and no two ids of a namespace are equal"}
		return f
	}
	for _, x := range []struct {
		a, b         Moment
		ofA, ofB     func(Stretch) overlap.Ticks
		presentTerms bool
	}{
		{Past, Past, used, used, true},
		{Future, Past, open, used, false},
		{Past, Future, used, open, false},
		{Future, Future, open, open, false},
	} {
		first, ok := f.earliest(x.a, x.b, a.pieces(x.ofA), b.pieces(x.ofB))
		if !ok {
			continue
		}
		c := Chance{A: x.a, B: x.b, First: first}
		if x.presentTerms {
			if recorded, ok := f.earliest(x.a, x.b, a.pieces(term), b.pieces(term)); ok {
				c.First, c.Recorded = recorded, true
			}
		} else {
			c.First.At = later(c.First.At, later(a.Now, b.Now))
			if f.FromNow.IsZero() || c.First.At.Before(f.FromNow) {
				f.FromNow = c.First.At
			}
		}
		f.Chances = append(f.Chances, c)
	}
	if f.Same {
		f.Shared = shared(a.workers(open), b.workers(open))
	}
	if len(f.Chances) == 0 {
		f.Why = f.reasons()
	}
	f.Above = f.above()
	return f
}

// apart names two issuers of one side so that they can be told from each other.
func apart(a, b *Issuer) (nameA, nameB string) {
	name := func(i *Issuer) string {
		if i.Managed() {
			return i.Name
		}
		return fmt.Sprintf("%s (worker id %s)", i.Name, WorkersText(i.workers(life)))
	}
	nameA, nameB = name(a), name(b)
	if nameA == nameB {
		nameA, nameB = "the first "+nameA, "the second "+nameB
	}
	return nameA, nameB
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// earliest returns the first meeting of any of some pieces of A with any of B,
// which are of these moments.
//
// What may have been stamped already counts as stamped now, also where its tick is
// still to come: a register may lie far ahead of the clock. Against the future of
// the other, the other's tick alone says when.
func (f Forecast) earliest(x, y Moment, as, bs []piece) (overlap.Meeting, bool) {
	if f.Same {
		return f.earliestOfOne(as, bs)
	}
	doneA, doneB := x == Past && y == Future, x == Future && y == Past
	var best overlap.Meeting
	found := false
	others := f.B.sets(bs)
	for _, a := range f.A.sets(as) {
		for _, b := range others {
			if found {
				// Only what comes before the best is of interest, and that is asked at once.
				before := best.At.Add(-1)
				if !doneA {
					a = a.Until(a.Layout.TickAt(before))
				}
				if !doneB {
					b = b.Until(b.Layout.TickAt(before))
				}
			}
			if m, ok := meeting(a, b, doneA, doneB); ok {
				best, found = m, true
			}
		}
	}
	return best, found
}

// meeting is the first meeting of two sets, of which one may be done already.
func meeting(a, b overlap.Set, doneA, doneB bool) (overlap.Meeting, bool) {
	switch {
	case doneA:
		m, ok := overlap.Reached(b, a)
		m.A, m.B = m.B, m.A
		return m, ok
	case doneB:
		return overlap.Reached(a, b)
	}
	return overlap.Earliest(a, b)
}

// earliestOfOne is earliest for one layout: an integer is of both only if its tick
// and its worker number are.
func (f Forecast) earliestOfOne(as, bs []piece) (overlap.Meeting, bool) {
	var best piece
	found := false
	for i, j := 0, 0; i < len(as) && j < len(bs); {
		both := piece{as[i].workers.Meet(bs[j].workers), as[i].ticks.Meet(bs[j].ticks)}
		if !both.workers.Empty() && !both.ticks.Empty() && (!found || both.ticks.First < best.ticks.First) {
			best, found = both, true
		}
		if as[i].workers.Last < bs[j].workers.Last {
			i++
		} else {
			j++
		}
	}
	if !found {
		return overlap.Meeting{}, false
	}
	one := overlap.Set{Layout: f.A.Layout, Ticks: best.ticks, Workers: best.workers}
	return overlap.Earliest(one, one)
}

// shared are the worker numbers that are in both.
func shared(as, bs []overlap.Workers) []overlap.Workers {
	var all []overlap.Workers
	for i, j := 0, 0; i < len(as) && j < len(bs); {
		if both := as[i].Meet(bs[j]); !both.Empty() {
			all = append(all, both)
		}
		if as[i].Last < bs[j].Last {
			i++
		} else {
			j++
		}
	}
	return all
}

// above finds out whether the present lies apart: the ids of one from now on above
// all that the other issued, or issues before the first clash.
func (f Forecast) above() int {
	before := func(i *Issuer) []overlap.Set {
		sets := i.sets(i.pieces(open))
		for n, s := range sets {
			if !f.FromNow.IsZero() {
				sets[n] = s.Until(i.Layout.TickAt(f.FromNow.Add(-1)))
			}
		}
		return append(sets, i.sets(i.pieces(used))...)
	}
	isAbove := func(one, other *Issuer) bool {
		low, lowOK := lowest(one.sets(one.pieces(open)))
		high, highOK := highest(before(other))
		return lowOK && highOK && low > high
	}
	switch {
	case isAbove(f.A, f.B):
		return 1
	case isAbove(f.B, f.A):
		return -1
	}
	return 0
}

// ending reports for A and for B whether nothing clashes any more once that one
// ends before FromNow: the other then never comes to ids that it has issued.
func (f Forecast) ending() (a, b bool) {
	last := f.FromNow.Add(-1)
	without := func(ends, stays *Issuer) bool {
		left := ends.sets(ends.pieces(open))
		for n, s := range left {
			left[n] = s.Until(ends.Layout.TickAt(last))
		}
		return !meet(append(left, ends.sets(ends.pieces(used))...), stays.sets(stays.pieces(open)))
	}
	return without(f.A, f.B), without(f.B, f.A)
}

// lowest returns the lowest id of some sets, as an unsigned number.
func lowest(sets []overlap.Set) (lowest uint64, ok bool) {
	for _, s := range sets {
		if id, found := overlap.Lowest(s, s); found && (!ok || uint64(id) < lowest) {
			lowest, ok = uint64(id), true
		}
	}
	return lowest, ok
}

// highest returns the highest id of some sets, as an unsigned number.
func highest(sets []overlap.Set) (highest uint64, ok bool) {
	for _, s := range sets {
		if id, found := overlap.Highest(s, s); found && (!ok || uint64(id) > highest) {
			highest, ok = uint64(id), true
		}
	}
	return highest, ok
}
