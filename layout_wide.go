package snowfence

import (
	"math/bits"
	"slices"
	"time"
)

// A UUID's version and variant, and where they stand (RFC 9562, 4.1 and 4.2).
const (
	uuidVersion, versionBits, versionShift = 8, 4, 76
	uuidVariant, variantBits, variantShift = 2, 2, 62
)

// UUID reports whether the layout's ids are UUIDs of version 8.
func (l Layout) UUID() bool { return l.Bits(Version) > 0 }

// validateWide checks the limits of a wide layout.
func (l Layout) validateWide(total int) error {
	switch {
	case l.Unsigned:
		return &LayoutError{"unsigned", "set for a wide layout", "unset", "a wide layout has no sign"}
	case total > maxBitsWide:
		return &LayoutError{"total", countBits(total), "at most 128 bits", ""}
	}
	for _, numbers := range [...]struct {
		what string
		bits int
	}{{"datacenter and worker", l.Bits(Datacenter) + l.Bits(Worker)}, {"sequence", l.Bits(Sequence)}, {"random", l.Bits(Random)}} {
		if numbers.bits >= maxBits {
			return &LayoutError{numbers.what, countBits(numbers.bits), "at most 62 bits", ""}
		}
	}
	if l.Bits(Version)+l.Bits(Variant) == 0 {
		return nil
	}
	if total != maxBitsWide || l.Bits(Version) != versionBits || l.Shift(Version) != versionShift ||
		l.Bits(Variant) != variantBits || l.Shift(Variant) != variantShift {
		return &LayoutError{"version and variant", "elsewhere than in a UUID", "4 bits above 76 others and 2 bits above 62 others, of 128", ""}
	}
	return nil
}

// validateNarrow is Validate for what has ids of 64 bits.
func (l Layout) validateNarrow() error {
	if l.Wide {
		return &LayoutError{"layout", wideWord, "of at most 64 bits", "ids of a wide layout are of type WideID"}
	}
	return l.Validate()
}

// needWide is Validate for what has ids of more than 64 bits.
func (l Layout) needWide() error {
	if err := l.Validate(); err != nil || l.Wide {
		return err
	}
	return &LayoutError{"layout", "not wide", wideWord, "ids of other layouts are of type ID"}
}

// ComposeWide is [Layout.Compose] for a wide layout. A *[LayoutError] is returned for a layout
// that is invalid or not wide.
func (l Layout) ComposeWide(p Parts) (WideID, error) {
	if err := l.needWide(); err != nil {
		return WideID{}, err
	}
	if err := l.check(p); err != nil {
		return WideID{}, err
	}
	return l.joinWide(p).id(), nil
}

// joinWide composes parts that were checked.
func (l Layout) joinWide(p Parts) uint128 {
	var w uint128
	for _, f := range l.Fields {
		w = w.or(at128(l.value(p, f.Kind), uint(l.Shift(f.Kind))))
	}
	return w
}

// value returns the bits of a field: a part, or a UUID's version or variant.
func (l Layout) value(p Parts, kind FieldKind) uint64 {
	switch kind {
	case Version:
		return uuidVersion
	case Variant:
		return uuidVariant
	}
	return uint64(p.Value(kind))
}

// DecomposeWide is the reverse of [Layout.ComposeWide]. It reads ticks past the horizon too. An
// *[IDError] is returned for an id with a bit set above the layout's fields, or with another
// version or variant. A *[LayoutError] is returned for a layout that is invalid or not wide.
func (l Layout) DecomposeWide(id WideID) (Parts, error) {
	if err := l.needWide(); err != nil {
		return Parts{}, err
	}
	var p Parts
	rest := id.number()
	for _, f := range slices.Backward(l.Fields) {
		value := rest.low & (1<<f.Bits - 1)
		rest = rest.shiftRight(uint(f.Bits))
		if f.Kind != Version && f.Kind != Variant {
			*p.at(f.Kind) = int64(value)
		} else if want := l.value(p, f.Kind); value != want {
			return Parts{}, &IDError{"layout " + l.String(), id.String(), -1, "has another " + f.Kind.String() + " than a UUID of version 8"}
		}
	}
	if rest != (uint128{}) {
		return Parts{}, &IDError{"layout " + l.String(), id.String(), -1, "has more than " + countBits(l.TotalBits())}
	}
	return p, nil
}

// BetweenWide is [Layout.Between] for a wide layout. In the bounds every bit below the time is 0,
// or 1. So those of the preset uuid8 hold for UUIDs of version 7 too, and for a column of both.
// A *[LayoutError] is returned for a layout that is invalid or not wide.
func (l Layout) BetweenWide(from, to time.Time) (lo, hi WideID, err error) {
	if err := l.needWide(); err != nil {
		return lo, hi, err
	}
	first, last, err := l.ticks(from, to)
	if err != nil {
		return lo, hi, err
	}
	shift := uint(l.Shift(Time))
	end := at128(1, shift)
	low, borrow := bits.Sub64(end.low, 1, 0)
	below := uint128{end.high - borrow, low} // every bit below the time
	return at128(uint64(first), shift).id(), at128(uint64(last), shift).or(below).id(), nil
}

// uint128 is a number of 128 bits.
type uint128 struct{ high, low uint64 }

// at128 returns value·2^shift. Bits beyond the 128th are lost.
func at128(value uint64, shift uint) uint128 {
	// A shift by 64 or more gives zero, and so does one that wrapped around.
	return uint128{value<<(shift-64) | value>>(64-shift), value << shift}
}

func (w uint128) or(v uint128) uint128 { return uint128{w.high | v.high, w.low | v.low} }

// shiftRight is for less than 64 bits.
func (w uint128) shiftRight(n uint) uint128 {
	return uint128{w.high >> n, w.low>>n | w.high<<(64-n)}
}
