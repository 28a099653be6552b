package snowfence

import (
	"context"
	"encoding/binary"
	"math/bits"
	"time"
)

// wideShape is how a generator of a wide layout makes an id of a slot.
type wideShape struct {
	prefix                 uint128 // worker, datacenter, version and variant, in place
	time, sequence, random uint128 // the factors that put a number in its place
	mask                   uint64  // of the random bits
}

func newWideShape(l Layout, prefix Parts) *wideShape {
	place := func(kind FieldKind) uint128 { return at128(1, uint(l.Shift(kind))) }
	return &wideShape{l.joinWide(prefix), place(Time), place(Sequence), place(Random), 1<<l.Bits(Random) - 1}
}

// NextWide is [Generator.Next] for a wide layout. A *[LayoutError] is returned when the layout is not wide.
func (g *Generator) NextWide(ctx context.Context) (id WideID, err error) {
	slot, err := g.next(ctx, wideLane)
	if err == nil {
		g.composeWide(uint64(slot), &id)
	}
	return id, err
}

// FillWide is [Generator.Fill] for a wide layout. A *[LayoutError] is returned when the layout
// is not wide.
func (g *Generator) FillWide(ctx context.Context, ids []WideID) error {
	return g.FillWideWithin(ctx, g.maxWait, ids)
}

// FillWideWithin is [Generator.FillWithin] for a wide layout. A *[LayoutError] is returned when
// the layout is not wide.
func (g *Generator) FillWideWithin(ctx context.Context, limit time.Duration, ids []WideID) error {
	if err := g.refuseLane(wideLane); err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	if slot, ok := g.reserve(uint64(len(ids))); ok {
		for i := range ids {
			g.composeWide(slot+uint64(i), &ids[i])
		}
		return nil
	}
	slots := make([]ID, len(ids)) // under a wide layout an ID is a slot
	if err := g.acquire(ctx, limit, slots); err != nil {
		return err
	}
	for i, slot := range slots {
		g.composeWide(uint64(slot), &ids[i])
	}
	return nil
}

// composeWide makes the id of a slot.
func (g *Generator) composeWide(slot uint64, id *WideID) {
	s := g.wide
	w := s.prefix.or(s.time.times(slot >> (g.seqBits & 63))).or(s.sequence.times(slot & g.mask))
	if s.mask != 0 {
		w = w.or(s.random.times(g.rand() & s.mask))
	}
	binary.BigEndian.PutUint64(id[:8], w.high)
	binary.BigEndian.PutUint64(id[8:], w.low)
}

// times returns w·n modulo 2^128.
func (w uint128) times(n uint64) uint128 {
	high, low := bits.Mul64(n, w.low)
	return uint128{high + n*w.high, low}
}
