package snowfence

import (
	"math"
	"math/bits"
	"time"
)

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
// from the epoch counts as that far away. No valid layout has one.
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

// HorizonTick returns the first tick that can't be stamped: 2 to the power of the time's
// bits. For an Unsigned layout it is half of that, because the tick would set the 64th bit.
// For a wide layout the tick and the sequence together are below 2^63: a generator counts
// them in one word.
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
