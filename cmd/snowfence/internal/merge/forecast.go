package merge

import (
	"fmt"
	"math"
	"slices"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/internal/text"
)

// maxSets is how many sets of an issuer are compared with those of one with another
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

// ticks returns the ticks of a stretch that are of the moment.
func (m Moment) ticks() func(Stretch) overlap.Ticks {
	if m == Past {
		return used
	}
	return open
}

// Chance is a way in which two issuers may issue the same integer, with the first
// example. Where it lists two, the first is of A and the second of B.
type Chance struct {
	// Moments say when each of them issues it.
	Moments [2]Moment `json:"moments"`
	// Recorded is true if, of two in the past, there is an example within the present
	// terms of both. Otherwise it is of terms that no register tells.
	Recorded bool `json:"in_present_terms"`
	// At is when the second of the two equal ids is issued, by clocks that are right.
	At     Time     `json:"at"`
	ID     ID       `json:"id"`
	Stamps [2]Stamp `json:"stamps"`
}

// Settled reports whether both ids are of the past, so that comparing all ids finds them.
func (c Chance) Settled() bool { return c.Moments == [2]Moment{Past, Past} }

// Forecast says whether, when and why two issuers can issue the same ids.
type Forecast struct {
	// Sides are the names of their sides, Issuers their own.
	Sides   [2]string `json:"sides"`
	Issuers [2]string `json:"issuers"`
	// Never is true if they can't clash, ever. Why says why; else it is empty.
	Never bool   `json:"never"`
	Why   string `json:"-"`
	// FromNow is the first instant from which an id that one issues from now on can
	// equal one that the other has issued by then; zero if there is none.
	FromNow Time `json:"possible_from,omitzero"`
	// Chances are the ways in which they may clash.
	Chances []Chance `json:"chances"`
	// Sentences say all this for people, the most important first. Advice says what
	// keeps their ids apart from now on, and Lines the same as text.
	Sentences []string `json:"sentences"`
	Lines     []string `json:"advice"`
	Advice    []Advice `json:"-"`
	// Within is true if both are of one side.
	Within bool `json:"within_side"`
	// Compared is true if the ids that both may have issued already were compared.
	Compared bool `json:"-"`

	A *Issuer `json:"-"`
	B *Issuer `json:"-"`
	// NameA and NameB are their sides, or for two of one side their own names.
	NameA string `json:"-"`
	NameB string `json:"-"`
	// Same is true when both have one layout, epoch included. Shared are the worker
	// numbers that both may then stamp with from now on.
	Same   bool         `json:"-"`
	Shared []text.Range `json:"-"`
	// Above says that every id that one issues from now on is above all that the
	// other issues or issued before FromNow: 1 for A, -1 for B, 0 for neither.
	Above int `json:"-"`
}

// Possible reports whether an id of now or later may clash.
func (f Forecast) Possible() bool { return !f.FromNow.IsZero() }

// AtStake reports whether ids may clash in future, or may have and were not compared.
func (f Forecast) AtStake() bool { return f.Possible() || !f.Never && !f.Compared }

// Predict compares two issuers, of two sides or of one.
func Predict(a, b *Issuer) Forecast {
	f := Forecast{
		Sides: [2]string{a.Side, b.Side}, Issuers: [2]string{a.Name, b.Name}, Within: a.Side == b.Side, Chances: []Chance{},
		A: a, B: b, NameA: a.Side, NameB: b.Side, Same: a.Layout.Equal(b.Layout),
	}
	if f.Within {
		f.NameA, f.NameB = apart(a, b)
	}
	if a.is(b) {
		f.Why = "they are one namespace, and no two ids of a namespace are equal"
	} else {
		for _, moments := range [][2]Moment{{Past, Past}, {Future, Past}, {Past, Future}, {Future, Future}} {
			f.consider(moments)
		}
		if f.Same {
			f.Shared = workersOf(common(a.pieces(open), b.pieces(open)))
		}
		if len(f.Chances) == 0 {
			f.Why = f.reason()
		}
		f.Above = f.above()
	}
	f.Never = len(f.Chances) == 0
	f.Sentences, f.Advice, f.Lines = f.sentences(), f.advice(), []string{}
	for _, advice := range f.Advice {
		f.Lines = append(f.Lines, advice.line())
	}
	return f
}

// consider looks for ids that A and B issue at these moments.
func (f *Forecast) consider(moments [2]Moment) {
	find := func(x, y func(Stretch) overlap.Ticks) (overlap.Meeting, bool) {
		return f.earliest(moments, f.A.pieces(x), f.B.pieces(y))
	}
	first, ok := find(moments[0].ticks(), moments[1].ticks())
	if !ok {
		return
	}
	c := Chance{Moments: moments}
	if c.Settled() {
		if present, ok := find(term, term); ok {
			first, c.Recorded = present, true
		}
	} else {
		first.At = later(first.At, f.now())
		if !f.Possible() || first.At.Before(f.FromNow.Time) {
			f.FromNow = Time{first.At}
		}
	}
	c.At, c.ID, c.Stamps = Time{first.At}, ID(first.ID), [2]Stamp{stampOf(first.A), stampOf(first.B)}
	f.Chances = append(f.Chances, c)
}

// now is the present time, by the clock that is ahead.
func (f Forecast) now() time.Time { return later(f.A.Now, f.B.Now) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// apart names two issuers of one side differently.
func apart(a, b *Issuer) (nameA, nameB string) {
	name := func(i *Issuer) string {
		if i.Managed() {
			return i.Name
		}
		return fmt.Sprintf("%s (worker id %s)", i.Name, rangesText(workersOf(i.pieces(life))))
	}
	nameA, nameB = name(a), name(b)
	if nameA == nameB {
		nameA, nameB = "the first "+nameA, "the second "+nameB
	}
	return nameA, nameB
}

// earliest returns the first meeting of pieces of A with pieces of B, of these moments.
//
// A tick that may have been stamped already counts as stamped now, even if it is to
// come: a register may lie far ahead of the clock. Then the other's tick says when.
func (f Forecast) earliest(moments [2]Moment, as, bs []overlap.Set) (best overlap.Meeting, found bool) {
	if f.Same {
		// Both can issue an integer if both have its tick and its worker number.
		var first overlap.Set
		for _, both := range common(as, bs) {
			if !both.Ticks.Empty() && (!found || both.Ticks.First < first.Ticks.First) {
				first, found = both, true
			}
		}
		if found {
			best, found = overlap.Earliest(first, first)
		}
		return best, found
	}
	ofA, ofB := few(as), few(bs)
	for _, a := range ofA {
		for _, b := range ofB {
			a.Issued, b.Issued = moments == [2]Moment{Past, Future}, moments == [2]Moment{Future, Past}
			if found {
				// Only an earlier one than the best matters: to ask for that takes less.
				a, b = a.By(best.At.Add(-1)), b.By(best.At.Add(-1))
			}
			if m, ok := overlap.Earliest(a, b); ok {
				best, found = m, true
			}
		}
	}
	return best, found
}

// above finds out whether the ids of one from now on are above all that the other
// issued, or issues before the first clash.
func (f Forecast) above() int {
	isAbove := func(one, other *Issuer) bool {
		low, _, ok := bounds(few(one.pieces(open)))
		_, high, okOther := bounds(f.before(other))
		return ok && okOther && low > high
	}
	switch {
	case isAbove(f.A, f.B):
		return 1
	case isAbove(f.B, f.A):
		return -1
	}
	return 0
}

// before are all ids that an issuer issued, or may issue before FromNow.
func (f Forecast) before(i *Issuer) []overlap.Set {
	sets := few(i.pieces(open))
	if f.Possible() {
		for n, s := range sets {
			sets[n] = s.By(f.FromNow.Add(-1))
		}
	}
	return append(sets, few(i.pieces(used))...)
}

// meet reports whether a set of one list has an integer of a set of the other.
func meet(as, bs []overlap.Set) bool {
	for _, a := range as {
		for _, b := range bs {
			if overlap.Meet(a, b) {
				return true
			}
		}
	}
	return false
}

// bounds returns the lowest and the highest id of some sets; false if they have none.
func bounds(sets []overlap.Set) (low, high uint64, ok bool) {
	low = math.MaxUint64
	for _, s := range sets {
		if first, found := overlap.Lowest(s, s); found {
			last, _ := overlap.Highest(s, s)
			low, high, ok = min(low, uint64(first)), max(high, uint64(last)), true
		}
	}
	return low, high, ok
}
