package main

import (
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// mergeText writes the verdict, the sides, the ids that clash, and the forecasts.
func (out *report) mergeText(r *merge.Report) {
	out.Line("%s", r.Summary)
	for _, side := range r.Sides {
		for _, s := range side.Sources {
			line := text.Count(s.IDs, "id")
			if s.Skipped > 0 {
				line += ", " + text.Grouped(s.Skipped) + " skipped"
			}
			if s.ClashingRows > 0 {
				line += ", " + text.Grouped(s.ClashingRows) + " of them on another side"
			}
			out.Line("  %s  %s: %s", side.Name, s.Source, line)
			if s.Rounded != "" {
				out.Wrapped("  ", s.Source+" of "+side.Name+": "+s.Rounded+"; "+source.RoundedAdvice)
			}
		}
		for _, i := range side.Issuers {
			out.Line("  %s  %s: %s", side.Name, i.Name, i.Layout)
		}
		if side.Twice > 0 {
			out.Line("  %s has %s several times by itself: see snowfence check", side.Name, text.Count(side.Twice, "id"))
		}
	}
	if d := r.Data; d != nil && d.Clashing > 0 {
		out.Line("at least %s %s to be renumbered", text.Count(d.Renumber, "row"), text.Plural(d.Renumber, "has", "have"))
		for _, c := range d.First {
			var places []string
			for _, s := range c.Stands {
				places = append(places, s.Side+": "+s.Source+" "+s.Place)
			}
			out.Line("  %s, %d times  %s", c.ID, c.Rows, strings.Join(places, "; "))
		}
	}
	for _, f := range r.Forecasts {
		outcome := string(f.Outcome)
		if f.Outcome != merge.Never && !f.FromNow.IsZero() {
			outcome += " from " + f.FromNow.UTC().Format("2006-01-02T15:04:05.999999Z")
		}
		out.Line("\n%s (%s) and %s (%s): %s", f.Sides[0], f.Issuers[0], f.Sides[1], f.Issuers[1], outcome)
		if f.Advice != "" {
			out.Wrapped("  -> ", f.Advice)
		}
	}
}
