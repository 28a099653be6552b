package main

import (
	"strconv"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// mergeText is the verdict, the sides, and then what it comes from.
func mergeText(r *merge.Report) string {
	p := &page.Page{}
	p.Line("%s", r.Summary)
	for _, side := range r.Sides {
		for _, s := range side.Sources {
			line := text.Count(s.IDs, "id")
			if s.Skipped > 0 {
				line += ", " + text.Grouped(s.Skipped) + " skipped"
			}
			if s.ClashingRows > 0 {
				line += ", " + text.Grouped(s.ClashingRows) + " of them on another side"
			}
			p.Line("  %s  %s: %s", side.Name, s.Source, line)
			if s.Rounded != "" {
				p.Wrapped("  ", s.Source+" of "+side.Name+": "+s.Rounded+"; "+source.RoundedAdvice)
			}
		}
		for _, i := range side.Issuers {
			p.Line("  %s  %s: %s", side.Name, i.Name, i.Layout)
			if n := len(i.Quarantined); n > 0 {
				p.Line("      %s quarantined, and taken to stay so", text.Count(n, "worker id"))
			}
		}
		if side.Twice > 0 {
			p.Line("  %s has %s several times by itself, in %s: see snowfence check", side.Name, text.Count(side.Twice, "id"), text.Count(side.RowsTwice, "row"))
		}
	}
	dataText(p, r.Data)
	for _, s := range r.Strays {
		if s.Used > 0 {
			p.Line("\n%s of %s may have been issued by %s too: only its own ids tell", text.Count(s.Used, "id"), s.Side, s.Name)
		}
		if s.Open == 0 {
			continue
		}
		p.Line("\n%s of %s may still be issued by %s:", text.Count(s.Open, "id"), s.Side, s.Name)
		var rows [][]string
		for _, w := range s.Workers[:min(len(s.Workers), maxPairs)] {
			rows = append(rows, []string{strconv.FormatInt(w.Worker, 10), text.Grouped(w.Open), w.Last.String(), decode.FormatTime(w.Until.Time, s.Issuer.Layout.Unit)})
		}
		p.Table("  ", ">worker, >ids, >highest, its time", rows)
		p.Wrapped("  -> ", s.Advice)
	}
	for _, f := range r.Forecasts {
		said := string(f.Outcome)
		switch {
		case f.Outcome == merge.Never:
		case f.FromNow.IsZero():
			said += ", in the past alone"
		default:
			said += " from " + f.FromNow.UTC().Format("2006-01-02T15:04:05.999999Z") + " on"
		}
		p.Line("\n%s (%s) and %s (%s): %s", f.Sides[0], f.Issuers[0], f.Sides[1], f.Issuers[1], said)
		if f.Advice != "" {
			p.Wrapped("  -> ", f.Advice)
		}
	}
	return p.String()
}

// dataText says what the ids of the sides have in common.
func dataText(p *page.Page, d *merge.Data) {
	if d == nil || d.Clashing == 0 {
		return
	}
	for _, pair := range d.Between {
		p.Line("\n%s %s both in %s and in %s", text.Count(pair.IDs, "id"), text.Plural(pair.IDs, "is", "are"), pair.Sides[0], pair.Sides[1])
	}
	if d.Rounded != "" {
		p.Wrapped("", "of the ids that clash, "+d.Rounded+"; "+source.RoundedAdvice)
	}
	fewest := ""
	if d.FewestOn != "" {
		fewest = ", fewest in " + d.FewestOn
	}
	p.Line("at least %s %s to be renumbered%s", text.Count(d.Renumber, "row"), text.Plural(d.Renumber, "has", "have"), fewest)
	for _, c := range d.First {
		var places []string
		for _, s := range c.Stands {
			places = append(places, s.SideName+": "+s.SourceName+" "+s.Place)
		}
		p.Line("  %s, %d times  %s", c.ID, c.Rows, strings.Join(places, "; "))
	}
}
