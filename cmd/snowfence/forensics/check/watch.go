package check

import "snowfence.example/snowfence/cmd/snowfence/forensics/idsort"

// maxSightings bounds how many worker ids are watched, over all sources.
const maxSightings = 1 << 15

// watcher follows the ids in the order of reading.
type watcher struct {
	fields    *fields               // nil: no layout is known
	workers   []map[int64]*sighting // by source
	sightings int
}

// sighting is the course of a worker id in a source.
type sighting struct {
	ids, repeated uint64 // rows, and how many of them came before
	low, high     uint64 // ticks
	tick, rank    uint64 // of the last id
	top           uint64 // the highest rank
	furthest      descent
	open          descent // the last one, with ids as long as it goes on
}

// descent is a place where the rank of a worker id went down, and the different ids from
// there until one is above all before, or until the rank goes down again.
type descent struct {
	ids, at, end uint64 // the positions of the first and the last
	from, to     uint64 // ticks before and after
}

// see watches items of a source.
func (o *watcher) see(source int, items []idsort.Item) {
	for len(o.workers) <= source {
		o.workers = append(o.workers, map[int64]*sighting{})
	}
	workers, f := o.workers[source], o.fields
	var s *sighting
	var of int64 // whose s is: ids of a worker id come in runs
	for _, x := range items {
		id := uint64(x.ID)
		if f == nil || !f.fits(id) {
			continue
		}
		number := f.number(id)
		if s == nil || number != of {
			s, of = workers[number], number
		}
		if s == nil {
			if o.sightings == maxSightings {
				continue
			}
			o.sightings++
			s = &sighting{}
			workers[number] = s
		}
		s.see(f.tick.of(id), f.rank(id), x.At)
	}
}

// see adds an id.
func (s *sighting) see(tick, rank, at uint64) {
	switch {
	case s.ids == 0:
		s.low, s.high = tick, tick
	case rank < s.rank:
		s.open = descent{ids: 1, at: at, from: s.tick, to: tick}
	case rank > s.top:
		s.open = descent{}
	case rank > s.rank && s.open.ids > 0:
		s.open.ids++
	}
	if d := &s.open; d.ids > 0 {
		d.end = at
		if s.furthest.at == d.at || s.furthest.ids == 0 || d.from-d.to > s.furthest.from-s.furthest.to {
			s.furthest = *d
		}
	}
	s.ids++
	s.tick, s.rank, s.top = tick, rank, max(s.top, rank)
	s.low, s.high = min(s.low, tick), max(s.high, tick)
}
