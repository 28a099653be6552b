package snowfence

import "math/bits"

// enter returns the slot for a caller at the tick now: the next free one, or, in an idle
// tick, the one of the start rule. The slot is never below old: an idle tick lies above
// old's tick.
func (g *Generator) enter(old, now uint64) uint64 {
	if first := now << (g.seqBits & 63); old < first {
		return g.begin(old, first)
	}
	if old&g.mask == 0 && g.start.Rule == StartRandom {
		return old | g.random()
	}
	return old
}

// begin returns the first slot of an idle tick, whose slots begin at first, when old was the
// next free slot.
func (g *Generator) begin(old, first uint64) uint64 {
	switch g.start.Rule {
	case StartQuarter:
		return first | g.rand()&g.quarter
	case StartRandom:
		return first | g.random()
	case StartVibration:
		return first | g.vibrate.Load()%uint64(g.start.Max+1)
	case StartCarry:
		if sequence := old & g.mask; sequence <= uint64(g.start.Max) {
			return first | sequence
		}
	}
	return first
}

// move moves the word from old to next for a caller at the tick now, and reports whether it
// did. Only the caller that began an idle tick moves the vibration on, so that it goes by
// ones however many try.
func (g *Generator) move(old, next, now uint64) bool {
	if !g.state.CompareAndSwap(old, next) {
		return false
	}
	if g.start.Rule == StartVibration && old < now<<g.seqBits {
		g.vibrate.Add(1)
	}
	return true
}

// random returns a uniform point in 0..Max.
func (g *Generator) random() uint64 {
	point, _ := bits.Mul64(g.rand(), uint64(g.start.Max)+1)
	return point
}

// run returns how many slots from slot on may be taken in one step. Under StartRandom a tick
// after an overflow does not begin at 0, so a step ends with its tick.
func (g *Generator) run(slot uint64) uint64 {
	if g.start.Rule == StartRandom {
		return g.mask + 1 - slot&g.mask
	}
	return 1<<64 - 1
}
