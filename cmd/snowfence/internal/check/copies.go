package check

// leastTurns is how often the steps from row to row must change, at least, for rows
// that stand in two places in the same order to be copied ones. No generator repeats
// its changes, and two processes hardly have the same: the chance is 3^-n or less. An
// even pace has no changes, whether it is one id a second, all that a tick has or
// numbers that a database counts up; it proves nothing.
const leastTurns = 16

// pace follows ids from row to row. A step goes from the first id of a tick to the
// first of the next tick that has any.
type pace struct {
	tick, at    uint64 // of the last step's end
	ticks, rows uint64 // the last step
	turns       uint64 // how often steps changed
}

// add adds an id that is above the last. Ticks count from 1.
func (p *pace) add(tick, at uint64) {
	if tick == p.tick {
		return
	}
	var ticks, rows uint64
	if p.tick != 0 {
		ticks, rows = tick-p.tick, at-p.at
	}
	if p.ticks != 0 && (ticks != p.ticks || rows != p.rows) {
		p.turns++
	}
	p.tick, p.at, p.ticks, p.rows = tick, at, ticks, rows
}

// course is a distance by which rows may have been copied.
type course struct {
	sources  [2]int
	distance uint64
}

// line is all pairs of a course, whatever their worker ids.
type line struct {
	course
	pairs
	turns uint64
}

// copies finds the rows that were copied: the lines in which hardly any row is left
// out, and which two processes, or one whose clock was set back, would not issue.
func (j *judge) copies(all []*group) map[course]*line {
	lines := map[course]*line{}
	for _, g := range all {
		for _, b := range g.blocks {
			at := course{g.sources, b.distance}
			l := lines[at]
			if l == nil {
				l = &line{course: at}
				lines[at] = l
			} else {
				l.turns++ // no clock makes several processes write in the same order again
			}
			l.pairs.add(b.pairs)
			l.turns += b.turns
		}
	}
	for at, l := range lines {
		if l.turns < leastTurns || l.count*10 < (l.high-l.low+1)*9 {
			delete(lines, at)
		}
	}
	return lines
}
