package check

import (
	"cmp"
	"slices"
)

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
// the two apart, and the report says so. If such a run goes on past where the ids
// were before, or stops short of it, as a clock that was set back makes it do, that
// is what it is called: the other is rows that were copied just so. If it ends there
// to the id, copies of the last rows are as likely, and it is not decided.
const (
	// maxBlocks is how many blocks of rows a run may be copied from.
	maxBlocks = 4
	// leastTurns is how many changes of steps are taken for proof, and turnsOfBlock
	// what is taken off for the gap between two blocks.
	leastTurns   = 8
	turnsOfBlock = 2
	// lowSequence is the part of a tick's sequence numbers in which generators
	// begin: the lowest quarter.
	lowSequence = 4
	// sparse is how many times as many rows as repeat there must be for these to be
	// single ones.
	sparse = 8
)

// repeats is the pairs of a worker id whose second id is in one run. It does not
// depend on the order in which they are added.
type repeats struct {
	source      int
	worker      int64
	of          *descent
	count       uint64
	first, last uint64 // ids
	aLow, aHigh uint64
	blocks      []line // one of each distance, if there are up to maxBlocks
	spread      bool   // there are more
}

// inRun adds a pair of one worker id in one source, if all was kept of how its ids
// went back.
func (j *judge) inRun(p pair, sources [2]int) bool {
	f := j.observer.fields
	if sources[0] != sources[1] || f == nil || j.foreign[sources] || !f.fits(p.id) {
		return false
	}
	worker := f.number(p.id)
	s := j.observer.sources[sources[0]].sighting(worker)
	if s == nil || !s.followed() {
		return false
	}
	r := j.repeats(s.run(p.a, p.b), sources[0], worker)
	r.join(&repeats{
		count: 1, first: p.id, last: p.id, aLow: p.a, aHigh: p.a,
		blocks: []line{{sources: sources, distance: p.b - p.a, count: 1, first: p, last: p.id, aLow: p.a, aHigh: p.a}},
	})
	return true
}

// repeats returns those of a run.
func (j *judge) repeats(of runOf, source int, worker int64) *repeats {
	r := j.runs[of]
	if r == nil {
		r = &repeats{source: source, worker: worker, of: &descent{}}
		if of.descent != itself {
			r.of = &of.sighting.went[of.descent]
		}
		j.runs[of] = r
	}
	return r
}

// join adds others of the same run.
func (r *repeats) join(o *repeats) {
	if r.count == 0 {
		r.first, r.last, r.aLow, r.aHigh = o.first, o.last, o.aLow, o.aHigh
	}
	r.count += o.count
	r.first, r.last = min(r.first, o.first), max(r.last, o.last)
	r.aLow, r.aHigh = min(r.aLow, o.aLow), max(r.aHigh, o.aHigh)
	r.spread = r.spread || o.spread
	for i := range o.blocks {
		if !r.spread {
			r.block(&o.blocks[i])
		}
	}
	if r.spread {
		r.blocks = nil
	}
}

func (r *repeats) block(l *line) {
	for i := range r.blocks {
		if b := &r.blocks[i]; b.distance == l.distance {
			b.add(l)
			b.held = nil
			return
		}
	}
	r.blocks = append(r.blocks, *l)
	r.spread = len(r.blocks) > maxBlocks
}

// fresh is how many ids of the run were not there before.
func (r *repeats) fresh() uint64 { return r.of.rows - min(r.of.rows, r.count) }

// follows reports whether these are ids that follow themselves.
func (r *repeats) follows() bool { return r.of.rows == 0 }

// settleRuns judges the runs, when all of their pairs are there.
func (j *judge) settleRuns() {
	all := make([]*repeats, 0, len(j.runs))
	for _, r := range j.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *repeats) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.aLow, b.aLow), cmp.Compare(a.first, b.first))
	})
	copied := j.copiedBlocks(all)
	for _, r := range all {
		j.settleRun(r, copied)
	}
	j.runs = nil
}

// move is a distance by which rows of a source may have been copied.
type move struct {
	source   int
	distance uint64
}

// moved is what of a source repeats at one distance, of all worker ids.
type moved struct {
	line
	marks uint64 // of rows that were copied
	told  bool   // whether it was noted
}

// copiedBlocks finds the rows that were copied with all that stood between them,
// whatever their worker ids. Worker ids that go back by the same number of rows
// are a mark each: no clock makes several processes write in the same order again.
func (j *judge) copiedBlocks(all []*repeats) map[move]*moved {
	whole := map[move]*moved{}
	for _, r := range all {
		if r.spread || !r.follows() && r.fresh() > 0 {
			continue
		}
		marks := j.marks(r)
		for i := range r.blocks {
			b := &r.blocks[i]
			at := move{r.source, b.distance}
			m := whole[at]
			if m == nil {
				m = &moved{line: *b, marks: marks}
				m.held = nil
				whole[at] = m
				continue
			}
			m.add(b)
			m.held = nil
			m.marks += marks + 1
		}
	}
	for at, m := range whole {
		if m.count < 2 || m.marks < leastTurns || !m.dense() {
			delete(whole, at)
		}
	}
	return whole
}

// marks counts what speaks against a generator, in a run without a new id.
func (j *judge) marks(r *repeats) uint64 {
	if r.follows() {
		return 0
	}
	d := r.of
	marks := d.turns - min(d.turns, turnsOfBlock*uint64(len(r.blocks)-1))
	if j.midTick(d) || j.resumed(d) {
		marks += leastTurns
	}
	// All that there is of a worker id, once more, from its first id to its last.
	if s := j.observer.sources[r.source].sighting(r.worker); r.aLow == s.begin && d.last == d.top && d.rows >= leastTurns {
		marks += leastTurns
	}
	return marks
}

// midTick reports whether a run begins where no generator begins a tick.
func (j *judge) midTick(d *descent) bool {
	f := j.observer.fields
	return f.sequence.mask > 0 && d.first&f.sequence.mask > f.sequence.mask/lowSequence
}

// resumed reports whether the ids go on, after a run, from where they were before
// it, so soon that the time of the run is missing: a clock that was set back and
// put right would have run on meanwhile.
func (j *judge) resumed(d *descent) bool {
	return d.wentOn && !d.paced() && d.next-d.topTick <= d.stride() && d.lastTick-d.to > d.stride()
}

// stride is up to how many ticks a next id is one of the same pace.
func (d *descent) stride() uint64 { return 2 * max(1, d.widest, d.pace) }

// paced reports whether the ids go on after the run at its own pace.
func (d *descent) paced() bool { return d.wentOn && d.next-d.lastTick <= d.stride() }

// even reports whether a run keeps one pace all along.
func (d *descent) even() bool { return d.turns == 0 && d.steps >= leastTurns }

// settleRun judges a run.
func (j *judge) settleRun(r *repeats, copied map[move]*moved) {
	whole := !r.spread && (r.follows() || r.fresh() == 0)
	for i := range r.blocks {
		whole = whole && copied[move{r.source, r.blocks[i].distance}] != nil
	}
	sources := [2]int{r.source, r.source}
	if whole {
		f := j.finding(subject{Copies, sources, -1, plain})
		f.note(r.first, r.count)
		f.note(r.last, 0)
		for i := range r.blocks {
			if m := copied[move{r.source, r.blocks[i].distance}]; !m.told {
				f.copied(&m.line)
				m.told = true
			}
		}
		return
	}
	s := subject{sources: sources, worker: r.worker}
	s.kind, s.why = j.verdict(r)
	if s.kind == Copies {
		s.worker = -1
	}
	f := j.finding(s)
	f.note(r.first, r.count)
	f.note(r.last, 0)
	f.issued += r.of.rows
	for i := range r.blocks {
		f.copied(&r.blocks[i])
	}
	if !r.follows() {
		f.went(r.of)
	}
}

// verdict names the cause of a run that is not a part of rows copied whole.
func (j *judge) verdict(r *repeats) (Kind, reason) {
	d := r.of
	generator := SetBack
	why := plain
	if d.from == d.to {
		generator, why = Overlapping, restarted
	}
	single := len(r.blocks) == 1
	// How many rows of this worker id lie between the first and the last of the
	// ones that repeat, and how many it went back.
	between, back := j.own(r, r.aHigh-r.aLow+1), uint64(0)
	if single {
		back = j.own(r, r.blocks[0].distance)
	}
	switch {
	case r.follows() && j.observer.sources[r.source].falls == 0:
		return Unexplained, sorted
	case r.follows():
		return Unexplained, following
	case r.fresh() > 0 && (!single || r.count != d.ahead):
		return generator, why
	case r.fresh() > 0 && d.aheadTurns >= leastTurns:
		return Copies, plain // the first copy stands before its place
	case r.fresh() > 0 && d.ahead*sparse > d.rows:
		return generator, why
	case r.fresh() > 0 && d.ahead > 1:
		return Unexplained, undecided
	case r.fresh() > 0:
		return Doubled, plain
	case d.rows == 1 && (j.midTick(d) || d.wentOn && !d.paced() || !d.wentOn && back >= sparse):
		return Doubled, plain
	case d.rows == 1:
		return Unexplained, undecided
	case single && d.wentOn && !d.paced() && d.rows < sparse:
		return Doubled, plain
	case single && d.paced() && d.last < d.top:
		return generator, why // it ran on, and left out what was above the run
	case single && d.even() && (d.paced() || !d.wentOn && d.last < d.top):
		return generator, why
	case d.rows*sparse <= between:
		return Doubled, plain
	case r.spread:
		return generator, why
	}
	return Unexplained, undecided
}

// own is how many of a number of rows of a source are of one worker id, about.
func (j *judge) own(r *repeats, rows uint64) uint64 {
	w := j.observer.sources[r.source]
	return uint64(float64(rows) * float64(w.sighting(r.worker).ids) / float64(w.ids))
}
