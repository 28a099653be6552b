package snowfence

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Parts are an id taken apart. Parts without a field in the layout are 0.
type Parts struct {
	Tick       Tick
	Datacenter int64
	Worker     int64
	Sequence   int64
	Random     int64 // of wide layouts only
}

// Value returns the part of that kind, 0 for an unknown one.
func (p Parts) Value(kind FieldKind) int64 { return *p.at(kind) }

// at returns the place of the part of that kind, and another one for an unknown kind.
func (p *Parts) at(kind FieldKind) *int64 {
	switch kind {
	case Time:
		return (*int64)(&p.Tick)
	case Datacenter:
		return &p.Datacenter
	case Worker:
		return &p.Worker
	case Sequence:
		return &p.Sequence
	case Random:
		return &p.Random
	}
	return new(int64)
}

// RangeError is returned when a number does not fit its field. Nothing is ever
// masked to fit.
type RangeError struct {
	Field string // the field's word, "tick" or "worker number"
	Value int64
	Limit int64 // the largest number that fits; the smallest is 0
}

// Error names the field, the value and the limit.
func (e *RangeError) Error() string {
	return fmt.Sprintf("snowfence: %s is %d, must be from 0 to %d", e.Field, e.Value, e.Limit)
}

// ErrWorkerAboveTime is returned by [Layout.Bounds] and [Layout.Between] when the ids of an
// instant are not one range of the layout.
var ErrWorkerAboveTime = errors.New("snowfence: the datacenter or worker is above the time, so each worker has bounds of its own")

// ErrNoTick is returned by [Layout.Between] for a span in which no tick of the layout begins.
var ErrNoTick = NewError(ClassUsage, "snowfence: no tick begins in the span")

// Compose puts an id together. A *[RangeError] is returned for a part that does not fit its
// field, or is not 0 without a field. A tick fits below [Layout.HorizonTick], so a composed
// ID is never negative. A *[LayoutError] is returned for a layout that is invalid or wide.
func (l Layout) Compose(p Parts) (ID, error) {
	if err := l.validateNarrow(); err != nil {
		return 0, err
	}
	if err := l.check(p); err != nil {
		return 0, err
	}
	return l.join(p), nil
}

// check reports the first part that does not fit.
func (l Layout) check(p Parts) error {
	if limit := l.HorizonTick(); p.Tick < 0 || p.Tick >= limit {
		return &RangeError{"tick", int64(p.Tick), int64(limit - 1)}
	}
	for _, kind := range [...]FieldKind{Datacenter, Worker, Sequence, Random} {
		value, limit := p.Value(kind), count(l.Bits(kind))
		if value < 0 || value >= limit {
			return &RangeError{l.word(kind), value, limit - 1}
		}
	}
	return nil
}

// word returns the layout's own word for a kind.
func (l Layout) word(kind FieldKind) string {
	for _, f := range l.Fields {
		if f.Kind == kind {
			return f.Word()
		}
	}
	return kind.String()
}

// join composes parts that were checked.
func (l Layout) join(p Parts) ID {
	var n uint64
	for _, f := range l.Fields {
		n = n<<f.Bits | uint64(p.Value(f.Kind))
	}
	return ID(n)
}

// Decompose takes an id apart. It is the reverse of [Layout.Compose], and reads
// the ids of an Unsigned layout past the horizon too. An *[IDError] is returned
// for an id with a bit set above the layout's fields, and a *[LayoutError] for a layout
// that is invalid or wide.
func (l Layout) Decompose(id ID) (Parts, error) {
	if err := l.validateNarrow(); err != nil {
		return Parts{}, err
	}
	if l.outside(id) {
		return Parts{}, &IDError{"layout " + l.String(), id.String(), -1, "is above " + l.largest().String()}
	}
	var p Parts
	n := uint64(id)
	for _, f := range slices.Backward(l.Fields) {
		*p.at(f.Kind) = int64(n & (1<<f.Bits - 1))
		n >>= f.Bits
	}
	return p, nil
}

// largest returns the id with every bit of the layout set.
func (l Layout) largest() ID { return ID(uint64(1)<<l.TotalBits() - 1) }

// outside reports whether the id has a bit set above the fields.
func (l Layout) outside(id ID) bool { return uint64(id) > uint64(l.largest()) }

// WorkerNumber returns the one number of a datacenter and a worker: datacenter·2^w + worker,
// with w the worker's bits. The order of the fields does not matter. A *[RangeError] is
// returned for a part that does not fit its field.
func (l Layout) WorkerNumber(datacenter, worker int64) (int64, error) {
	if err := l.check(Parts{Datacenter: datacenter, Worker: worker}); err != nil {
		return 0, err
	}
	return datacenter<<l.Bits(Worker) | worker, nil
}

// SplitWorker is the reverse of [Layout.WorkerNumber]. A *[RangeError] is
// returned for a number that is not below [Layout.Workers].
func (l Layout) SplitWorker(number int64) (datacenter, worker int64, err error) {
	if limit := l.Workers(); number < 0 || number >= limit {
		return 0, 0, &RangeError{"worker number", number, limit - 1}
	}
	w := l.Bits(Worker)
	return number >> w, number & (1<<w - 1), nil
}

// Bounds returns the smallest and the largest id that can carry the tick of an
// instant, both inclusive. So the ids stamped from one instant to another lie
// from the first's lo to the second's hi. [ErrWorkerAboveTime] is returned when the
// datacenter or the worker is above the time. A *[RangeError] is returned for an instant
// before the epoch or past the horizon, and a *[LayoutError] for a layout that is invalid or
// wide.
func (l Layout) Bounds(t time.Time) (lo, hi ID, err error) {
	if err := l.validateNarrow(); err != nil {
		return 0, 0, err
	}
	if l.Fields[0].Kind != Time {
		return 0, 0, ErrWorkerAboveTime
	}
	p := Parts{Tick: l.TickAt(t)}
	if err := l.check(p); err != nil {
		return 0, 0, err
	}
	lo = l.join(p)
	return lo, lo | (1<<l.Shift(Time) - 1), nil
}

// WorkerBounds returns the smallest and the largest id of a worker number with the tick of
// an instant, both inclusive. It serves every order of fields. Where the datacenter or the
// worker is below the sequence, ids of other workers lie between the bounds too. The errors
// are those of [Layout.Bounds], except for ErrWorkerAboveTime, and those of
// [Layout.SplitWorker].
func (l Layout) WorkerBounds(worker int64, t time.Time) (lo, hi ID, err error) {
	if err := l.validateNarrow(); err != nil {
		return 0, 0, err
	}
	p := Parts{Tick: l.TickAt(t)}
	if p.Datacenter, p.Worker, err = l.SplitWorker(worker); err != nil {
		return 0, 0, err
	}
	if err := l.check(p); err != nil {
		return 0, 0, err
	}
	lo = l.join(p)
	p.Sequence = l.Sequences() - 1
	return lo, l.join(p), nil
}

// Between returns the smallest and the largest id of a span of time, both inclusive. An id
// belongs to the span if its tick begins at or after from, and before to. So
// `WHERE id BETWEEN lo AND hi` selects exactly the ids of the span. A span that begins before
// the epoch or ends past the horizon is cut there.
//
// An error that wraps [ErrNoTick] is returned when no tick is left: the span is outside of the
// layout's life, is shorter than a tick, or ends before it begins. [ErrWorkerAboveTime] and a
// *[LayoutError] are returned as by [Layout.Bounds].
func (l Layout) Between(from, to time.Time) (lo, hi ID, err error) {
	if err := l.validateNarrow(); err != nil {
		return 0, 0, err
	}
	first, last, err := l.ticks(from, to)
	if err != nil {
		return 0, 0, err
	}
	lo = l.join(Parts{Tick: first})
	return lo, l.join(Parts{Tick: last}) | (1<<l.Shift(Time) - 1), nil
}

// ticks returns the first and the last tick of a span.
func (l Layout) ticks(from, to time.Time) (first, last Tick, err error) {
	if l.Fields[0].Kind != Time {
		return 0, 0, ErrWorkerAboveTime
	}
	first, end := l.tickFrom(from), l.tickFrom(to)
	if first >= end {
		text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
		return 0, 0, fmt.Errorf("%w from %s to %s: the layout's ticks of %s begin from %s on, and before %s",
			ErrNoTick, text(from), text(to), unitText(l.Unit), text(l.Epoch), text(l.Horizon()))
	}
	return first, end - 1, nil
}

// tickFrom returns the first tick that begins at or after an instant, from 0 to the horizon.
func (l Layout) tickFrom(t time.Time) Tick {
	return min(max(l.TickAt(t.Add(-1)), -1), l.HorizonTick()-1) + 1
}
