package idsort

import "sync/atomic"

// Phase is the part of a sort that is running: Reading, then Merging.
type Phase int32

// The phases.
const (
	Reading Phase = iota
	Merging
)

// Progress says how far a sort is. It is safe for concurrent use, its zero value too.
type Progress struct {
	phase, ids, bytes, size, merged atomic.Int64
}

// Snapshot is a moment of a [Progress]: ids that were read, and how many of them were
// handed out; bytes that were read, of a size that is 0 if it is not known.
type Snapshot struct {
	Phase       Phase
	IDs, Merged uint64
	Bytes, Size int64
}

// Snapshot returns how far it is now.
func (p *Progress) Snapshot() Snapshot {
	return Snapshot{Phase(p.phase.Load()), uint64(p.ids.Load()), uint64(p.merged.Load()), p.bytes.Load(), p.size.Load()}
}

// Part is the part of the bytes that was read, from 0 to 1, or 0 if it is not known.
func (s Snapshot) Part() float64 {
	if s.Size <= 0 {
		return 0
	}
	return min(1, float64(s.Bytes)/float64(s.Size))
}
