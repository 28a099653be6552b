package merge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/text"
)

// Verdict is the result of a check in a word.
type Verdict string

// The verdicts.
const (
	// None: no id is on two sides, and none can in future, as far as the sides
	// name who issues ids.
	None Verdict = "none"
	// Clashes: an id is on two sides.
	Clashes Verdict = "clash"
	// Possible: none does, but ids that are still to come may.
	Possible Verdict = "possible"
	// Unknown: nothing was found, but not all that was to be read was an id, or a side has none.
	Unknown Verdict = "unknown"
)

// Config says what is merged. The sides are numbered in the order of Sides.
type Config struct {
	// Sides are their names.
	Sides []string
	// Inputs are the sources of ids, and Issuers the issuers, in the order of sides.
	Inputs  []Input
	Issuers []*Issuer
	// Layout is that of the ids of sides without an issuer; nil if it is not known.
	Layout *snowfence.Layout
	// Shown is how many runs, and how many ids, are listed: 0 or more.
	Shown int
	// Clock tells when ids were read.
	Clock snowfence.Clock
	// Sort says how ids are sorted if two sides or more have any. Its layout is not used.
	Sort idsort.Config
}

// Input is a source of ids of a side.
type Input struct {
	Side int
	idsort.Input
}

// Report is the result of a check. Its JSON form is what the program prints.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Summary is the verdict in a sentence.
	Summary string       `json:"summary"`
	Sides   []SideReport `json:"sides"`
	// Data is nil unless two sides or more have ids.
	Data      *Data      `json:"data,omitempty"`
	Strays    []*Strays  `json:"strays"`
	Forecasts []Forecast `json:"forecasts"`
}

// SideReport is what is known of one side.
type SideReport struct {
	Name    string          `json:"name"`
	IDs     uint64          `json:"ids"`
	Sources []*SourceReport `json:"sources"`
	Issuers []*Issuer       `json:"issuers"`
	// Clashing is how many of its ids clash, and ClashingRows in how many rows; Twice
	// is how many are several times on this side, and RowsTwice in how many rows.
	Clashing     uint64 `json:"clashing_ids"`
	ClashingRows uint64 `json:"clashing_rows"`
	Twice        uint64 `json:"ids_twice_on_this_side"`
	RowsTwice    uint64 `json:"-"`
	// HasData is true if it has a source of ids.
	HasData bool `json:"-"`
}

// SourceReport is what was read of one source.
type SourceReport struct {
	Source       string `json:"source"`
	IDs          uint64 `json:"ids"`
	Skipped      uint64 `json:"skipped"`
	ClashingRows uint64 `json:"clashing_rows"`
	// Rounded says what shows that the ids were rounded, or is empty.
	Rounded string `json:"rounded,omitempty"`
	// Invalid is the first thing that was skipped because it is no id, or nil.
	Invalid error `json:"-"`

	place func(at uint64) string
}

// Check reads all ids, counts those on several sides, and finds out whether ids of the
// future can clash. With an error the report has the sources as far as they were read.
//
// A *[SideError] is returned if a source can't be opened or read, else an error of
// sorting or the cause of a context that ended.
func Check(ctx context.Context, c Config) (*Report, error) {
	r := &Report{Strays: []*Strays{}, Forecasts: []Forecast{}}
	for n, name := range c.Sides {
		side := SideReport{Name: name, Sources: []*SourceReport{}, Issuers: []*Issuer{}}
		side.HasData = slices.ContainsFunc(c.Inputs, func(in Input) bool { return in.Side == n })
		for _, i := range c.Issuers {
			if i.Side == name {
				side.Issuers = append(side.Issuers, i)
			}
			if side.HasData {
				r.Strays = append(r.Strays, NewStrays(name, i))
			}
		}
		r.Sides = append(r.Sides, side)
	}
	if err := c.read(ctx, r); err != nil {
		return r, err
	}
	for _, s := range r.Strays {
		s.End()
		s.Compared = r.side(s.Issuer.Side).HasData
	}
	for n, a := range c.Issuers {
		for _, b := range c.Issuers[n+1:] {
			f := Predict(a, b)
			f.Compared = r.compared(f)
			r.Forecasts = append(r.Forecasts, f)
		}
	}
	r.conclude()
	return r, nil
}

// side returns the side of that name.
func (r *Report) side(name string) *SideReport {
	return &r.Sides[slices.IndexFunc(r.Sides, func(s SideReport) bool { return s.Name == name })]
}

// compared reports whether the ids that two issuers may both have issued were compared.
// Within a side they were if no id is there twice: only the owner of the side knows
// whether such an id is one or two.
func (r *Report) compared(f Forecast) bool {
	a, b := r.side(f.Sides[0]), r.side(f.Sides[1])
	return r.Data != nil && a.HasData && b.HasData && (!f.Within || a.Twice == 0)
}

// conclude finds the verdict, and says it in a sentence.
func (r *Report) conclude() {
	var within []string // the sides whose own issuers may clash
	strays, across := slices.ContainsFunc(r.Strays, (*Strays).AtStake), false
	for _, f := range r.Forecasts {
		switch {
		case !f.AtStake():
		case !f.Within:
			across = true
		case !slices.Contains(within, f.Sides[0]):
			within = append(within, f.Sides[0])
		}
	}
	issued := !slices.ContainsFunc(r.Sides, func(s SideReport) bool { return len(s.Issuers) == 0 })
	r.Verdict = None
	switch {
	case r.Data != nil && r.Data.Clashing > 0:
		r.Verdict, r.Summary = Clashes, text.Count(r.Data.Clashing, "id")+" "+text.Plural(r.Data.Clashing, "is", "are")+" on more than one side"
	case strays || across || len(within) > 0:
		r.Verdict, r.Summary = Possible, "ids can clash"
		switch alone := !across && len(within) == 0; {
		case alone && r.Data != nil:
			r.Summary = "no id is on two sides now, but ids that were read can clash with those of an issuer"
		case alone:
			r.Summary = "ids that were read can clash with those of an issuer"
		case r.Data != nil:
			r.Summary = "no id is on two sides now, but ids may clash in future"
		}
		across = across || strays
		if len(within) > 0 && across {
			r.Summary += ", also"
		}
		if len(within) > 0 {
			r.Summary += " within " + strings.Join(within, ", ")
		}
	case r.Data != nil && issued:
		r.Summary = "no id is on two sides, and none ever can"
	case r.Data != nil:
		r.Summary = "no id is on two sides"
	case len(r.Forecasts) > 0 && issued:
		r.Summary = "no id can ever be issued twice"
	case len(r.Forecasts) > 0:
		r.Summary = "no id that was read can be issued again, and no two issuers can ever issue the same id"
	default:
		r.Summary = "no id that was read can be issued again"
	}
	if missing := r.missing(); missing != "" && r.Verdict == None {
		r.Verdict, r.Summary = Unknown, missing+"; of the others: "+r.Summary
	}
	r.Summary = string(r.Verdict) + ": " + r.Summary
}

// missing says which ids were not compared, or is empty.
func (r *Report) missing() string {
	for _, side := range r.Sides {
		if side.HasData && side.IDs == 0 {
			return "no ids were read of side " + side.Name
		}
		for _, s := range side.Sources {
			if s.Rounded != "" {
				return "ids of side " + side.Name + " look rounded"
			}
			if s.Skipped > 0 {
				return fmt.Sprintf("%s of side %s %s skipped", text.Count(s.Skipped, "id"), side.Name, text.Plural(s.Skipped, "was", "were"))
			}
		}
	}
	return ""
}
