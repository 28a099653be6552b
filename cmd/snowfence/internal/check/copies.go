package check

const (
	// leastCopies is how many duplicates in a row must be as far apart as the one
	// before for them to be copied rows: two processes may well issue some hundred
	// ids alike, and any number if they keep an even pace. Where the rows stand in no
	// order, which no generator repeats, leastUnordered are enough.
	leastCopies    = 256
	leastUnordered = 32
	// inNoOrder is what part of the ids of a source are lower than the one before,
	// at least, when it is in no order: an eighth.
	inNoOrder = 8
)

// course is a distance by which rows may have been copied.
type course struct {
	sources  [2]int
	distance uint64
	apart    bool // the pairs are in no run
}

func (g *group) course(b block) course { return course{g.sources, b.distance, g.run == apart} }

// line is all pairs of a course, whatever their worker ids.
type line struct {
	course
	pairs
	worker int64 // of all its ids; -1 if they are of several
	marks  uint64
	kind   Kind
	why    reason
	noted  bool // in a finding
}

// copies finds the rows that were copied: the lines in which hardly any row is left
// out, and which two processes, or one whose clock was set back, would hardly issue.
func (j *judge) copies(all []*group) map[course]*line {
	lines := map[course]*line{}
	for _, g := range all {
		marks := uint64(0)
		if g.run != apart {
			if g.spread() || g.fresh() > 0 {
				continue
			}
			marks = j.marks(g)
		}
		for _, b := range g.blocks {
			l := lines[g.course(b)]
			if l == nil {
				l = &line{course: g.course(b), worker: g.worker, kind: Copies}
				lines[l.course] = l
			} else {
				l.marks++ // no clock makes several processes write in the same order again
				if l.worker != g.worker {
					l.worker = -1
				}
			}
			l.pairs.add(b.pairs)
			l.marks += marks
		}
	}
	for at, l := range lines {
		switch {
		case l.count*10 < (l.high-l.low+1)*9,
			l.apart && l.count < j.least(l.sources),
			!l.apart && (l.count < 2 || l.marks < leastTurns):
			delete(lines, at)
		case l.apart && j.even(l):
			j.evenly[l.sources] += l.count
			delete(lines, at)
		case l.apart && j.counted(l):
			l.kind, l.why = Unexplained, counted
		}
	}
	return lines
}

// note notes the line in a finding, once.
func (l *line) note(f *finding) {
	if !l.noted {
		f.copied(*l)
		l.noted = true
	}
}

// least is how many duplicates of two sources must be equally far apart for them to
// be copied rows.
func (j *judge) least(sources [2]int) uint64 {
	for _, s := range sources {
		if w := j.observer.sources[s]; w.falls*inNoOrder < w.ids {
			return leastCopies
		}
	}
	return leastUnordered
}

// counted reports whether a line is of numbers with hardly a gap, of no layout that
// was named: each database counts up from its own beginning, and two come to the
// same numbers in the same order. Numbers in no order are not counted so.
func (j *judge) counted(l *line) bool {
	return j.Layout == nil && j.least(l.sources) == leastCopies && l.last-l.first < 2*l.count
}

// even reports whether a line between two sources is of one worker id that keeps so
// even a pace in both that two processes may well have issued it.
func (j *judge) even(l *line) bool {
	if l.worker < 0 || l.sources[0] == l.sources[1] || j.observer.fields.layout.Workers() == 1 || j.least(l.sources) != leastCopies {
		return false
	}
	for _, s := range l.sources {
		if w := j.observer.sources[s].sighting(l.worker); w == nil || w.turns*l.count >= leastTurns*w.ids {
			return false
		}
	}
	return true
}
