package merge

import (
	"slices"
	"time"
)

// maxSets is how many sets of an issuer are compared with another layout's sets.
//
//	Where there are more, neighbours are taken together.
const maxSets = 256

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

// Forecast predicts whether and when two issuers can issue the same ids.
type Forecast struct {
	// Sides are the names of their sides, Issuers their own. Both may be of one side.
	Sides   [2]string `json:"sides"`
	Issuers [2]string `json:"issuers"`
	Outcome Outcome   `json:"outcome"`
	// FromNow is the first instant from which an id that one issues from now on can equal
	// one that the other has issued by then; it may be zero.
	FromNow Time `json:"possible_from,omitzero"`
	// Advice is a line that shows how to keep their ids apart, or is empty.
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

// earliest returns the first time by which a piece of A and a piece of B have a common id.
//
// A tick that may have been stamped already counts as stamped now, even a later tick: a
// register may lie far ahead of the clock. Then the other issuer's tick decides.
func earliest(as, bs []set, issuedA, issuedB bool) (best time.Time, found bool) {
	if len(as) > 0 && len(bs) > 0 && as[0].Layout.Equal(bs[0].Layout) {
		// Both can issue an integer if both have its tick and its worker number.
		for _, both := range common(as, bs) {
			if at := both.Layout.TimeOf(both.Ticks.First); !found || at.Before(best) {
				best, found = at, true
			}
		}
		return best, found
	}
	others := few(bs)
	for _, a := range few(as) {
		for _, b := range others {
			a.Issued, b.Issued = issuedA, issuedB
			if found { // only earlier times matter
				a, b = a.by(best.Add(-1)), b.by(best.Add(-1))
			}
			if at, ok := meeting(a, b); ok {
				best, found = at, true
			}
		}
	}
	return best, found
}

// few makes at most [maxSets] sets of pieces: neighbours are taken together as if each had
// the ticks of all. So they have every id of the pieces, and others: a never may become a may.
func few(pieces []set) []set {
	var all []set
	for group := range slices.Chunk(pieces, max(1, (len(pieces)+maxSets-1)/maxSets)) {
		one := group[0]
		for _, p := range group[1:] {
			one.Workers.Last = p.Workers.Last
			one.Ticks = Ticks{min(one.Ticks.First, p.Ticks.First), max(one.Ticks.Last, p.Ticks.Last)}
		}
		all = append(all, one)
	}
	return all
}

// common returns the ids that two lists of pieces of one layout share.
func common(as, bs []set) []set {
	var all []set
	for len(as) > 0 && len(bs) > 0 {
		both := as[0]
		both.Workers, both.Ticks = both.Workers.Meet(bs[0].Workers), both.Ticks.Meet(bs[0].Ticks)
		if !both.Workers.Empty() && !both.Ticks.Empty() {
			all = append(all, both)
		}
		if as[0].Workers.Last < bs[0].Workers.Last {
			as = as[1:]
		} else {
			bs = bs[1:]
		}
	}
	return all
}
