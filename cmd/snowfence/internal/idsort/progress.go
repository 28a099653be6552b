package idsort

import "sync/atomic"

// Phase is what a sort is doing.
type Phase int32

// The phases, in their order.
const (
	Reading Phase = iota
	Merging
)

// Progress says how far a sort is. It is safe for concurrent use, its zero value too.
type Progress struct {
	phase, ids, bytes, size, merged atomic.Int64
}

// Snapshot is what a [Progress] says at a moment.
type Snapshot struct {
	Phase Phase
	// IDs is how many ids were read, and Merged how many of them were handed out.
	IDs, Merged uint64
	// Bytes is how much of Size was read; Size is 0 if it is not known.
	Bytes, Size int64
}

// Snapshot returns how far it is now.
func (p *Progress) Snapshot() Snapshot {
	return Snapshot{
		Phase: Phase(p.phase.Load()), IDs: uint64(p.ids.Load()), Merged: uint64(p.merged.Load()),
		Bytes: p.bytes.Load(), Size: p.size.Load(),
	}
}

// Part is the part of the bytes that was read, from 0 to 1, or 0 if it is not known.
func (s Snapshot) Part() float64 {
	if s.Size <= 0 {
		return 0
	}
	return min(1, float64(s.Bytes)/float64(s.Size))
}
