package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// Claim is one claim made for a layout, with its answer.
type Claim struct {
	Requirement string  `json:"requirement"` // the field of [Requirements] as in JSON
	Asked       float64 `json:"asked"`       // what was claimed
	Real        float64 `json:"real"`        // the layout's value
	Holds       bool    `json:"holds"`       // the layout provides the claim, or more
	Answer      string  `json:"answer"`      // the real number, for people
}

// Assessment is the answer of [Check].
type Assessment struct {
	// Layout is the layout's text form; empty when the layout is not valid.
	Layout string `json:"layout,omitempty"`
	// Widths is the layout for people, without its epoch.
	Widths string `json:"widths"`
	Capacity
	// Problem is why the layout cannot be used; empty when it can.
	Problem string `json:"problem,omitempty"`
	// Claims are answered in the order of the fields of [Requirements].
	Claims []Claim `json:"claims"`
	// Offer is filled when the layout cannot be used or a claim is false: a layout for the claim, or
	// else this layout's workers for [CustomaryYears].
	Offer *Offer `json:"offer,omitempty"`
}

// False returns how many claims are false.
func (a Assessment) False() (n int) {
	for _, c := range a.Claims {
		if !c.Holds {
			n++
		}
	}
	return n
}

// Holds reports that the layout can be used and every claim is true.
func (a Assessment) Holds() bool { return a.Problem == "" && a.False() == 0 }

// Check measures a layout, which need not be valid, and answers the claims made for it.
// now decides whether it has run out. The error is that of [Requirements.Validate].
func Check(l snowfence.Layout, claimed Requirements, now time.Time) (Assessment, error) {
	if err := claimed.Validate(); err != nil {
		return Assessment{}, err
	}
	a := Assessment{Widths: Widths(l), Capacity: CapacityOf(l), Problem: problem(l, now)}
	if l.Validate() == nil {
		a.Layout = l.String()
	}
	a.Claims = claims(a.Capacity, claimed)
	if a.Holds() {
		return a, nil
	}
	need, epoch := claimed, l.Epoch
	need.Workers = cmp.Or(claimed.Workers, float64(a.Workers))
	if !a.Horizon.After(now) {
		epoch = snowfence.DefaultLayout().Epoch
	}
	offer, err := For(need, epoch)
	a.Offer = &offer
	return a, err
}

// problem returns why a layout cannot be used from now on, if so.
func problem(l snowfence.Layout, now time.Time) string {
	bits := l.TotalBits()
	err := l.Validate()
	switch {
	case bits > MaxBits && !l.Unsigned:
		return fmt.Sprintf("%d bits, %d more than the %d of an id", bits, bits-MaxBits, MaxBits)
	case err != nil:
		return strings.TrimPrefix(err.Error(), "snowfence: ")
	case !l.Horizon().After(now):
		return fmt.Sprintf("ran out on %s: to go on, see docs/running-out.md", l.Horizon().UTC().Format(time.DateOnly))
	default:
		return ""
	}
}

// claims answers every claim that asks something.
func claims(c Capacity, claimed Requirements) []Claim {
	sharing := float64(c.Workers)
	if claimed.Workers != 0 {
		sharing = min(sharing, claimed.Workers)
	}
	provided := []float64{c.Years, float64(c.Workers), c.WorkerRate * sharing, c.WorkerRate, float64(c.PerTick)}
	answers := []Claim{}
	for i, n := range claimed.numbers() {
		asked := *n.value
		if asked == 0 {
			continue
		}
		claim := Claim{n.name, asked, provided[i], provided[i] >= asked, n.text(n.shown(provided[i]))}
		if !claim.Holds {
			claim.Answer += ", not " + n.shown(asked)
		}
		answers = append(answers, claim)
	}
	if most := claimed.Bits; most != 0 {
		claim := Claim{"bits", float64(most), float64(c.Bits), c.Bits <= most, text.Count(c.Bits, "bit")}
		if !claim.Holds {
			claim.Answer += fmt.Sprintf(", not %d", most)
		}
		answers = append(answers, claim)
	}
	return answers
}
