package counter

import (
	"context"
	"sync/atomic"

	"snowfence.example/snowfence"
)

// Range is numbers that were reserved together: First, First + Increment, and so on, Count of
// them. A range without numbers has Count 0.
type Range struct {
	First     int64
	Increment int64 // at least 1
	Count     int64
}

// Last is the last number. Count must not be 0.
func (r Range) Last() int64 { return r.First + (r.Count-1)*r.Increment }

// from returns the numbers from the i-th on.
func (r Range) from(i int64) Range {
	i = min(i, r.Count)
	return Range{r.First + i*r.Increment, r.Increment, r.Count - i}
}

// Source reserves numbers, each once for all time. It must be safe for concurrent use.
type Source interface {
	// Reserve reserves as many numbers as need returns, or fewer, but at least one. It
	// calls need when the reservation is about to be sent, perhaps several times. When it
	// returns an error, no caller ever gets the numbers that may have been reserved.
	Reserve(ctx context.Context, need func() int64) (Range, error)
}

// run is a range that callers take numbers from, without a lock.
type run struct {
	Range
	_    [64]byte // apart from next, which every call changes
	next atomic.Int64
}

// take fills ids with the next numbers, as far as there are any, and returns how many. One
// atomic addition makes the numbers between the old value and the new one the caller's own.
// Beyond Count there are none, so an addition that overshoots loses nothing: what is left is
// taken first.
func (r *run) take(ids []snowfence.ID) int {
	n := int64(len(ids))
	i := r.next.Add(n) - n
	if i >= r.Count {
		return 0
	}
	n = min(n, r.Count-i)
	number := r.First + i*r.Increment
	for k := range ids[:n] {
		ids[k] = snowfence.ID(number)
		number += r.Increment
	}
	return int(n)
}

// seal ends the run, and returns the numbers that no caller took.
func (r *run) seal() Range { return r.from(r.next.Swap(r.Count)) }
