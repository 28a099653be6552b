package check

import (
	"cmp"
	"slices"
	"time"
)

const (
	// leastCopies is how many duplicates in a row must be as far apart as the one
	// before for them to be copies of rows.
	leastCopies = 256
	// openLines is how many such rows may go on at a time.
	openLines = 8
	// maxFindings bounds how many findings are told apart, and maxLong how many
	// long rows of copies.
	maxFindings = 1 << 12
	maxLong     = 1 << 8
	// edge is what part of the shorter of two terms they have in common at most
	// when one follows the other and begins too early: a tenth.
	edge = 10
	// interleaved is what part of the ids of a worker id may fit neither of two
	// rising sequences when two processes issued them: a fiftieth.
	interleaved = 50
)

// judge takes pairs of places with equal ids, lowest ids first, and counts them
// by what explains them. Everything that it looks up was seen while reading and
// does not change any more.
type judge struct {
	observer *observer
	tops     []uint64
	foreign  map[[2]int]bool // pairs of sources that two layouts explain

	lines    []line // that may go on
	long     []line // that have leastCopies, one of each distance
	clock    uint64
	findings map[subject]*finding
	nothing  map[[2]int]int // pairs of sources of which one has no id of its own: that one
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
)

// finding is what was counted of a subject.
type finding struct {
	count       uint64
	first, last uint64   // ids
	event       *descent // the furthest
	longest     line     // of copies
	lines       uint64
}

// pair is an id that stands at two positions, a before b.
type pair struct{ id, a, b uint64 }

// line is pairs that are equally far apart, lowest ids first.
type line struct {
	sources  [2]int
	distance uint64
	count    uint64
	first    pair
	last     uint64 // id
	aLow     uint64 // positions of the first occurrences
	aHigh    uint64
	used     uint64
	held     []pair // until there are leastCopies
}

// add judges a pair.
func (j *judge) add(id, a, b uint64) {
	p := pair{id, a, b}
	sources := [2]int{sourceOf(j.tops, a), sourceOf(j.tops, b)}
	j.clock++
	for i := range j.lines {
		l := &j.lines[i]
		if l.distance != b-a || l.sources != sources {
			continue
		}
		l.count++
		l.used, l.last = j.clock, id
		l.aLow, l.aHigh = min(l.aLow, a), max(l.aHigh, a)
		if l.count <= leastCopies {
			l.held = append(l.held, p)
		}
		return
	}
	if len(j.lines) == openLines {
		oldest := 0
		for i := range j.lines {
			if j.lines[i].used < j.lines[oldest].used {
				oldest = i
			}
		}
		j.endLine(&j.lines[oldest])
		j.lines = slices.Delete(j.lines, oldest, oldest+1)
	}
	j.lines = append(j.lines, line{sources, b - a, 1, p, id, a, a, j.clock, []pair{p}})
}

// end ends what goes on.
func (j *judge) end() {
	for i := range j.lines {
		j.endLine(&j.lines[i])
	}
	j.lines = nil
}

// endLine judges a short line pair by pair, and keeps a long one: what other
// ranges of ids have of it is to be added.
func (j *judge) endLine(l *line) {
	for i := range j.long {
		m := &j.long[i]
		if m.distance == l.distance && m.sources == l.sources {
			m.add(l)
			return
		}
	}
	if l.count >= leastCopies && len(j.long) < maxLong {
		j.long = append(j.long, *l)
		return
	}
	j.apart(l)
}

// add adds a piece of the same line.
func (l *line) add(m *line) {
	l.count += m.count
	l.aLow, l.aHigh = min(l.aLow, m.aLow), max(l.aHigh, m.aHigh)
	if m.first.id < l.first.id {
		l.first = m.first
	}
	l.last = max(l.last, m.last)
	if room := leastCopies - len(l.held); room > 0 {
		l.held = append(l.held, m.held[:min(room, len(m.held))]...)
	}
}

// settle judges the long lines, when nothing will be added. Rows were copied when
// hardly any between the first and the last of them were not.
func (j *judge) settle() {
	j.end()
	for i := range j.long {
		l := &j.long[i]
		if l.count*10 < (l.aHigh-l.aLow+1)*9 {
			j.apart(l)
			continue
		}
		f := j.finding(subject{Copies, l.sources, -1, plain})
		f.note(l.first.id, l.count)
		f.note(l.last, 0)
		f.lines++
		if l.count > f.longest.count {
			f.longest = *l
		}
	}
	j.long = nil
	for s, f := range j.findings {
		if s.why != twoSequences || s.worker < 0 {
			continue
		}
		// A second process would have issued ids that the first did not.
		if seen := j.observer.sources[s.sources[0]].sighting(s.worker); f.count >= seen.second+seen.third {
			delete(j.findings, s)
			g := j.finding(subject{Unexplained, s.sources, s.worker, repeating})
			g.note(f.first, f.count)
			g.note(f.last, 0)
		}
	}
}

// apart judges the pairs of a line one by one. Those that were not held are of
// the same two sources, and counted as the last one that was.
func (j *judge) apart(l *line) {
	for _, p := range l.held {
		j.one(p, l.sources, 1)
	}
	if more := l.count - uint64(len(l.held)); more > 0 {
		j.one(l.held[len(l.held)-1], l.sources, more)
	}
}

// one judges a pair, n times.
func (j *judge) one(p pair, sources [2]int, n uint64) {
	s, event := j.subject(p, sources)
	s.sources = sources
	f := j.finding(s)
	f.note(p.id, n)
	f.went(event)
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
func (j *judge) subject(p pair, sources [2]int) (subject, *descent) {
	f := j.observer.fields
	unexplained := func(why reason, worker int64) (subject, *descent) {
		return subject{kind: Unexplained, worker: worker, why: why}, nil
	}
	switch {
	case j.foreign[sources]:
		return subject{kind: MixUp, worker: -1}, nil
	case f == nil:
		return unexplained(noLayout, -1)
	case !f.fits(p.id):
		return subject{kind: MixUp, worker: -1}, nil
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
			return subject{kind: Overlapping, worker: worker}, nil
		}
		return subject{kind: SameWorker, worker: worker}, nil
	}
	if one.descents <= maxDescents {
		tick := f.tick.of(p.id)
		for i, d := range one.went {
			switch {
			case d.at <= p.a || d.at > p.b || tick > d.from || tick < d.to:
			case d.from == d.to:
				return subject{kind: Overlapping, worker: worker, why: restarted}, &one.went[i]
			default:
				return subject{kind: SetBack, worker: worker}, &one.went[i]
			}
		}
	}
	switch {
	case j.observer.sources[sources[0]].falls == 0:
		return unexplained(sorted, worker)
	case f.layout.Workers() > 1 && one.descents > maxDescents && one.third*interleaved <= one.ids:
		return subject{kind: SameWorker, worker: worker, why: twoSequences}, nil
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
		mine.lines += f.lines
		if f.longest.count > mine.longest.count {
			mine.longest = f.longest
		}
		mine.went(f.event)
	}
}

// joinLine adds a row that may go on: in another range of ids it was as short, maybe.
func (j *judge) joinLine(l *line) {
	for i := range j.lines {
		if m := &j.lines[i]; m.distance == l.distance && m.sources == l.sources {
			m.add(l)
			return
		}
	}
	j.lines = append(j.lines, *l)
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
