package check

import "slices"

const (
	// leastCopies is how many duplicates in a row must be as far apart as the one
	// before for them to be copies of rows: two processes may well issue some
	// hundred ids alike, and any number if they keep an even pace. Where the rows
	// stand in no order, which no generator repeats, leastUnordered are enough.
	leastCopies    = 256
	leastUnordered = 32
	// inNoOrder is what part of the ids of a source are lower than the one before,
	// at least, when it is in no order: an eighth.
	inNoOrder = 8
	// openLines is how many such rows may go on at a time, and maxLong bounds how
	// many of them are kept.
	openLines = 8
	maxLong   = 1 << 8
)

// line is pairs that are equally far apart, lowest ids first.
type line struct {
	sources  [2]int
	distance uint64
	worker   int64 // of all its ids; -1 if they are of several
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
	if j.inRun(p, sources) {
		return
	}
	j.clock++
	worker := j.worker(id)
	for i := range j.lines {
		l := &j.lines[i]
		if l.distance != b-a || l.sources != sources {
			continue
		}
		l.of(worker)
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
	j.lines = append(j.lines, line{sources, b - a, worker, 1, p, id, a, a, j.clock, []pair{p}})
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
	if l.count >= j.least(l.sources) && len(j.long) < maxLong {
		j.long = append(j.long, *l)
		return
	}
	j.apart(l)
}

// add adds a piece of the same line.
func (l *line) add(m *line) {
	l.of(m.worker)
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

// of notes whose ids are added.
func (l *line) of(worker int64) {
	if l.worker != worker {
		l.worker = -1
	}
}

// worker is whose id it is, or -1 if that can't be told.
func (j *judge) worker(id uint64) int64 {
	if f := j.observer.fields; f != nil && f.layout.Workers() > 1 && f.fits(id) {
		return f.number(id)
	}
	return -1
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

// settleLong judges the long lines, when nothing will be added. Rows were copied
// when hardly any between the first and the last of them were not, and two
// processes would hardly have issued the like.
func (j *judge) settleLong() {
	for i := range j.long {
		l := &j.long[i]
		if !l.dense() {
			j.apart(l)
			continue
		}
		if j.even(l) {
			j.evenly[l.sources] += l.count
			j.apart(l)
			continue
		}
		s := subject{Copies, l.sources, -1, plain}
		if j.counted(l) {
			s.kind, s.why = Unexplained, counted
		}
		f := j.finding(s)
		f.note(l.first.id, l.count)
		f.note(l.last, 0)
		f.copied(l)
	}
	j.long = nil
}

// counted reports whether a line is of numbers with hardly a gap, of no layout that
// was named: each database counts up from its own beginning, and two come to the
// same numbers in the same order. Of numbers in no order nobody counts so.
func (j *judge) counted(l *line) bool {
	return j.observer.settled && j.least(l.sources) == leastCopies && l.last-l.first.id < 2*l.count
}

// dense reports whether nine tenths of the rows from the first to the last are of
// the line.
func (l *line) dense() bool { return l.count*10 >= (l.aHigh-l.aLow+1)*9 }

// even reports whether a line between two sources is of one worker id that keeps so
// even a pace in both that two processes may well have issued it.
func (j *judge) even(l *line) bool {
	if l.worker < 0 || l.sources[0] == l.sources[1] || j.least(l.sources) != leastCopies {
		return false
	}
	for _, s := range l.sources {
		w := j.observer.sources[s].sighting(l.worker)
		if w == nil || w.turns*l.count >= leastTurns*w.ids {
			return false
		}
	}
	return true
}

// copied notes a piece of copies.
func (f *finding) copied(l *line) {
	f.lines++
	if l.count > f.longest.count {
		f.longest = *l
	}
}

// least is how many duplicates of two sources must be equally far apart for them
// to be copies of rows.
func (j *judge) least(sources [2]int) uint64 {
	for _, s := range sources {
		if w := j.observer.sources[s]; w.falls*inNoOrder < w.ids {
			return leastCopies
		}
	}
	return leastUnordered
}

// apart judges the pairs of a line one by one. Those that were not held are of
// the same two sources, and counted as the last one that was.
func (j *judge) apart(l *line) {
	for _, p := range l.held {
		j.one(p, l.sources, 1)
	}
	if more := l.count - uint64(len(l.held)); more > 0 {
		p := l.held[len(l.held)-1]
		if l.worker >= 0 {
			p.id = l.last
		}
		j.one(p, l.sources, more)
	}
}
