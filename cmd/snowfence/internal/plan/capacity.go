package plan

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Year is the mean Gregorian year, 365.2425 days, in which lives are counted.
const Year = 31_556_952 * time.Second

// MaxBits is the width of an id: 64 bits without the sign. MinBits leaves a bit
// each for the time, the worker and the sequence.
const (
	MinBits = 3
	MaxBits = 63
)

// Requirements are asked of an id, or claimed of a layout. A zero field asks nothing.
type Requirements struct {
	// Years is the life from the epoch to the horizon.
	Years float64 `json:"years,omitempty"`
	// Workers is how many worker ids there are, datacenters included.
	Workers int64 `json:"workers,omitempty"`
	// Rate is ids a second of all workers together, the load spread evenly.
	Rate float64 `json:"rate,omitempty"`
	// WorkerRate is ids a second of any one worker.
	WorkerRate float64 `json:"worker_rate,omitempty"`
	// Burst is how many ids one worker must be able to mint within one tick:
	// at once, and without running ahead of the clock.
	Burst int64 `json:"burst,omitempty"`
	// Bits is the most that an id may have: 53 for exact JavaScript numbers. Zero is 63.
	Bits int `json:"bits,omitempty"`
}

// Validate reports the first field that no layout could be held against:
// negative or not a number, or a width outside [MinBits] to [MaxBits].
func (r Requirements) Validate() error {
	for _, x := range []struct {
		field string
		value float64
		limit float64
	}{
		{"years", r.Years, 1e6},
		{"workers", float64(r.Workers), 1 << 62},
		{"rate", r.Rate, 1 << 62},
		{"rate of one worker", r.WorkerRate, 1 << 62},
		{"burst", float64(r.Burst), 1 << 62},
	} {
		if !(x.value >= 0 && x.value <= x.limit) {
			return fmt.Errorf("%s: %v is outside 0 to %s", x.field, x.value, Quantity(x.limit))
		}
	}
	if r.Bits != 0 && (r.Bits < MinBits || r.Bits > MaxBits) {
		return fmt.Errorf("bits: %d is outside %d to %d", r.Bits, MinBits, MaxBits)
	}
	return nil
}

// limit is the width that an id may have.
func (r Requirements) limit() int { return cmp.Or(r.Bits, MaxBits) }

// Capacity is what the widths of a layout amount to.
type Capacity struct {
	// Bits is the width of all fields together.
	Bits int `json:"bits"`
	// Years is the life from the epoch to the horizon.
	Years float64 `json:"years"`
	// Horizon is the first instant that has no tick; zero past the year 9999.
	Horizon time.Time `json:"horizon,omitzero"`
	// Workers is how many worker ids there are, datacenters included.
	Workers int64 `json:"workers"`
	// PerTick is how many ids one worker can mint in one tick.
	PerTick int64 `json:"ids_per_tick"`
	// WorkerRate is ids a second of one worker.
	WorkerRate float64 `json:"worker_rate"`
	// Rate is ids a second of all workers together.
	Rate float64 `json:"rate"`
}

// CapacityOf measures a layout, which need not be valid: claims are made for layouts
// that cannot exist. The horizon then follows from unit, epoch and time bits alone.
func CapacityOf(l snowfence.Layout) Capacity {
	workerBits := l.Bits(snowfence.Datacenter) + l.Bits(snowfence.Worker)
	rate := math.Ldexp(1/l.Unit.Seconds(), l.Bits(snowfence.Sequence))
	c := Capacity{
		Bits:       l.TotalBits(),
		Workers:    powerOfTwo(workerBits),
		PerTick:    powerOfTwo(l.Bits(snowfence.Sequence)),
		WorkerRate: rate,
		Rate:       math.Ldexp(rate, workerBits),
	}
	if l.Validate() != nil {
		l = layoutOf(l.Unit, l.Epoch, l.Bits(snowfence.Time), 1, 1)
	}
	if l.Validate() != nil {
		c.Years = math.Ldexp(l.Unit.Seconds()/Year.Seconds(), l.Bits(snowfence.Time))
		return c
	}
	c.Years = float64(l.HorizonTick()) * l.Unit.Seconds() / Year.Seconds()
	if horizon := l.Horizon().UTC(); horizon.Year() <= 9999 {
		c.Horizon = horizon
	}
	return c
}

// layoutOf composes a layout in the customary order, without a worker of no bits.
func layoutOf(unit time.Duration, epoch time.Time, timeBits, workerBits, sequenceBits int) snowfence.Layout {
	fields := []snowfence.Field{{Kind: snowfence.Time, Bits: timeBits}}
	if workerBits > 0 {
		fields = append(fields, snowfence.Field{Kind: snowfence.Worker, Bits: workerBits})
	}
	fields = append(fields, snowfence.Field{Kind: snowfence.Sequence, Bits: sequenceBits})
	return snowfence.Layout{Unit: unit, Epoch: epoch, Fields: fields}
}

// powerOfTwo is 2^bits, but at most 2^62, which is the most that a requirement can ask.
func powerOfTwo(bits int) int64 { return 1 << min(bits, 62) }

// Widths writes the fields of a layout for people, in the peer's own words:
// "ms 41 · worker 10 · seq 12". Unlike the layout's text form it leaves the
// epoch out, and works for a layout that is not valid.
func Widths(l snowfence.Layout) string {
	var fields []string
	for _, f := range l.Fields {
		word := f.Word()
		switch {
		case f.Kind == snowfence.Time:
			word = UnitWord(l.Unit)
		case f.Kind == snowfence.Sequence && f.Name == "":
			word = "seq"
		}
		fields = append(fields, fmt.Sprintf("%s %d", word, f.Bits))
	}
	return strings.Join(fields, " · ")
}

// UnitWord writes a layout's unit: "ms", "10 ms", "s".
func UnitWord(unit time.Duration) string {
	words := []string{"s", "ms", "µs", "ns"}
	for i, one := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		switch {
		case unit == one:
			return words[i]
		case unit%one == 0:
			return fmt.Sprintf("%d %s", unit/one, words[i])
		}
	}
	return unit.String()
}
