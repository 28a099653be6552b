package check

const (
	// maxDescents is up to how many times of a worker id going back in a source
	// are kept one by one, and allDescents how many of all of them.
	maxDescents = 16
	allDescents = 3 << 13
)

// sighting is what was seen of a worker id in a source, in the order of reading.
type sighting struct {
	ids       uint64
	begin     uint64 // position of the first
	low, high uint64 // ticks
	crowded   uint64 // ids in the tick of the one before, or in the next
	turns     uint64 // how often the steps of its rise changed, all in all
	descents  uint64 // how often its rank went down
	went      []descent
	open      bool   // whether the last descent is not made up for yet
	rise      ascent // since the last descent

	// Two rising sequences are laid over the ids: each id belongs to the upper one
	// if it continues that, else to the lower one, else to none. The numbers are
	// the last rank of each, plus 1.
	upper, lower  uint64
	second, third uint64 // ids in the lower one, and in none
}

// descent is a place where the rank of a worker id went down, and the ids from
// there until one is above all before, or the rank goes down again: its run.
type descent struct {
	ascent          // the run
	at       uint64 // position of the id after it, the first of the run
	end      uint64 // position of the last
	from, to uint64 // ticks before and after
	top      uint64 // the highest rank before
	topTick  uint64
	pace     uint64 // ticks from one id to the next, before it
	wentOn   bool   // whether an id above all before ended the run
	next     uint64 // the tick of that

	// Of the ids before it that are in a row above the place where it goes back to,
	// the number and how often their steps change; zero if that can't be told.
	ahead, aheadTurns uint64
}

// ascent is ids of a worker id whose ranks rise. A step goes from the first id of
// a tick to the first of the next tick that has any. It changes when it is not as
// long as the one before, or the tick has not as many ids as the one before: an
// even pace has no changes, whether it is one id a second or all that a tick has.
type ascent struct {
	rows   uint64 // different ids
	first  uint64 // ranks
	last   uint64
	until  uint64 // the tick of the last
	tick   uint64 // rank of the first id of the tick
	ids    uint64 // in the tick
	step   uint64 // the last one
	filled uint64 // ids in the tick before
	steps  uint64
	turns  uint64

	// What follows the longest step.
	widest  uint64 // in ticks
	before  uint64 // rank ahead of it
	after   uint64 // rank behind it
	skipped uint64 // ids up to it
	turned  uint64 // turns up to it
}

// see adds an id.
func (s *sighting) see(o *observer, tick, rank, at uint64) {
	switch {
	case s.ids == 0:
		s.low, s.high, s.begin = tick, tick, at
		s.rise.start(rank, tick)
	case rank < s.rise.last:
		s.goBack(o, tick, rank, at)
	case rank >= s.upper:
		if s.open {
			d := &s.went[len(s.went)-1]
			d.wentOn, d.next = true, tick
			s.open = false
		}
		s.goOn(rank, tick)
	case rank > s.rise.last:
		s.goOn(rank, tick)
	}
	if s.open {
		d := &s.went[len(s.went)-1]
		d.end, d.ascent = at, s.rise
	}
	s.low, s.high = min(s.low, tick), max(s.high, tick)
	switch {
	case rank >= s.upper:
		s.upper = rank + 1
	case rank >= s.lower:
		s.lower = rank + 1
		s.second++
	default:
		s.third++
	}
	s.ids++
}

// goOn adds an id to the rise.
func (s *sighting) goOn(rank, tick uint64) {
	turns := s.rise.turns
	if tick-s.rise.until <= 1 {
		s.crowded++
	}
	s.rise.add(rank, tick)
	s.turns += s.rise.turns - turns
}

// goBack notes a descent.
func (s *sighting) goBack(o *observer, tick, rank, at uint64) {
	s.descents++
	s.open = len(s.went) < maxDescents && o.descents < allDescents
	if s.open {
		o.descents++
		d := descent{at: at, from: s.rise.until, to: tick, top: s.upper - 1, topTick: s.high, pace: (s.high - s.low) / s.ids}
		switch p := &s.rise; {
		case rank <= p.first:
			d.ahead, d.aheadTurns = p.rows, p.turns
		case rank > p.before && rank <= p.after:
			d.ahead, d.aheadTurns = p.rows-p.skipped, p.turns-p.turned
		}
		s.went = append(s.went, d)
	}
	s.rise.start(rank, tick)
}

// followed reports whether all descents are kept, so that every id that was there
// before is in the run of one, or follows itself.
func (s *sighting) followed() bool { return s.descents == uint64(len(s.went)) }

// itself is the run of ids that follow themselves.
const itself = -1

// run returns the descent in whose run the second of two positions is and the first
// is not, or itself if there is none.
func (s *sighting) run(a, b uint64) int {
	for i := range s.went {
		if d := &s.went[i]; a < d.at && d.at <= b && b <= d.end {
			return i
		}
	}
	return itself
}

// start begins an ascent.
func (p *ascent) start(rank, tick uint64) {
	*p = ascent{rows: 1, first: rank, last: rank, until: tick, tick: rank, ids: 1}
}

// add adds an id that is above the last.
func (p *ascent) add(rank, tick uint64) {
	before, ticks := p.last, tick-p.until
	p.last, p.until = rank, tick
	p.rows++
	if ticks == 0 {
		p.ids++
		return
	}
	p.steps++
	step := rank - p.tick
	if p.step != 0 && (step != p.step || p.filled != 0 && p.ids != p.filled) {
		p.turns++
	}
	p.step, p.tick, p.filled, p.ids = step, rank, p.ids, 1
	if ticks > p.widest {
		p.widest, p.before, p.after = ticks, before, rank
		p.skipped, p.turned = p.rows-1, p.turns
	}
}
