package merge

import "snowfence.example/snowfence"

// Span is an interval of numbers, both ends included; empty when Last is below First.
type Span[N ~int64] struct{ First, Last N }

// Ticks is an interval of ticks.
type Ticks = Span[snowfence.Tick]

// Workers is an interval of worker numbers.
type Workers = Span[int64]

// Empty reports whether the interval is empty.
func (s Span[N]) Empty() bool { return s.Last < s.First }

// Has reports whether a number is in the interval.
func (s Span[N]) Has(n N) bool { return s.First <= n && n <= s.Last }

// Meet returns the numbers that are in both intervals.
func (s Span[N]) Meet(other Span[N]) Span[N] {
	return Span[N]{max(s.First, other.First), min(s.Last, other.Last)}
}

// allTicks are the ticks that fit the layout's time.
func allTicks(l snowfence.Layout) Ticks {
	return Ticks{0, snowfence.Tick(mask(l.Bits(snowfence.Time)))}
}

// allWorkers are the worker numbers of the layout.
func allWorkers(l snowfence.Layout) Workers { return Workers{0, l.Workers() - 1} }

// set is the ids of a layout with some ticks and some worker numbers, and any sequence.
type set struct {
	// Layout must be valid.
	Layout  snowfence.Layout
	Ticks   Ticks
	Workers Workers
}

// bounds returns two integers between which all ids of the set lie.
func (s set) bounds() (low, high uint64) {
	l, bits, first, last := s.Layout, s.Layout.Bits(snowfence.Worker), s.Workers.First, s.Workers.Last
	if first>>bits != last>>bits { // whole datacenters lie between
		first, last = first>>bits<<bits, last|int64(mask(bits))
	}
	at := func(tick snowfence.Tick, worker int64, sequence uint64) uint64 {
		return uint64(tick)<<l.Shift(snowfence.Time) | uint64(worker>>bits)<<l.Shift(snowfence.Datacenter) |
			uint64(worker)&mask(bits)<<l.Shift(snowfence.Worker) | sequence<<l.Shift(snowfence.Sequence)
	}
	return at(s.Ticks.First, first, 0), at(s.Ticks.Last, last, mask(l.Bits(snowfence.Sequence)))
}

// shape is where the fields of a layout begin, and how many bits they have. An integer has the same tick,
// worker number and sequence in all layouts of one shape, whatever their epochs and units.
type shape struct{ time, datacenter, worker, sequence [2]int }

func shapeOf(l snowfence.Layout) shape {
	of := func(kind snowfence.FieldKind) [2]int { return [2]int{l.Shift(kind), l.Bits(kind)} }
	s := shape{of(snowfence.Time), of(snowfence.Datacenter), of(snowfence.Worker), of(snowfence.Sequence)}
	if s.time[0]+s.time[1] == l.TotalBits() {
		s.time[1] = 0 // all bits above are of the tick
	}
	if s.worker[1] > 0 && s.datacenter[0] == s.worker[0]+s.worker[1] { // the worker number is one field
		s.worker[1] += s.datacenter[1]
		s.datacenter = [2]int{}
	}
	return s
}

// mask is a number of that many bits, all set.
func mask(bits int) uint64 { return 1<<bits - 1 }
