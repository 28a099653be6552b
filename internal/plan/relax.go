package plan

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Relaxation is one requirement, lowered as far as it must be and no further:
// alone enough to make the requirements fit.
type Relaxation struct {
	Requirement string  `json:"requirement"` // the field as in JSON, such as "worker_rate"
	From        float64 `json:"from"`        // the requirement
	To          float64 `json:"to"`          // what fits
	Text        string  `json:"text"`        // for people
}

// leastYears is the shortest life that is worth proposing.
const leastYears = 1

// relax finds, for each requirement, the largest value that fits while all others stay,
// the one that costs least to lower first. It leaves out a requirement whose values all miss, or leave
// a life of less than a year.
func (r Requirements) relax() []Relaxation {
	lowered := r
	numbers := lowered.numbers()
	var found []Relaxation
	for i, n := range slices.Backward(numbers) {
		asked, best := *n.value, 0.0
		// Only values that fill a number of bits exactly are tried: one id, worker or
		// tick, times a power of two.
		for _, unit := range units() {
			seconds := unit.Seconds()
			one := []float64{seconds / Year.Seconds(), 1, r.Workers / seconds, 1 / seconds, 1}[i]
			for bits := range MaxBits {
				to := math.Ldexp(one, bits)
				if *n.value = to; to > best && to < asked && lowered.least(time.Time{}).TotalBits() <= r.limit() {
					best = to
				}
			}
		}
		*n.value = asked
		if best > 0 && (n.name != "years" || best >= leastYears) {
			// Cut, not rounded: the number said must fit.
			shown := n.text(grouped(math.Floor(best*1e4) / 1e4))
			found = append(found, Relaxation{n.name, asked, best, shown + " instead of " + n.shown(asked)})
		}
	}
	if total := r.least(time.Time{}).TotalBits(); total <= MaxBits {
		found = append(found, Relaxation{"bits", float64(r.limit()), float64(total), fmt.Sprintf("%d bits instead of %d", total, r.limit())})
	}
	return found
}
