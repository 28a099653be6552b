package merge

import (
	"snowfence.example/snowfence"
)

// Span is an interval of numbers, both ends included; empty when Last is below First.
type Span[N ~int64] struct{ First, Last N }

// Ticks is an interval of ticks.
type Ticks = Span[snowfence.Tick]

// Workers is an interval of worker numbers.
type Workers = Span[int64]

// Empty reports whether no number is in it.
func (s Span[N]) Empty() bool { return s.Last < s.First }

// Has reports whether a number is in it.
func (s Span[N]) Has(n N) bool { return s.First <= n && n <= s.Last }

// Meet returns the numbers that are in both.
func (s Span[N]) Meet(other Span[N]) Span[N] {
	return Span[N]{max(s.First, other.First), min(s.Last, other.Last)}
}

// AllTicks are the ticks that fit the layout's time.
func AllTicks(l snowfence.Layout) Ticks {
	return Ticks{0, snowfence.Tick(mask(l.Bits(snowfence.Time)))}
}

// AllWorkers are the worker numbers of the layout.
func AllWorkers(l snowfence.Layout) Workers { return Workers{0, l.Workers() - 1} }

// Set is the ids of a layout with some ticks and some worker numbers, and any sequence.
// What lies beyond the layout's fields is in no set.
type Set struct {
	// Layout must be valid.
	Layout  snowfence.Layout
	Ticks   Ticks
	Workers Workers
	// Issued says that all of them are issued, whatever the time.
	Issued bool
}

// Until returns the set without the ticks above last.
func (s Set) Until(last snowfence.Tick) Set {
	s.Ticks.Last = min(s.Ticks.Last, last)
	return s
}

// lane is a box, as the walk over the bits reads it: the bounds of all fields side
// by side, and a bit set where a field has its highest. The bits above the fields
// are a field that must be 0; the walk begins in it.
type lane struct{ starts, low, high uint64 }

// lanes cuts the set into boxes. They have no integer in common.
func (s Set) lanes() []lane {
	ticks, workers := s.Ticks.Meet(AllTicks(s.Layout)), s.Workers.Meet(AllWorkers(s.Layout))
	if ticks.Empty() || workers.Empty() {
		return nil
	}
	split := s.Layout.Bits(snowfence.Worker)
	within := int64(mask(split))
	first, last := workers.First>>split, workers.Last>>split
	low, high := workers.First&within, workers.Last&within
	if first == last {
		return []lane{s.lane(ticks, Workers{first, last}, Workers{low, high})}
	}
	var lanes []lane
	if low > 0 { // the first datacenter from the middle
		lanes = append(lanes, s.lane(ticks, Workers{first, first}, Workers{low, within}))
		first++
	}
	if high < within { // the last datacenter up to the middle
		lanes = append(lanes, s.lane(ticks, Workers{last, last}, Workers{0, high}))
		last--
	}
	if first <= last {
		lanes = append(lanes, s.lane(ticks, Workers{first, last}, Workers{0, within}))
	}
	return lanes
}

func (s Set) lane(ticks Ticks, datacenters, workers Workers) lane {
	var l lane
	for _, span := range s.Layout.Spans() {
		var low, high uint64
		switch span.Field.Kind {
		case snowfence.Time:
			low, high = uint64(ticks.First), uint64(ticks.Last)
		case snowfence.Datacenter:
			low, high = uint64(datacenters.First), uint64(datacenters.Last)
		case snowfence.Worker:
			low, high = uint64(workers.First), uint64(workers.Last)
		default:
			high = mask(span.Field.Bits)
		}
		l.starts |= 1 << span.High
		l.low |= low << span.Low
		l.high |= high << span.Low
	}
	return l
}

// mask is a number of that many bits, all set.
func mask(bits int) uint64 { return 1<<bits - 1 }
