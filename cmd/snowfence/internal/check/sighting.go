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
	low, high uint64 // ticks
	crowded   uint64 // ids in the tick of the one before, or in the next
	rank      uint64 // of the last id
	tick      uint64
	descents  uint64 // how often its rank went down
	went      []descent
	open      bool // whether the last descent is not made up for yet

	// Two rising sequences are laid over the ids: each id continues the upper one, else
	// the lower one, else none. The numbers are the last rank of each, plus 1.
	upper, lower  uint64
	second, third uint64 // ids in the lower one, and in none
}

// descent is a place where the rank of a worker id went down, and the ids from
// there until one is above all before, or the rank goes down again: its run.
type descent struct {
	rows     uint64 // different ids of the run
	at, end  uint64 // positions of its first and its last
	from, to uint64 // ticks before and after
}

// see adds an id.
func (s *sighting) see(o *observer, tick, rank, at uint64) {
	switch {
	case s.ids == 0:
		s.low, s.high = tick, tick
	case rank < s.rank:
		s.descents++
		s.open = len(s.went) < maxDescents && o.descents < allDescents
		if s.open {
			o.descents++
			s.went = append(s.went, descent{rows: 1, at: at, from: s.tick, to: tick})
		}
	case rank > s.rank:
		s.open = s.open && rank < s.upper
		if s.open {
			s.went[len(s.went)-1].rows++
		}
		if tick-s.tick <= 1 {
			s.crowded++
		}
	}
	if s.open {
		s.went[len(s.went)-1].end = at
	}
	s.rank, s.tick = rank, tick
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
