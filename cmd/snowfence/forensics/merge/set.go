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
// Ticks and worker numbers beyond the layout's fields are in no set.
type set struct {
	// Layout must be valid.
	Layout  snowfence.Layout
	Ticks   Ticks
	Workers Workers
	// Issued is whether all of them are issued, whatever the time.
	Issued bool
}

// until returns the set without the ticks above last.
func (s set) until(last snowfence.Tick) set {
	s.Ticks.Last = min(s.Ticks.Last, last)
	return s
}

// box is a set in which each field of the id lies between two bounds. The bounds of all
// fields stand side by side in low and high, and starts has the highest bit of each field.
// The bits above the fields are a field that must be 0.
type box struct{ starts, low, high uint64 }

// boxes cuts the set into boxes without an integer in common: where its worker numbers
// begin or end within a datacenter, that datacenter is a box of its own.
func (s set) boxes() []box {
	ticks, workers := s.Ticks.Meet(allTicks(s.Layout)), s.Workers.Meet(allWorkers(s.Layout))
	if ticks.Empty() || workers.Empty() {
		return nil
	}
	split := s.Layout.Bits(snowfence.Worker)
	size := int64(1) << split
	low, high := workers.First%size, workers.Last%size
	first, last := workers.First>>split, workers.Last>>split
	if first < last && (low > 0 || high < size-1) {
		cut := last*size - 1
		if low > 0 {
			cut = (first+1)*size - 1
		}
		left, right := s, s
		left.Workers, right.Workers = Workers{workers.First, cut}, Workers{cut + 1, workers.Last}
		return append(left.boxes(), right.boxes()...)
	}
	bounds := map[snowfence.FieldKind]Workers{
		snowfence.Time:       {int64(ticks.First), int64(ticks.Last)},
		snowfence.Datacenter: {first, last},
		snowfence.Worker:     {low, high},
	}
	var b box
	for _, span := range s.Layout.Spans() {
		bound, bounded := bounds[span.Field.Kind]
		if !bounded {
			bound = Workers{0, int64(mask(span.Field.Bits))}
		}
		b.starts |= 1 << span.High
		b.low |= uint64(bound.First) << span.Low
		b.high |= uint64(bound.Last) << span.Low
	}
	return []box{b}
}

// mask is a number of that many bits, all set.
func mask(bits int) uint64 { return 1<<bits - 1 }
