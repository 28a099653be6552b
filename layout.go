package snowfence

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Tick is a number of whole layout units since a layout's epoch: the time part
// of an id. It is negative before the epoch.
type Tick int64

// FieldKind says what a [Field] of a layout holds.
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
	// Name is the layout's own system's word for the field, such as "process" or
	// "shard", for display only. Empty means the kind's word.
	Name string
}

// Word returns what to call the field: its name, or else its kind's word.
func (f Field) Word() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Kind.String()
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
// and `ms41-worker10-seq12@2026-01-01T00:00:00Z` is its text form; see
// [ParseLayout]. There must be a time and a sequence; a datacenter and a worker
// are optional. Without both there is exactly one worker, number 0. Fields may be in any
// order, with one exception: the sequence is below the time, because otherwise ids of one
// worker would not increase.
//
// A Layout is a plain value. The zero value is not valid. Methods never change it. It is
// safe for concurrent use while Fields is not changed. Methods without an error result
// expect a valid layout; on another their results mean nothing, but they don't panic.
type Layout struct {
	// Unit is the length of a tick: whole microseconds from 1 µs to 1 h.
	Unit time.Duration
	// Epoch is the instant of tick 0: whole milliseconds, in the years 1900 to
	// 2199.
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
	return newLayout(time.Millisecond, defaultEpoch, Field{Time, 41, ""}, Field{Worker, 10, ""}, Field{Sequence, 12, ""})
}

// defaultEpoch is 2026-01-01T00:00:00Z in Unix milliseconds.
const defaultEpoch = 1767225600000

// newLayout makes a layout with its epoch in Unix milliseconds.
func newLayout(unit time.Duration, epoch int64, fields ...Field) Layout {
	return Layout{Unit: unit, Epoch: time.UnixMilli(epoch).UTC(), Fields: fields}
}

// Bits returns the width of the field of that kind, 0 when there is none.
func (l Layout) Bits(kind FieldKind) int {
	for _, f := range l.Fields {
		if f.Kind == kind {
			return f.Bits
		}
	}
	return 0
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
// epoch, and the same kinds and widths of fields in order. Names don't count.
func (l Layout) Equal(other Layout) bool {
	if l.Unit != other.Unit || !l.Epoch.Equal(other.Epoch) || l.Unsigned != other.Unsigned || l.Wide != other.Wide || len(l.Fields) != len(other.Fields) {
		return false
	}
	for i, f := range l.Fields {
		if g := other.Fields[i]; f.Kind != g.Kind || f.Bits != g.Bits {
			return false
		}
	}
	return true
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
