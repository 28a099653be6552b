package plan

import (
	"fmt"
	"math"
	"time"

	"snowfence.example/snowfence/internal/text"
)

// Relaxation is one requirement, lowered as far as it must be and no further:
// alone enough to make the requirements fit.
type Relaxation struct {
	// Requirement is the name of the field as in JSON, such as "worker_rate".
	Requirement string `json:"requirement"`
	// From is what was asked, To what fits.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Text says it for people.
	Text string `json:"text"`
}

// leastYears is the shortest life that is worth proposing.
const leastYears = 1

// relax finds, for each requirement, the largest value that fits while all others stay,
// the one that costs least to lower first. It leaves out those of which no value fits,
// or only a life of less than a year.
func (r Requirements) relax() []Relaxation {
	var found []Relaxation
	// The values worth trying are those that fill a number of bits exactly:
	// what one id, worker or tick amounts to, times a power of two.
	try := func(
		name string, from float64, one func(seconds float64) float64, set func(*Requirements, float64),
		words, asked string, shown func(to float64) string,
	) {
		best := 0.0
		for _, unit := range units() {
			for bits := range MaxBits {
				lowered, to := r, math.Ldexp(one(unit.Seconds()), bits)
				if to <= best || to >= from {
					continue
				}
				if set(&lowered, to); lowered.fits() {
					best = to
				}
			}
		}
		if best > 0 {
			found = append(found, Relaxation{name, from, best, fmt.Sprintf(words, shown(best), asked)})
		}
	}
	whole := func(to float64) string { return text.Grouped(int64(to)) }
	workers := func(to float64) string { return text.Count(int64(to), "worker") }
	cutOff := func(to float64) string { return decimals(math.Floor(to*1e4)/1e4, 4) } // not rounded: the number said must fit
	try("burst", float64(r.Burst), func(float64) float64 { return 1 },
		func(x *Requirements, to float64) { x.Burst = int64(to) },
		"a burst of %s ids in a tick instead of %s", text.Grouped(r.Burst), whole)
	try("worker_rate", r.WorkerRate, func(seconds float64) float64 { return 1 / seconds },
		func(x *Requirements, to float64) { x.WorkerRate = to },
		"%s ids/s of one worker instead of %s", Quantity(r.WorkerRate), whole)
	try("rate", r.Rate, func(seconds float64) float64 { return float64(r.Workers) / seconds },
		func(x *Requirements, to float64) { x.Rate = to },
		"%s ids/s of all workers together instead of %s", Quantity(r.Rate), whole)
	try("workers", float64(r.Workers), func(float64) float64 { return 1 },
		func(x *Requirements, to float64) { x.Workers = int64(to) },
		"%s instead of %s", text.Grouped(r.Workers), workers)
	try("years", r.Years, func(seconds float64) float64 { return seconds / Year.Seconds() },
		func(x *Requirements, to float64) { x.Years = to },
		"%s years instead of %s", Years(r.Years), cutOff)
	if last := len(found) - 1; last >= 0 && found[last].Requirement == "years" && found[last].To < leastYears {
		found = found[:last]
	}
	if total := r.narrowest().total(); total <= MaxBits {
		found = append(found, Relaxation{
			Requirement: "bits", From: float64(r.limit()), To: float64(total),
			Text: fmt.Sprintf("%d bits instead of %d", total, r.limit()),
		})
	}
	return found
}

// fits reports whether any unit meets the requirements.
func (r Requirements) fits() bool { return r.narrowest().total() <= r.limit() }

// narrowest is the smallest division over all units.
func (r Requirements) narrowest() (narrowest budget) {
	for i, unit := range units() {
		if b := r.budget(unit); i == 0 || b.total() < narrowest.total() {
			narrowest = b
		}
	}
	return narrowest
}

// problem says by how much the requirements miss.
func (r Requirements) problem() string {
	b := r.narrowest()
	return fmt.Sprintf("%d bits at the least (%s), %d more than the %d there are",
		b.total(), Widths(b.layout(time.Time{})), b.total()-r.limit(), r.limit())
}
