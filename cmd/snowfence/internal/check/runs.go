package check

// A worker id whose ids go back within a source, and repeat some, is either that of
// a generator whose clock was set back or whose sequence began again, or its rows
// stand there twice. The two leave different marks:
//
//   - A generator goes on at its own pace. It issues ids that were not there before
//     and leaves out some that were. When nothing is new, nothing is left out and
//     the steps from id to id change often, it was no generator: that two runs have
//     the same n changes has a chance of 4^-n, or less.
//   - A generator begins a tick with a low number of its sequence.
//   - A clock that was set back stays back. Where the ids go on from where they were
//     before, as if nothing had been between, they were not late.
//
// Where the pace is even, and there is neither of the other marks, nothing tells
// the two apart, and the report says so. If such a run goes on past the ids before
// it, or stops short of them, it is called a clock set back: that is what a clock
// does, and rows would have to be copied just so. If it ends there to the id, copies
// of the last rows are as likely, and it is not decided.
const (
	// maxPieces is how many blocks of rows a run may be copied from.
	maxPieces = 4
	// leastTurns is how many changes of steps are taken for proof, and turnsOfBlock
	// what is taken off for the gap between two blocks.
	leastTurns   = 8
	turnsOfBlock = 2
	// lowSequence is the part of a tick's sequence numbers in which generators
	// begin: the lowest quarter.
	lowSequence = 4
	// sparse is how many times as many rows as duplicates there must be for these to
	// be single ones.
	sparse = 8
)

// follows reports whether these are ids that follow themselves.
func (g *group) follows() bool { return g.run == itself }

// fresh is how many ids of the run were not there before.
func (g *group) fresh() uint64 {
	if g.follows() {
		return 0
	}
	return g.seen.rows - min(g.seen.rows, g.count)
}

// spread reports whether the run repeats ids of too many places.
func (g *group) spread() bool { return g.rest.count > 0 || len(g.blocks) > maxPieces }

// marks counts what speaks against a generator, in a run without a new id.
func (j *judge) marks(g *group) uint64 {
	if g.follows() {
		return 0
	}
	d := g.seen
	marks := d.turns - min(d.turns, turnsOfBlock*uint64(len(g.blocks)-1))
	if j.midTick(d) || d.resumed() {
		marks += leastTurns
	}
	// All that there is of a worker id, once more, from its first id to its last.
	if g.low == j.sighting(g.subject, 0).begin && d.last == d.top && d.rows >= leastTurns {
		marks += leastTurns
	}
	return marks
}

// midTick reports whether a run begins where no generator begins a tick.
func (j *judge) midTick(d *descent) bool {
	mask := j.observer.fields.sequence.mask
	return mask > 0 && d.first&mask > mask/lowSequence
}

// resumed reports whether the ids go on, after a run, from where they were before
// it, so soon that the time of the run is missing: a clock that was set back and
// put right would have run on meanwhile.
func (d *descent) resumed() bool {
	return d.wentOn && !d.paced() && d.next-d.topTick <= d.stride() && d.until-d.to > d.stride()
}

// stride is up to how many ticks a next id is one of the same pace.
func (d *descent) stride() uint64 { return 2 * max(1, d.widest, d.pace) }

// paced reports whether the ids go on after the run at its own pace.
func (d *descent) paced() bool { return d.wentOn && d.next-d.until <= d.stride() }

// even reports whether a run keeps one pace all along.
func (d *descent) even() bool { return d.turns == 0 && d.steps >= leastTurns }

// settleRun judges a run: as rows that were copied if all of it was, else by itself.
func (j *judge) settleRun(g *group, lines map[course]*line) {
	whole := !g.spread() && g.fresh() == 0
	for _, b := range g.blocks {
		whole = whole && lines[g.course(b)] != nil
	}
	if whole {
		f := j.finding(label{Copies, plain, g.sources, -1})
		f.pairs.add(g.pairs)
		for _, b := range g.blocks {
			lines[g.course(b)].note(f)
		}
		return
	}
	kind, why := j.verdict(g)
	l := label{kind, why, g.sources, g.worker}
	if kind == Copies {
		l.worker = -1
	}
	f := j.finding(l)
	f.pairs.add(g.pairs)
	if !g.spread() {
		for _, b := range g.blocks {
			f.copied(line{course: g.course(b), pairs: b.pairs})
		}
	}
	if d := g.seen; d != nil {
		f.issued += d.rows
		if f.seen == nil || d.from-d.to > f.seen.from-f.seen.to {
			f.seen = d
		}
	}
}

// verdict finds the cause of a run that is not a part of rows copied whole.
func (j *judge) verdict(g *group) (Kind, reason) {
	if g.follows() {
		if j.observer.sources[g.sources[0]].falls == 0 {
			return Unexplained, sorted
		}
		return Unexplained, following
	}
	d := g.seen
	generator, why := SetBack, plain
	if d.from == d.to {
		generator, why = Overlapping, restarted
	}
	single := len(g.blocks) == 1 && !g.spread()
	if g.fresh() > 0 {
		switch {
		case !single || g.count != d.ahead:
			return generator, why
		// All rows above the place where it goes back stand again: they were copied
		// before their place.
		case d.aheadTurns >= leastTurns:
			return Copies, plain
		case d.ahead*sparse > d.rows:
			return generator, why
		case d.ahead > 1:
			return Unexplained, undecided
		}
		return Doubled, plain
	}
	back := uint64(0) // how many rows it went back
	if single {
		back = j.own(g, g.blocks[0].distance)
	}
	ended := d.wentOn && !d.paced() // the ids before it go on, and not the run
	stopped := !d.wentOn && d.last < d.top
	switch {
	case d.rows == 1 && (j.midTick(d) || ended || !d.wentOn && back >= sparse):
		return Doubled, plain
	case d.rows == 1:
		return Unexplained, undecided
	case single && ended && d.rows < sparse:
		return Doubled, plain
	case single && d.paced() && (d.last < d.top || d.even()): // it ran on
		return generator, why
	case single && d.even() && stopped:
		return generator, why
	case d.rows*sparse <= j.own(g, g.high-g.low+1):
		return Doubled, plain
	case g.spread():
		return generator, why
	}
	return Unexplained, undecided
}

// own is about how many of a number of rows of a source are of the group's worker id.
func (j *judge) own(g *group, rows uint64) uint64 {
	return uint64(float64(rows) * float64(j.sighting(g.subject, 0).ids) / float64(j.observer.sources[g.sources[0]].ids))
}
