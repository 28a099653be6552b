package merge

import (
	"context"
	"slices"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/text"
)

// Verdict is the result of a check in a word.
type Verdict string

// The verdicts.
const (
	// None: no id is on two sides, and no issuer that the sides name can put one there.
	None Verdict = "none"
	// Clashes: an id is on two sides.
	Clashes Verdict = "clash"
	// Possible: future ids may be on two sides.
	Possible Verdict = "possible"
	// Unknown: nothing was found, but not everything could be compared.
	Unknown Verdict = "unknown"
)

// Config names the sides of a merge.
type Config struct {
	// Sides are the names of the sides, which are numbered in this order, as Inputs and
	// Issuers are.
	Sides   []string
	Inputs  []Input
	Issuers []*Issuer
	// Shown is how many ids are listed: 0 or more.
	Shown int
	// Sort sets how ids are sorted if two sides or more have any.
	Sort idsort.Config
}

// Input is a source of ids of a side.
type Input struct {
	Side int
	idsort.Input
}

// Report is the result of a check. The program prints its JSON form.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Summary is the verdict in a sentence.
	Summary string       `json:"summary"`
	Sides   []SideReport `json:"sides"`
	// Data is nil unless two sides or more have ids.
	Data      *Data      `json:"data,omitempty"`
	Forecasts []Forecast `json:"forecasts"`
}

// SideReport describes one side. HasData is true if it has a source of ids.
type SideReport struct {
	Name    string          `json:"name"`
	IDs     uint64          `json:"ids"`
	Sources []*SourceReport `json:"sources"`
	Issuers []*Issuer       `json:"issuers"`
	// Clashing is how many of its ids clash, and Twice how many are several times on this side.
	Clashing uint64 `json:"clashing_ids"`
	Twice    uint64 `json:"ids_twice_on_this_side"`
	HasData  bool   `json:"-"`
}

// SourceReport describes one source. Rounded shows by which numbers its ids look
// rounded, or is empty.
type SourceReport struct {
	Source  string `json:"source"`
	IDs     uint64 `json:"ids"`
	Rounded string `json:"rounded,omitempty"`
}

// Time is a time that JSON shows as RFC 3339, also beyond the year 9999.
type Time struct{ time.Time }

// MarshalJSON returns the time in its zone, with as much of the second as there is.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.Format(time.RFC3339Nano) + `"`), nil
}

// Check reads all ids, counts the ids on several sides, and finds out whether ids of the
// future can clash.
//
// A *[SideError] is returned if a source can't be opened or read, else an error of
// sorting or the cause of a context that ended.
func Check(ctx context.Context, c Config) (*Report, error) {
	r := &Report{Forecasts: []Forecast{}}
	for n, name := range c.Sides {
		side := SideReport{Name: name, Sources: []*SourceReport{}, Issuers: []*Issuer{}}
		side.HasData = slices.ContainsFunc(c.Inputs, func(in Input) bool { return in.Side == n })
		for _, i := range c.Issuers {
			if i.Side == name {
				side.Issuers = append(side.Issuers, i)
			}
		}
		r.Sides = append(r.Sides, side)
	}
	if err := c.read(ctx, r); err != nil {
		return nil, err
	}
	for n, a := range c.Issuers {
		for _, b := range c.Issuers[n+1:] {
			f := Predict(a, b)
			r.judge(&f)
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

// judge adds to a forecast the evidence of both sides' ids. Comparing them settles the
// past. Within a side it does if all ids differ: only the owner of the side knows
// whether such an id is one or two.
func (r *Report) judge(f *Forecast) {
	a, b := r.side(f.Sides[0]), r.side(f.Sides[1])
	switch {
	case f.Outcome == Never || r.Data == nil || !a.HasData || !b.HasData:
	case a != b && slices.ContainsFunc(r.Data.Between, func(p Pair) bool { return p.Sides == f.Sides }):
		f.Outcome = Clashed
	case f.FromNow.IsZero() && (a != b || a.Twice == 0):
		f.Outcome, f.Advice = Never, ""
	}
}

// conclude finds the verdict, and puts it into a sentence.
func (r *Report) conclude() {
	missing := r.missing()
	switch {
	case r.Data != nil && r.Data.Clashing > 0:
		r.Verdict, r.Summary = Clashes, text.Count(r.Data.Clashing, "id")+" "+text.Plural(r.Data.Clashing, "is", "are")+" on more than one side"
	case slices.ContainsFunc(r.Forecasts, func(f Forecast) bool { return f.Outcome != Never }):
		r.Verdict, r.Summary = Possible, "ids can clash"
	case missing != "":
		r.Verdict, r.Summary = Unknown, missing
	case r.Data == nil && !slices.ContainsFunc(r.Sides, func(s SideReport) bool { return s.HasData || len(s.Issuers) == 0 }):
		r.Verdict, r.Summary = None, "no id can ever be issued twice"
	default:
		r.Verdict, r.Summary = None, "no id clashes, of the ids and issuers that the sides name"
	}
	r.Summary = string(r.Verdict) + ": " + r.Summary
}

// missing names the ids that were not compared, or is empty. An issuer may still issue the ids
// of a side whose issuer is not named.
func (r *Report) missing() string {
	issued := slices.ContainsFunc(r.Sides, func(s SideReport) bool { return len(s.Issuers) > 0 })
	for _, side := range r.Sides {
		if side.HasData && side.IDs == 0 {
			return "no ids were read of side " + side.Name
		}
		for _, s := range side.Sources {
			if s.Rounded != "" {
				return "ids of side " + side.Name + " look rounded"
			}
		}
		if issued && len(side.Issuers) == 0 {
			return "the issuer of the ids of side " + side.Name + " is not named, and others may issue them"
		}
	}
	return ""
}
