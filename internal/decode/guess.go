package decode

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// Candidate is a preset that an id may belong to.
type Candidate struct {
	*Document // with the preset's name
	// Plausible is true for a time from the start of the system to a day from now.
	Plausible bool

	age     int           // class of its age: see ageClass
	rank    int           // 0 for this program's own layout, 1 for others: see rankOf
	bits    int           // how many bits the worker and the sequence take
	outside time.Duration // how far the time lies outside the plausible span
}

// startOf is when ids of a preset can begin: its epoch, or where that is far too early,
// the year before its system was published, to be on the safe side.
func startOf(p snowfence.Preset) time.Time {
	january := func(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }
	switch p.Name {
	case "leaf": // published in 2017, with Twitter's epoch of 2010
		return january(2016)
	case "mastodon": // published in 2016, with the Unix epoch
		return january(2015)
	default:
		return p.Layout.Epoch
	}
}

// Guess ranks the presets by how plausible the id is under each, best first.
// Presets under which it cannot be an id at all are left out, so the result
// may be empty.
//
// An id carries no mark of its layout, so this is a matter of odds, by rules
// in this order: a plausible time before an implausible one, and of the latter
// the nearest to plausible; a time within an hour of now, then within a day,
// because people look at fresh ids; the layout that this program gives ids itself,
// unless the time is of its beginning or to come; few bits in datacenter, worker and
// sequence, because small numbers are commoner than large ones; the order of
// [snowfence.Presets].
func Guess(id snowfence.ID, now time.Time) []Candidate {
	var candidates []Candidate
	for _, p := range snowfence.Presets() {
		// Of presets with one layout only the first is a candidate.
		if d, err := Decode(id, p.Layout); err == nil && d.Preset == p.Name {
			candidates = append(candidates, weigh(p, d, now))
		}
	}
	slices.SortStableFunc(candidates, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(a.outside, b.outside), // zero when plausible
			cmp.Compare(a.age, b.age),
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.bits, b.bits),
		)
	})
	return candidates
}

// weigh judges one reading of an id.
func weigh(p snowfence.Preset, d *Document, now time.Time) Candidate {
	outside := max(0, startOf(p).Sub(d.At), d.At.Sub(now.Add(day)))
	return Candidate{
		Document:  d,
		Plausible: outside == 0,
		age:       ageClass(d.At.Sub(now).Abs()),
		rank:      rankOf(p, d.At, now),
		bits:      width(d.Parts.Datacenter) + width(d.Parts.Worker) + width(d.Parts.Sequence),
		outside:   outside,
	}
}

// rankOf is 0 for the default layout, which has no few bits to show for itself: its
// worker ids and sequences start at random. It is 1 beyond an hour from now, and in the
// first sixty-fourth of the layout's time until now, which all small numbers are of.
func rankOf(p snowfence.Preset, at, now time.Time) int {
	epoch := p.Layout.Epoch
	if p.Name == "default" && at.After(epoch.Add(now.Sub(epoch)/64)) && !at.After(now.Add(time.Hour)) {
		return 0
	}
	return 1
}

// width is how many bits a part takes.
func width(part int64) int { return bits.Len64(uint64(part)) }

// ageClass is 0 within an hour of now, 1 within a day and 2 beyond. Epochs of
// one date in different zones are hours apart, so an hour separates them.
func ageClass(distance time.Duration) int {
	switch {
	case distance <= time.Hour:
		return 0
	case distance <= day:
		return 1
	default:
		return 2
	}
}
