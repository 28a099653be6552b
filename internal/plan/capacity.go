package plan

import (
	"math"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Year is the mean Gregorian year, 365.2425 days, in which lives are counted.
const Year = 31_556_952 * time.Second

// Capacity is the reach of a layout's widths.
type Capacity struct {
	Bits       int       `json:"bits"`             // of all fields together
	Years      float64   `json:"years"`            // from the epoch to the horizon
	Horizon    time.Time `json:"horizon,omitzero"` // the first instant that has no tick; zero past the year 9999
	Workers    int64     `json:"workers"`          // worker ids, datacenters included
	PerTick    int64     `json:"ids_per_tick"`     // ids of one worker in one tick
	WorkerRate float64   `json:"worker_rate"`      // ids a second of one worker
	Rate       float64   `json:"rate"`             // ids a second of all workers together
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

// layoutOf composes a layout in the customary order, and leaves a worker of zero bits out.
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

// Widths is a layout's text form without the epoch: "ms41-worker10-seq12".
func Widths(l snowfence.Layout) string {
	widths, _, _ := strings.Cut(l.String(), "@")
	return widths
}
