package plan

import (
	"cmp"
	"fmt"
	"strings"
)

// MaxBits is the width of an id: 64 bits without the sign. MinBits leaves a bit
// each for the time, the worker and the sequence.
const (
	MinBits = 3
	MaxBits = 63
)

// CustomaryYears is the life where none is asked for: the life of 41 bits of ms.
const CustomaryYears = 69

// most is the greatest number that can be asked for.
const most = 1 << 62

// Requirements are asked of an id, or claimed of a layout. A zero field asks nothing.
type Requirements struct {
	// Years is the life from the epoch to the horizon.
	Years float64 `json:"years,omitempty"`
	// Workers is how many worker ids there are, datacenters included.
	Workers float64 `json:"workers,omitempty"`
	// Rate is ids a second of all workers together, the load spread evenly.
	Rate float64 `json:"rate,omitempty"`
	// WorkerRate is ids a second of any one worker.
	WorkerRate float64 `json:"worker_rate,omitempty"`
	// Burst is how many ids one worker must be able to mint within one tick:
	// at once, and without running ahead of the clock.
	Burst float64 `json:"burst,omitempty"`
	// Bits is the most that an id may have: 53 for exact JavaScript numbers. Zero is 63.
	Bits int `json:"bits,omitempty"`
}

// number is a requirement that a layout may exceed: each but the width.
type number struct {
	name  string // as in JSON
	noun  string // its noun, for people
	value *float64
	most  float64
	shown func(float64) string
}

// numbers are in the order of the fields.
func (r *Requirements) numbers() []number {
	return []number{
		{"years", "years", &r.Years, 1e6, Years},
		{"workers", "workers", &r.Workers, most, grouped},
		{"rate", "ids/s in all", &r.Rate, most, Quantity},
		{"worker_rate", "ids/s of any worker", &r.WorkerRate, most, Quantity},
		{"burst", "ids in a tick", &r.Burst, most, grouped},
	}
}

// text writes a value with its noun.
func (n number) text(value string) string { return Amount(value, n.noun) }

// Amount writes a value with a noun in the plural: "1 worker", "4,096 ids in a tick".
func Amount(value, noun string) string {
	if value == "1" {
		noun = strings.TrimSuffix(noun, "s")
	}
	return value + " " + noun
}

// Validate reports the first field that no layout could be held against:
// negative or not a number, or a width outside [MinBits] to [MaxBits].
func (r Requirements) Validate() error {
	for _, n := range r.numbers() {
		if !(*n.value >= 0 && *n.value <= n.most) {
			return fmt.Errorf("%s: %v is outside 0 to %s", n.name, *n.value, Quantity(n.most))
		}
	}
	if r.Bits != 0 && (r.Bits < MinBits || r.Bits > MaxBits) {
		return fmt.Errorf("bits: %d is outside %d to %d", r.Bits, MinBits, MaxBits)
	}
	return nil
}

// String lists the requirements.
func (r Requirements) String() string {
	var all []string
	for _, n := range r.numbers() {
		if *n.value > 0 {
			all = append(all, n.text(n.shown(*n.value)))
		}
	}
	if r.Bits > 0 {
		all = append(all, fmt.Sprintf("%d bits", r.Bits))
	}
	return strings.Join(all, ", ")
}

// limit is the width that an id may have.
func (r Requirements) limit() int { return cmp.Or(r.Bits, MaxBits) }
