package snowfence

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Tick is a number of whole layout units since a layout's epoch: the time part
// of an id. It is negative before the epoch.
type Tick int64

// FieldKind is what a [Field] of a layout holds.
type FieldKind uint8

// The kinds of fields.
const (
	Time       FieldKind = iota + 1 // the tick
	Datacenter                      // the upper part of the worker number
	Worker                          // it distinguishes holders within a datacenter
	Sequence                        // the counter within one tick

	// Of wide layouts only:

	Version // 4 bits with a UUID's version, 8
	Variant // 2 bits with a UUID's variant, binary 10
	Random  // random bits, drawn for each id
)

// String returns the kind's word: time, datacenter, worker, sequence, version, variant or random.
func (k FieldKind) String() string {
	words := [...]string{
		Time: "time", Datacenter: "datacenter", Worker: "worker", Sequence: "sequence",
		Version: "version", Variant: "variant", Random: "random",
	}
	if k < Time || int(k) >= len(words) {
		return fmt.Sprintf("FieldKind(%d)", uint8(k))
	}
	return words[k]
}

// Field is a run of bits of an id.
type Field struct {
	Kind FieldKind
	// Bits is the field's width, at least 1.
	Bits int
}

// Layout gives the bits of a namespace's ids their meaning. It has the length of a tick, the
// instant of tick 0, and the fields from the highest bits to the lowest. They are
// right-aligned, with zero bits above them. The default layout is
//
//	 63 62                       22 21        12 11          0
//	+--+---------------------------+------------+-------------+
//	| 0| time: 41 bits of ms       | worker: 10 | sequence: 12|
//	+--+---------------------------+------------+-------------+
//
// and `ms41-worker10-seq12@2026-01-01T00:00:00Z` is its text form; see [ParseLayout]. There must be
// a time and a sequence; a datacenter and a worker are optional. Without both there is exactly one
// worker, number 0. Fields may be in any order, with one exception: the sequence is below the time,
// because otherwise ids of one worker would not increase.
//
// A Layout is a plain value. The zero value is not valid. Methods never change it. It is
// safe for concurrent use while Fields is not changed. Methods without an error result
// expect a valid layout; on another their results mean nothing, but they don't panic.
type Layout struct {
	// Unit is the length of a tick: whole microseconds from 1 µs to 1 h.
	Unit time.Duration
	// Epoch is the instant of tick 0: whole milliseconds, in the years 1900 to 2199.
	Epoch time.Time
	// Fields are the fields from the highest bits to the lowest, at most one
	// of each kind and at most 63 bits together, 128 in a wide layout.
	Fields []Field
	// Unsigned marks a layout of exactly 64 bits with the time highest. A few systems
	// with unsigned integers have one. Ids are decoded over all 64 bits, but minted only
	// until the 64th would be set: that is the layout's horizon.
	Unsigned bool
	// Wide marks a layout of up to 128 bits. Its ids are a [WideID], not an [ID], and may be
	// UUIDs: then Version and Variant stand where RFC 9562 has them, 4 bits above 76 others
	// and 2 bits above 62 others, of 128. Time and sequence together are counted in 63 bits, so
	// with a long sequence the ids end before the time's field is full; see [Layout.HorizonTick].
	Wide bool
}

// IsZero reports whether the layout is the zero value. It means the default wherever a
// layout is optional.
func (l Layout) IsZero() bool {
	return l.Unit == 0 && l.Epoch.IsZero() && l.Fields == nil && !l.Unsigned && !l.Wide
}

// DefaultLayout returns the default layout: 41 bits of milliseconds since
// 2026-01-01T00:00:00Z, until 2095, then 10 bits of worker and 12 of sequence.
func DefaultLayout() Layout {
	return newLayout(time.Millisecond, defaultEpoch, Field{Time, 41}, Field{Worker, 10}, Field{Sequence, 12})
}

// defaultEpoch is 2026-01-01T00:00:00Z in Unix milliseconds.
const defaultEpoch = 1767225600000

// newLayout makes a layout with its epoch in Unix milliseconds.
func newLayout(unit time.Duration, epoch int64, fields ...Field) Layout {
	return Layout{Unit: unit, Epoch: time.UnixMilli(epoch).UTC(), Fields: fields}
}

// Bits returns the width of the field of that kind, 0 when there is none.
func (l Layout) Bits(kind FieldKind) int { return l.field(kind).Bits }

// field returns the field of that kind, and one without bits when there is none.
func (l Layout) field(kind FieldKind) Field {
	for _, f := range l.Fields {
		if f.Kind == kind {
			return f
		}
	}
	return Field{Kind: kind}
}

// TotalBits returns the sum of the fields' widths.
func (l Layout) TotalBits() int {
	total := 0
	for _, f := range l.Fields {
		total += f.Bits
	}
	return total
}

// Shift returns how many bits are below the field of that kind, 0 when there is none.
func (l Layout) Shift(kind FieldKind) int {
	shift := 0
	for _, f := range slices.Backward(l.Fields) {
		if f.Kind == kind {
			return shift
		}
		shift += f.Bits
	}
	return 0
}

// Span is the place of a field in an id.
type Span struct {
	Field Field
	// High and Low are the positions of the field's highest and lowest bit;
	// the lowest bit of an id is at position 0.
	High, Low int
}

// Spans returns the fields with their bit positions, the highest first.
func (l Layout) Spans() []Span {
	spans := make([]Span, 0, len(l.Fields))
	low := l.TotalBits()
	for _, f := range l.Fields {
		high := low - 1
		low -= f.Bits
		spans = append(spans, Span{f, high, low})
	}
	return spans
}

// Equal reports whether both layouts give every integer the same meaning: the same unit and
// epoch, and the same kinds and widths of fields in order.
func (l Layout) Equal(other Layout) bool {
	return l.Unit == other.Unit && l.Epoch.Equal(other.Epoch) && l.Unsigned == other.Unsigned && l.Wide == other.Wide &&
		slices.EqualFunc(l.Fields, other.Fields, func(f, g Field) bool { return f.Kind == g.Kind && f.Bits == g.Bits })
}

// Workers returns how many worker numbers there are: 2 to the power of the
// datacenter's and the worker's bits together.
func (l Layout) Workers() int64 { return count(l.Bits(Datacenter) + l.Bits(Worker)) }

// Sequences returns how many ids one worker can stamp with one tick.
func (l Layout) Sequences() int64 { return count(l.Bits(Sequence)) }

// RatePerWorker returns how many ids a second one worker can issue for good.
func (l Layout) RatePerWorker() float64 {
	return float64(l.Sequences()) * float64(time.Second) / float64(l.unit())
}

// Rate returns how many ids a second all workers together can issue for good.
func (l Layout) Rate() float64 { return float64(l.Workers()) * l.RatePerWorker() }

// count returns how many values a field of that many bits has. Valid layouts
// stay below 63 bits; more is cut off there and less than none is none.
func count(bits int) int64 {
	if bits >= 63 {
		return math.MaxInt64
	}
	return 1 << max(bits, 0)
}

// Limits of a layout.
const (
	minUnit = time.Microsecond
	maxUnit = time.Hour

	maxBits         = 63
	maxBitsUnsigned = 64
	maxBitsWide     = 128

	// The epoch's range, in Unix seconds: the years 1900 to 2199. It holds
	// every system known and no instant in the wrong unit.
	minEpoch = -2208988800
	maxEpoch = 7258118400 // exclusive
)

// Validate returns nil for a valid layout. A *[LayoutError] is returned for the first part
// outside its limits: those of the fields of Layout, and that the last tick is within 2^62
// seconds of the epoch.
func (l Layout) Validate() error {
	if err := l.validateFields(); err != nil {
		return err
	}
	if total := l.TotalBits(); l.Wide {
		if err := l.validateWide(total); err != nil {
			return err
		}
	} else if l.Unsigned {
		switch {
		case total != maxBitsUnsigned:
			return &LayoutError{"total", countBits(total), "64 bits", "unsigned layouts use exactly 64"}
		case l.Fields[0].Kind != Time:
			return &LayoutError{"unsigned", "set with " + l.Fields[0].Kind.String() + " highest", "unset", "only the time can stop short of the 64th bit"}
		}
	} else if total > maxBits {
		return &LayoutError{"total", countBits(total), "at most 63 bits", "the 64th bit is the sign"}
	}
	if l.Unit < minUnit || l.Unit > maxUnit || l.Unit%time.Microsecond != 0 {
		return &LayoutError{"unit", l.Unit.String(), "whole microseconds from 1µs to 1h", ""}
	}
	if s := l.Epoch.Unix(); s < minEpoch || s >= maxEpoch || l.Epoch.Nanosecond()%int(time.Millisecond) != 0 {
		return &LayoutError{"epoch", l.Epoch.UTC().Format(time.RFC3339Nano), "whole milliseconds in the years 1900 to 2199", ""}
	}
	if last := l.TimeOf(Tick(count(l.Bits(Time)))); last.Unix()-l.Epoch.Unix() >= maxReach {
		return &LayoutError{"time", countBits(l.Bits(Time)) + " of " + l.Unit.String(), "at most 2^62 seconds", ""}
	}
	return nil
}

// validateFields checks the fields by themselves: kinds, widths and order.
func (l Layout) validateFields() error {
	kinds := "time, datacenter, worker or sequence"
	if l.Wide {
		kinds = "time, datacenter, worker, sequence, version, variant or random"
	}
	var seen [Random + 1]bool
	for i, f := range l.Fields {
		switch {
		case f.Kind < Time || f.Kind > Random || f.Kind > Sequence && !l.Wide:
			return &LayoutError{fmt.Sprintf("fields[%d]", i), f.Kind.String(), kinds, ""}
		case seen[f.Kind]:
			return &LayoutError{f.Kind.String(), "given twice", "given once", ""}
		case f.Bits < 1:
			return &LayoutError{f.Kind.String(), countBits(f.Bits), "at least 1 bit", ""}
		case f.Bits > maxBits:
			return &LayoutError{f.Kind.String(), countBits(f.Bits), "at most 63 bits", ""}
		case f.Kind == Time && seen[Sequence]:
			return &LayoutError{"sequence", "above the time", "below it", "ids would not increase"}
		case f.Kind == Sequence && seen[Random]:
			return &LayoutError{f.Kind.String(), "below the random bits", "above them", "ids would not increase"}
		}
		seen[f.Kind] = true
	}
	for _, kind := range [...]FieldKind{Time, Sequence} {
		if !seen[kind] {
			return &LayoutError{kind.String(), "missing", "given", ""}
		}
	}
	return nil
}

func countBits(n int) string {
	if n == 1 {
		return "1 bit"
	}
	return fmt.Sprintf("%d bits", n)
}

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

// Times are computed in 128 bits of nanoseconds. 64 bits hold 292 years, and the 48 or 51
// bits of milliseconds of some presets reach far beyond.

const nanosPerSecond = uint64(time.Second)

// maxReach is how far from its epoch a layout may reach, in seconds: 146 billion
// years, which a [time.Time] still holds.
const maxReach = 1 << 62

// unit is the length of a tick in nanoseconds. It is at least 1, so that dividing by the
// unit of an invalid layout can't panic.
func (l Layout) unit() uint64 { return uint64(max(l.Unit, 1)) }

// TickAt returns the tick of an instant: whole units since the epoch, rounded down, so
// negative before the epoch. If no Tick can hold it, the nearest one is returned. Instants
// further than 2^62 seconds from 1970 are not distinguished.
func (l Layout) TickAt(t time.Time) Tick {
	seconds := min(max(t.Unix(), -maxReach), maxReach) - l.Epoch.Unix()
	nanos := int64(t.Nanosecond() - l.Epoch.Nanosecond())
	if nanos < 0 {
		seconds--
		nanos += int64(time.Second)
	}
	if seconds >= 0 {
		high, low := bits.Mul64(uint64(seconds), nanosPerSecond)
		low, carry := bits.Add64(low, uint64(nanos), 0)
		return Tick(min(divide(high+carry, low, l.unit()), math.MaxInt64))
	}
	// Rounding a negative number down rounds its magnitude up.
	high, low := bits.Mul64(uint64(-seconds), nanosPerSecond)
	low, borrow := bits.Sub64(low, uint64(nanos), 0)
	low, carry := bits.Add64(low, l.unit()-1, 0)
	return -Tick(min(divide(high-borrow+carry, low, l.unit()), math.MaxInt64))
}

// TimeOf returns the instant at which a tick begins, in UTC. A tick more than 2^62 seconds
// from the epoch counts as that far away. A valid layout is without them.
func (l Layout) TimeOf(tick Tick) time.Time {
	magnitude, sign := uint64(tick), int64(1)
	if tick < 0 {
		magnitude, sign = -magnitude, -1
	}
	high, low := bits.Mul64(magnitude, l.unit())
	seconds := divide(high, low, nanosPerSecond)
	nanos := int64(low - seconds*nanosPerSecond) // the remainder, modulo 2^64
	if seconds > maxReach {
		seconds, nanos = maxReach, 0
	}
	return time.Unix(l.Epoch.Unix()+sign*int64(seconds), int64(l.Epoch.Nanosecond())+sign*nanos).UTC()
}

// divide returns the quotient of a 128-bit number, or the largest one when it
// takes more than 64 bits.
func divide(high, low, by uint64) uint64 {
	if high >= by {
		return math.MaxUint64
	}
	quotient, _ := bits.Div64(high, low, by)
	return quotient
}

// HorizonTick returns the first tick that can't be stamped: 2 to the power of the time's bits. For
// an Unsigned layout it is half of that, because the tick would set the 64th bit. For a wide layout
// the tick and the sequence together are below 2^63: a generator counts them in one word.
func (l Layout) HorizonTick() Tick {
	width := l.Bits(Time)
	switch {
	case l.Unsigned:
		width--
	case l.Wide:
		width = min(width, maxBits-l.Bits(Sequence))
	}
	return Tick(count(width))
}

// Horizon returns the instant at which [Layout.HorizonTick] begins, in UTC: from
// then on no id can be minted.
func (l Layout) Horizon() time.Time { return l.TimeOf(l.HorizonTick()) }
