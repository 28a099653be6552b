package plan

import (
	"fmt"
	"math"
	"time"
)

// Relaxation is one requirement, lowered as far as it must be and no further:
// alone enough to make the requirements fit.
type Relaxation struct {
	// Requirement is the name of the field as in JSON: "years", "workers",
	// "rate", "worker_rate", "burst" or "bits".
	Requirement string `json:"requirement"`
	// From is what was asked, To what fits.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Text says it for people.
	Text string `json:"text"`
}

// requirement describes one field of [Requirements] that can be lowered. The
// values worth trying are those that fill a number of bits exactly.
type requirement struct {
	name  string
	asked func(Requirements) float64
	with  func(Requirements, float64) Requirements
	fills func(r Requirements, unit time.Duration, bits int) float64
	text  func(from, to float64) string
}

// requirements are tried in this order, the one that costs least to lower
// first.
func requirements() []requirement {
	return []requirement{{
		name:  "burst",
		asked: func(r Requirements) float64 { return float64(r.Burst) },
		with:  func(r Requirements, v float64) Requirements { r.Burst = int64(v); return r },
		fills: func(_ Requirements, _ time.Duration, bits int) float64 { return math.Ldexp(1, bits) },
		text: func(from, to float64) string {
			return fmt.Sprintf("a burst of %s ids in a tick instead of %s", Count(int64(to)), Count(int64(from)))
		},
	}, {
		name:  "worker_rate",
		asked: func(r Requirements) float64 { return r.WorkerRate },
		with:  func(r Requirements, v float64) Requirements { r.WorkerRate = v; return r },
		fills: func(_ Requirements, unit time.Duration, bits int) float64 { return math.Ldexp(1/unit.Seconds(), bits) },
		text: func(from, to float64) string {
			return fmt.Sprintf("%s ids/s of one worker instead of %s", Count(int64(to)), Quantity(from))
		},
	}, {
		name:  "rate",
		asked: func(r Requirements) float64 { return r.Rate },
		with:  func(r Requirements, v float64) Requirements { r.Rate = v; return r },
		fills: func(r Requirements, unit time.Duration, bits int) float64 {
			return math.Ldexp(float64(r.Workers)/unit.Seconds(), bits)
		},
		text: func(from, to float64) string {
			return fmt.Sprintf("%s ids/s of all workers together instead of %s", Count(int64(to)), Quantity(from))
		},
	}, {
		name:  "workers",
		asked: func(r Requirements) float64 { return float64(r.Workers) },
		with:  func(r Requirements, v float64) Requirements { r.Workers = int64(v); return r },
		fills: func(_ Requirements, _ time.Duration, bits int) float64 { return math.Ldexp(1, bits) },
		text: func(from, to float64) string {
			return fmt.Sprintf("%s instead of %s", Amount(Count(int64(to)), "worker"), Count(int64(from)))
		},
	}, {
		name:  "years",
		asked: func(r Requirements) float64 { return r.Years },
		with:  func(r Requirements, v float64) Requirements { r.Years = v; return r },
		fills: func(_ Requirements, unit time.Duration, bits int) float64 {
			return math.Ldexp(unit.Seconds()/Year.Seconds(), bits)
		},
		text: func(from, to float64) string {
			// Cut off, not rounded: the number said must fit.
			return fmt.Sprintf("%s years instead of %s", trimZeros(fmt.Sprintf("%.4f", math.Floor(to*1e4)/1e4)), Years(from))
		},
	}}
}

// leastYears is the shortest life that is worth proposing.
const leastYears = 1

// relax finds, for each requirement, the largest value that fits while all
// others stay as they are. Requirements of which no value fits, or only a life
// of less than a year, are left out.
func (r Requirements) relax() []Relaxation {
	var found []Relaxation
	for _, q := range requirements() {
		from, to := q.asked(r), 0.0
		for _, unit := range units() {
			for bits := range MaxBits {
				v := q.fills(r, unit, bits)
				if v > to && v < from && q.with(r, v).fits() {
					to = v
				}
			}
		}
		if to > 0 && (q.name != "years" || to >= leastYears) {
			found = append(found, Relaxation{Requirement: q.name, From: from, To: to, Text: q.text(from, to)})
		}
	}
	if _, total := r.narrowest(); total <= MaxBits {
		found = append(found, Relaxation{
			Requirement: "bits", From: float64(r.limit()), To: float64(total),
			Text: fmt.Sprintf("%d bits instead of %d", total, r.limit()),
		})
	}
	return found
}

// fits reports whether any unit meets the requirements.
func (r Requirements) fits() bool {
	_, total := r.narrowest()
	return total <= r.limit()
}

// narrowest is the smallest division over all units.
func (r Requirements) narrowest() (narrowest budget, total int) {
	for i, unit := range units() {
		if b := r.budget(unit); i == 0 || b.total() < narrowest.total() {
			narrowest = b
		}
	}
	return narrowest, narrowest.total()
}

// problem says by how much the requirements miss.
func (r Requirements) problem() string {
	b, total := r.narrowest()
	return fmt.Sprintf("%d bits at the least (%s), %d more than the %d there are",
		total, Widths(b.layout(time.Time{})), total-r.limit(), r.limit())
}
