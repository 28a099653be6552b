package check

import (
	"cmp"
	"slices"
	"time"
)

const (
	// maxFindings bounds how many findings are told apart.
	maxFindings = 1 << 12
	// edge is what part of the shorter of two terms they have in common at most
	// when one follows the other and begins too early: a tenth.
	edge = 10
	// interleaved is what part of the ids of a worker id may fit neither of two
	// rising sequences when two processes issued them, and what part must go back at
	// least: a fiftieth. Sequences that alternate go back all the time, a clock that is
	// set back does not.
	interleaved = 50
	// leastAlike is how many duplicates of a worker id are held against chance, at
	// least, and byChance how many times as many as two processes would share there
	// must be for the same records to be as likely. Of two sources a quarter of the ids
	// of the lesser one must be among them, too; see [judge.alike].
	leastAlike = 8
	byChance   = 4
)

// judge takes pairs of places with equal ids, lowest ids first, and counts them
// by what explains them. Everything that it looks up was seen while reading and
// does not change any more.
type judge struct {
	observer *observer
	tops     []uint64
	foreign  map[[2]int]bool // pairs of sources that two layouts explain

	lines    []line // that may go on
	long     []line // that have enough, one of each distance
	clock    uint64
	runs     map[runOf]*repeats
	findings map[subject]*finding
	evenly   map[[2]int]uint64 // how many duplicates of two sources may as well be of rows copied
	nothing  map[[2]int]int    // pairs of sources of which one has no id of its own: that one
}

// subject is what a finding is about. The worker id is -1 where it does not
// matter or where there are too many.
type subject struct {
	kind    Kind
	sources [2]int
	worker  int64
	why     reason
}

// reason says more of a kind.
type reason int

const (
	plain        reason = iota
	noLayout            // unexplained: no layout is known
	unordered           // unexplained: the order of the source says nothing
	sorted              // unexplained: the source is in the order of ids
	noWorker            // unexplained: the layout has no worker id
	restarted           // overlapping terms: the sequence began again within a source
	twoSequences        // same worker: two rising sequences within a source
	repeating           // unexplained: whatever comes late repeats an id
	following           // unexplained: an id follows itself
	undecided           // unexplained: rows that were copied or a clock set back
	counted             // unexplained: numbers that follow each other without a gap
	alike               // unexplained: more in common than two processes have by chance
	often               // unexplained: ids go back more often than is followed, but seldom alternate
)

// finding is what was counted of a subject.
type finding struct {
	count       uint64
	first, last uint64   // ids
	event       *descent // the furthest
	issued      uint64   // ids after such events, new ones too
	longest     line     // of copies
	lines       uint64
}

// pair is an id that stands at two positions, a before b.
type pair struct{ id, a, b uint64 }

// settle judges what could not be judged before everything was there.
func (j *judge) settle() {
	j.end()
	j.settleLong()
	j.settleRuns()
	for s, f := range j.findings {
		if s.kind != SameWorker || s.worker < 0 {
			continue
		}
		var why reason
		switch seen := j.observer.sources[s.sources[0]].sighting(s.worker); {
		case s.why == twoSequences && f.count >= seen.second+seen.third:
			why = repeating // a second process would have issued ids that the first did not
		case s.why == twoSequences && seen.descents*interleaved < seen.ids:
			why = often
		case j.alike(s, f.count):
			why = alike
		default:
			continue
		}
		delete(j.findings, s)
		g := j.finding(subject{Unexplained, s.sources, s.worker, why})
		g.note(f.first, f.count)
		g.note(f.last, 0)
	}
}

// alike reports whether two processes with one worker id would hardly have so many
// ids in common: its ids stand so far apart that few have another in their tick or
// in the next. The second process hits as few of them by chance. The same records,
// or two processes that act on the same events, have more.
//
// How far apart they stand is only seen where they stand in order, or nearly.
func (j *judge) alike(s subject, n uint64) bool {
	crowd, fewer := 0.0, ^uint64(0)
	seen := false
	for _, i := range s.sources {
		w := j.observer.sources[i].sighting(s.worker)
		fewer = min(fewer, w.ids)
		if w.descents*4 <= w.ids {
			crowd, seen = max(crowd, float64(w.crowded)/float64(w.ids)), true
		}
	}
	if s.why == twoSequences {
		// One log that two may have written: its second sequence is the fewer ids, and
		// only the steps within a sequence show how far apart they stand.
		w := j.observer.sources[s.sources[0]].sighting(s.worker)
		fewer, crowd = w.second+w.third, 2*crowd
	} else if n*4 < fewer {
		return false
	}
	return seen && n >= leastAlike && float64(n) > byChance*crowd*float64(fewer)
}

// one judges a pair, n times.
func (j *judge) one(p pair, sources [2]int, n uint64) {
	s := j.subject(p, sources)
	s.sources = sources
	j.finding(s).note(p.id, n)
}

// note counts.
func (f *finding) note(id, n uint64) {
	if f.count == 0 {
		f.first, f.last = id, id
	}
	f.first, f.last = min(f.first, id), max(f.last, id)
	f.count += n
}

// went notes a descent, if it is the furthest.
func (f *finding) went(d *descent) {
	if d != nil && (f.event == nil || d.from-d.to > f.event.from-f.event.to) {
		f.event = d
	}
}

// finding returns the finding of a subject. Where there are too many, worker ids
// are no longer told apart.
func (j *judge) finding(s subject) *finding {
	f := j.findings[s]
	if f == nil && len(j.findings) >= maxFindings {
		s.worker = -1
		f = j.findings[s]
	}
	if f == nil {
		f = &finding{}
		j.findings[s] = f
	}
	return f
}

// subject finds the cause of a pair, by the rules of the package's documentation.
func (j *judge) subject(p pair, sources [2]int) subject {
	f := j.observer.fields
	unexplained := func(why reason, worker int64) subject {
		return subject{kind: Unexplained, worker: worker, why: why}
	}
	switch {
	case j.foreign[sources]:
		return subject{kind: MixUp, worker: -1}
	case f == nil:
		return unexplained(noLayout, -1)
	case !f.fits(p.id):
		return subject{kind: MixUp, worker: -1}
	}
	worker := f.number(p.id)
	one, other := j.observer.sources[sources[0]].sighting(worker), j.observer.sources[sources[1]].sighting(worker)
	if one == nil || other == nil {
		return unexplained(plain, worker)
	}
	if sources[0] != sources[1] {
		if f.layout.Workers() == 1 {
			return unexplained(noWorker, -1)
		}
		if staggered(one, other) {
			return subject{kind: Overlapping, worker: worker}
		}
		return subject{kind: SameWorker, worker: worker}
	}
	switch {
	case j.observer.sources[sources[0]].falls == 0:
		return unexplained(sorted, worker)
	case f.layout.Workers() > 1 && one.descents > maxDescents && one.third*interleaved <= one.ids:
		return subject{kind: SameWorker, worker: worker, why: twoSequences}
	}
	return unexplained(unordered, worker)
}

// staggered reports whether of two terms one begins near the end of the other.
func staggered(a, b *sighting) bool {
	if a.low > b.low {
		a, b = b, a
	}
	common := min(a.high, b.high) - b.low + 1
	return a.low < b.low && a.high < b.high && common*edge <= min(a.high-a.low, b.high-b.low)+1
}

// join adds the findings of another range of ids.
func (j *judge) join(other *judge) {
	for i := range other.long {
		j.endLine(&other.long[i])
	}
	for i := range other.lines {
		j.joinLine(&other.lines[i])
	}
	for s, f := range other.findings {
		mine := j.finding(s)
		if f.count > 0 {
			mine.note(f.first, f.count)
			mine.note(f.last, 0)
		}
	}
	for of, r := range other.runs {
		j.repeats(of, r.source, r.worker).join(r)
	}
}

// foreign returns the pairs of sources whose ids are of two layouts: what is
// guessed for one does not suit nearly all ids of the other.
func foreign(o *observer, now time.Time) map[[2]int]bool {
	pairs := map[[2]int]bool{}
	if len(o.sources) > maxForeign {
		return pairs
	}
	guesses := make([]guess, len(o.sources))
	for i, w := range o.sources {
		if g, ok := guessLayout(w.sample, now); ok {
			guesses[i] = g
		}
	}
	for i, a := range o.sources {
		for k, b := range o.sources[:i] {
			g, h := guesses[i], guesses[k]
			if g.fit > 0 && h.fit > 0 && g.preset.Name != h.preset.Name &&
				(10*suits(b.sample, g.preset, now) <= len(b.sample) || 10*suits(a.sample, h.preset, now) <= len(a.sample)) {
				pairs[[2]int{k, i}] = true
			}
		}
	}
	return pairs
}

// maxForeign is up to how many sources are compared so.
const maxForeign = 16

// subjects are those of the findings, the most frequent first.
func (j *judge) subjects() []subject {
	var all []subject
	for s := range j.findings {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b subject) int {
		return cmp.Or(
			cmp.Compare(j.findings[b].count, j.findings[a].count),
			cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.sources[0], b.sources[0]),
			cmp.Compare(a.sources[1], b.sources[1]),
			cmp.Compare(a.worker, b.worker),
			cmp.Compare(a.why, b.why),
		)
	})
	return all
}
