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
	// Requirement is the name of the field of [Requirements] as in JSON.
	Requirement string `json:"requirement"`
	// Asked is what was claimed, Real what the layout provides.
	Asked float64 `json:"asked"`
	Real  float64 `json:"real"`
	// Holds reports that the layout provides what was claimed, or more.
	Holds bool `json:"holds"`
	// Answer says it for people, with the real number.
	Answer string `json:"answer"`
}

// Assessment is the answer of [Check].
type Assessment struct {
	// Layout is the layout's text form; empty when the layout is not valid.
	Layout string `json:"layout,omitempty"`
	// Widths is the layout for people, without its epoch.
	Widths string `json:"widths"`
	Capacity
	// Problem says why the layout cannot be used; empty when it can.
	Problem string `json:"problem,omitempty"`
	// Claims are answered in the order of the fields of [Requirements].
	Claims []Claim `json:"claims"`
	// Offer is filled when the layout cannot be used or a claim is false: what provides
	// what was claimed, or else this layout's workers for [CustomaryYears].
	Offer *Offer `json:"offer,omitempty"`
}

// Holds reports that the layout can be used and every claim is true.
func (a Assessment) Holds() bool {
	for _, c := range a.Claims {
		if !c.Holds {
			return false
		}
	}
	return a.Problem == ""
}

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
	a.Claims = claims(l, a.Capacity, claimed)
	if a.Holds() {
		return a, nil
	}
	need, epoch := claimed, l.Epoch
	need.Workers = cmp.Or(need.Workers, a.Workers)
	if !a.Horizon.After(now) {
		epoch = snowfence.DefaultLayout().Epoch
	}
	offer, err := For(need, epoch)
	if err != nil {
		return Assessment{}, err
	}
	a.Offer = &offer
	return a, nil
}

// problem says why a layout cannot be used from now on, if so.
func problem(l snowfence.Layout, now time.Time) string {
	bits := l.TotalBits()
	err := l.Validate()
	switch {
	case bits > MaxBits && !l.Unsigned:
		return fmt.Sprintf("%d bits, %d more than the %d of an id", bits, bits-MaxBits, MaxBits)
	case err != nil:
		return strings.TrimPrefix(err.Error(), "snowfence: ")
	case !l.Horizon().After(now):
		return fmt.Sprintf("ran out on %s: docs/running-out.md says how to go on", l.Horizon().UTC().Format(time.DateOnly))
	default:
		return ""
	}
}

// claims answers every claim that asks something.
func claims(l snowfence.Layout, c Capacity, claimed Requirements) []Claim {
	answers := []Claim{}
	answer := func(requirement string, asked, actual float64, fact, asClaimed string) {
		if asked == 0 {
			return
		}
		claim := Claim{Requirement: requirement, Asked: asked, Real: actual, Holds: actual >= asked, Answer: fact}
		switch {
		case !claim.Holds:
			claim.Answer += ", not " + asClaimed
		case actual >= 2*asked:
			claim.Answer += ", not just " + asClaimed
		}
		answers = append(answers, claim)
	}
	timeBits := l.Bits(snowfence.Time)
	workerBits := l.Bits(snowfence.Datacenter) + l.Bits(snowfence.Worker)
	sequenceBits := l.Bits(snowfence.Sequence)
	unit := UnitWord(l.Unit)

	answer("years", claimed.Years, c.Years,
		fmt.Sprintf("%s of %s last %s%s", bitsOf(timeBits), unit, Amount(Years(c.Years), "year"), until(c.Horizon)), Years(claimed.Years))
	answer("workers", float64(claimed.Workers), float64(c.Workers),
		fmt.Sprintf("%s are %s", bitsOf(workerBits), text.Count(c.Workers, "worker")), text.Grouped(claimed.Workers))

	sharing := c.Workers
	if claimed.Workers != 0 {
		sharing = min(sharing, claimed.Workers)
	}
	inAll := c.WorkerRate * float64(sharing)
	answer("rate", claimed.Rate, inAll,
		fmt.Sprintf("%s of %s ids/s each are %s ids/s in all", text.Count(sharing, "worker"), Quantity(c.WorkerRate), Quantity(inAll)), Quantity(claimed.Rate))
	answer("worker_rate", claimed.WorkerRate, c.WorkerRate,
		fmt.Sprintf("%s ids in %s are %s ids/s of one worker", text.Grouped(c.PerTick), article(unit), Quantity(c.WorkerRate)), Quantity(claimed.WorkerRate))
	answer("burst", float64(claimed.Burst), float64(c.PerTick),
		fmt.Sprintf("%s of sequence are %s ids per tick and worker", bitsOf(sequenceBits), text.Grouped(c.PerTick)), text.Grouped(claimed.Burst))

	if claimed.Bits != 0 {
		claim := Claim{Requirement: "bits", Asked: float64(claimed.Bits), Real: float64(c.Bits), Holds: c.Bits <= claimed.Bits}
		claim.Answer = fmt.Sprintf("%d bits in all", c.Bits)
		if !claim.Holds {
			claim.Answer += fmt.Sprintf(", %d more than %d", c.Bits-claimed.Bits, claimed.Bits)
		}
		answers = append(answers, claim)
	}
	return answers
}

func bitsOf(n int) string { return text.Count(n, "bit") }

// until names the day of a horizon, if there is one.
func until(horizon time.Time) string {
	if horizon.IsZero() {
		return ""
	}
	return " (until " + horizon.Format(time.DateOnly) + ")"
}
