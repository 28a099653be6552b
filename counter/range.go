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

// fill fills ids with the first numbers, and returns how many there are.
func (r Range) fill(ids []snowfence.ID) int {
	n := int(min(int64(len(ids)), r.Count))
	number := r.First
	for i := range ids[:n] {
		ids[i] = snowfence.ID(number)
		number += r.Increment
	}
	return n
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

// take fills ids with the next numbers, if there are enough. One atomic exchange makes the numbers
// between the old value and the new one the caller's own.
func (r *run) take(ids []snowfence.ID) bool {
	n := int64(len(ids))
	for {
		i := r.next.Load()
		if n > r.Count-i {
			return false
		}
		if r.next.CompareAndSwap(i, i+n) {
			r.from(i).fill(ids)
			return true
		}
	}
}

// seal ends the run, and returns the numbers that no caller took.
func (r *run) seal() Range { return r.from(r.next.Swap(r.Count)) }
