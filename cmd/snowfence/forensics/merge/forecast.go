package merge

import (
	"math"
	"slices"
	"time"
)

// Outcome is a forecast in a word.
type Outcome string

// The outcomes: all ids stay different, some may clash, or the sides' ids clash already.
const (
	Never   Outcome = "never"
	May     Outcome = "possible"
	Clashed Outcome = "clash"
)

// The advice about two issuers that may clash, from a time on or in the past alone.
const (
	futureAdvice = "stop one issuer before that time, and earlier by as much as its clock may be ahead; or give the two disjoint worker ids"
	pastAdvice   = "name the ids of both as parts of their sides: only ids show which ids both have issued"
)

// Forecast says whether and when two issuers can issue the same ids.
type Forecast struct {
	// Sides are the names of their sides, Issuers their own. Both may be of one side.
	Sides   [2]string `json:"sides"`
	Issuers [2]string `json:"issuers"`
	Outcome Outcome   `json:"outcome"`
	// FromNow is the first instant from which an id that one issues from now on can equal
	// one that the other has issued by then; it may be zero.
	FromNow Time `json:"possible_from,omitzero"`
	// Advice is a line that says how to keep their ids apart, or is empty.
	Advice string `json:"advice,omitempty"`
}

// Predict compares two issuers, of two sides or of one. Never covers the ids of the past and of the
// future.
func Predict(a, b *Issuer) Forecast {
	f := Forecast{Sides: [2]string{a.Side, b.Side}, Issuers: [2]string{a.Name, b.Name}, Outcome: Never}
	if a.is(b) {
		return f // all ids of a namespace differ
	}
	now := later(a.Now, b.Now)
	for _, open := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		at, ok := earliest(a.pieces(open[0]), b.pieces(open[1]), !open[0], !open[1])
		if at = later(at, now); ok && (f.FromNow.IsZero() || at.Before(f.FromNow.Time)) {
			f.FromNow.Time = at
		}
	}
	_, past := earliest(a.pieces(false), b.pieces(false), false, false)
	switch {
	case !f.FromNow.IsZero():
		f.Outcome, f.Advice = May, futureAdvice
	case past:
		f.Outcome, f.Advice = May, pastAdvice
	}
	return f
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// earliest returns the first time by which a piece of A and a piece of B have a common id. For layouts of
// different shapes it may be too early: the zero time.
//
// A tick that may have been stamped already counts as stamped now, even a later tick: a
// register may lie far ahead of the clock. Then the other issuer's tick decides.
func earliest(as, bs []set, issuedA, issuedB bool) (best time.Time, found bool) {
	if len(as) == 0 || len(bs) == 0 {
		return best, false
	}
	a, b := as[0].Layout, bs[0].Layout
	if shapeOf(a) != shapeOf(b) {
		lowA, highA := bounds(as)
		lowB, highB := bounds(bs)
		return best, lowA <= highB && lowB <= highA
	}
	for _, ticks := range common(as, bs) {
		var at time.Time
		if !issuedA {
			at = a.TimeOf(ticks.First)
		}
		if !issuedB {
			at = later(at, b.TimeOf(ticks.First))
		}
		if !found || at.Before(best) {
			best, found = at, true
		}
	}
	return best, found
}

// bounds returns two integers between which all ids of the pieces lie.
func bounds(pieces []set) (low, high uint64) {
	low = math.MaxUint64
	for _, p := range pieces {
		first, last := p.bounds()
		low, high = min(low, first), max(high, last)
	}
	return low, high
}

// common returns the ticks that pieces of one shape share, with a worker number that they share.
func common(as, bs []set) (all []Ticks) {
	for len(as) > 0 && len(bs) > 0 {
		ticks := as[0].Ticks.Meet(bs[0].Ticks)
		if !ticks.Empty() && !as[0].Workers.Meet(bs[0].Workers).Empty() {
			all = append(all, ticks)
		}
		if as[0].Workers.Last < bs[0].Workers.Last {
			as = as[1:]
		} else {
			bs = bs[1:]
		}
	}
	return all
}
