package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// maxStrayRows is how many worker ids of strays the text lists. JSON lists all.
const maxStrayRows = 20

// mergePage is the text of a report. Its lines are indented by two columns.
type mergePage struct{ page.Page }

// line adds a line as it is, and say one that is wrapped.
func (p *mergePage) line(format string, args ...any) {
	p.Page.Line("  "+format, args...)
}
func (p *mergePage) say(beginning, format string, args ...any) {
	p.Wrapped("  "+beginning, fmt.Sprintf(format, args...))
}

// mergeText is the verdict, the sides, and then what it comes from.
func mergeText(r *merge.Report) string {
	p := &mergePage{}
	p.WriteString(r.Summary + "\n")
	width := 0
	for _, side := range r.Sides {
		width = max(width, len(side.Name))
	}
	for _, side := range r.Sides {
		name := side.Name
		part := func(title, what string) {
			p.line("%-*s  %s: %s", width, name, title, what)
			name = ""
		}
		for _, s := range side.Sources {
			skipped := ""
			if s.Skipped > 0 {
				skipped = ", " + text.Grouped(s.Skipped) + " skipped"
			}
			part(s.Source, text.Count(s.IDs, "id")+skipped)
		}
		for _, i := range side.Issuers {
			part(i.Name, i.Layout.String())
		}
	}
	for _, side := range r.Sides {
		for _, s := range side.Sources {
			if s.Rounded != "" {
				p.say("", "%s of %s: %s: %s", s.Source, side.Name, s.Rounded, idsource.RoundedAdvice)
			}
		}
	}
	if r.Data != nil {
		p.WriteString("\nids now\n")
		p.data(r)
	}
	if len(r.Strays) > 0 {
		p.WriteString("\nids now against those to come\n")
		p.strays(r)
	}
	p.future(r)
	return p.String()
}

// data says what the ids of the sides have in common.
func (p *mergePage) data(r *merge.Report) {
	var compared []string
	for _, side := range r.Sides {
		if side.Twice > 0 {
			p.line("%s has %s several times by itself, in %s: see snowfence check", side.Name, text.Count(side.Twice, "id"), text.Count(side.RowsTwice, "row"))
		}
		if side.HasData {
			compared = append(compared, text.Grouped(side.IDs)+" of "+side.Name)
		}
	}
	d := r.Data
	if d.Clashing == 0 {
		p.line("no id is on two sides; compared were %s", strings.Join(compared, ", "))
		return
	}
	for _, pair := range d.Between {
		p.line("%s %s both in %s and in %s", text.Count(pair.IDs, "id"), text.Plural(pair.IDs, "is", "are"), pair.Sides[0], pair.Sides[1])
	}
	for _, side := range r.Sides {
		for _, s := range side.Sources {
			if n := s.ClashingRows; n > 0 {
				p.line("%s: %s of %s %s", s.Source, text.Grouped(n), text.Count(s.IDs, "row"), text.Plural(n, "clashes", "clash"))
			}
		}
	}
	if d.Rounded != "" {
		p.say("", "of the ids that clash, %s: %s", d.Rounded, idsource.RoundedAdvice)
	}
	p.line("at least %s %s to be renumbered%s", text.Count(d.Renumber, "row"), text.Plural(d.Renumber, "has", "have"), fewestText(r))
	for _, runs := range d.Runs {
		p.WriteString("\n")
		p.runs(runs)
	}
	if len(d.First) > 0 {
		p.WriteString("\n  the first of them:\n")
	}
	for _, c := range d.First {
		var places []string
		for _, s := range c.Stands {
			places = append(places, s.SideName+": "+s.SourceName+" "+s.Place)
		}
		if more := c.Rows - uint64(len(c.Stands)); more > 0 {
			places = append(places, "and "+text.Grouped(more)+" more")
		}
		p.line("  %s  %s", c.ID, strings.Join(places, "; "))
	}
}

// fewestText says which of two sides is the better to renumber.
func fewestText(r *merge.Report) string {
	a, b := r.Sides[0], r.Sides[1]
	switch {
	case r.Data.FewestOn == "":
		return ""
	case a.ClashingRows == b.ClashingRows:
		return fmt.Sprintf(": as many in %s as in %s", a.Name, b.Name)
	case r.Data.FewestOn == b.Name:
		a, b = b, a
	}
	return fmt.Sprintf(": %s in %s, %s in %s", text.Grouped(a.ClashingRows), a.Name, text.Grouped(b.ClashingRows), b.Name)
}

// runs adds a table of runs.
func (p *mergePage) runs(runs merge.Runs) {
	count, l := text.Count(runs.All, "run"), runs.Layout
	columns := ">worker, sides, from, to, >ids"
	if l == nil {
		columns = "sides, >first, >last, >ids"
		p.say("", "%s of numbers that lie less than %s apart (no layout is known: --layout groups by worker id and time)", count, text.Grouped(runs.Apart))
	} else {
		p.say("", "%s of ids of one worker that lie at most %s apart, by the layout %s", count, time.Duration(runs.Gap*float64(time.Second)), l)
	}
	if runs.Outside > 0 {
		p.line("%s %s of this layout", text.Count(runs.Outside, "id"), text.Plural(runs.Outside, "is none", "are none"))
	}
	var rows [][]string
	for _, r := range runs.List {
		row := []string{strings.Join(r.Sides, ", "), r.First.String(), r.Last.String(), text.Grouped(r.IDs)}
		if l != nil {
			row = []string{r.Worker.String(), row[0], decode.FormatTime(r.From.Time, l.Unit), decode.FormatTime(r.To.Time, l.Unit), row[3]}
		}
		rows = append(rows, row)
	}
	p.Table("  ", columns, rows)
	if more := runs.All - len(runs.List); more > 0 {
		p.line("and %s, none with more ids (--limit lists more)", text.Count(more, "more run"))
	}
}

// strays names the ids that an issuer may have issued, or may still issue.
func (p *mergePage) strays(r *merge.Report) {
	none := true
	for _, s := range r.Strays {
		none = none && s.Used == 0 && s.Open == 0
		if s.Used > 0 {
			settled := "its ids were compared above"
			if !s.Compared {
				settled = "only its own ids tell whether it did: name them as a part of side " + s.Issuer.Side
			}
			p.say("", "%s of %s: %s may have issued the same; %s", text.Count(s.Used, "id"), s.Side, s.Name, settled)
		}
		if s.Open > 0 {
			p.open(s)
		}
	}
	if none {
		p.line("no id that was read may still be issued")
	}
}

// open names the ids that may still be issued.
func (p *mergePage) open(s *merge.Strays) {
	why := "" // a side's own ids may be issued again
	clock := fmt.Sprintf("by a clock that is more than %s ahead", merge.Skew)
	switch {
	case !s.Own:
	case s.Below == 0:
		why = ", which can't have issued them yet"
	case s.Below == s.Open:
		why = ", or were already " + clock
	default:
		why = fmt.Sprintf(", which can't have issued %s of them yet; the others it may have, %s", text.Grouped(s.Open-s.Below), clock)
	}
	p.say("", "%s of %s may still be issued by %s%s:", text.Count(s.Open, "id"), s.Side, s.Name, why)
	var rows [][]string
	for _, w := range s.Workers[:min(len(s.Workers), maxStrayRows)] {
		rows = append(rows, []string{strconv.FormatInt(w.Worker, 10), text.Grouped(w.Open), strconv.FormatInt(int64(w.Until.Tick), 10), decode.FormatTime(w.Until.Time.Time, s.Issuer.Layout.Unit)})
	}
	p.Table("      ", ">worker, >ids, >highest tick, its time", rows)
	if more := len(s.Workers) - maxStrayRows; more > 0 {
		p.line("  and %s more (-o json lists all)", text.Count(more, "worker id"))
	}
	if s.Rest > 0 {
		p.line("  and %s of still others", text.Count(s.Rest, "id"))
	}
	p.advice("  what to do: ", s.Advice)
}

// advice adds advice with its command on a line of its own, to be copied.
func (p *mergePage) advice(beginning string, a merge.Advice) {
	if a.Command == "" {
		p.say(beginning, "%s", a.Text)
		return
	}
	p.say(beginning, "%s:", a.Text)
	p.line("    %s", a.Command)
}

// future says which ids may clash in future, between sides and then within one.
func (p *mergePage) future(r *merge.Report) {
	var across, within []merge.Forecast
	for _, f := range r.Forecasts {
		if f.Within {
			within = append(within, f)
		} else {
			across = append(across, f)
		}
	}
	p.WriteString("\nids to come\n")
	if len(across) == 0 {
		p.say("", "not known: less than two sides say who issues ids (namespace:URL#NAME or layout:SPEC)")
	}
	p.forecasts(across)
	for _, side := range r.Sides {
		for _, i := range side.Issuers {
			if n := len(i.Quarantined); n > 0 {
				p.line("%s: %s quarantined, and taken to stay so", side.Name, text.Count(n, "worker id"))
			}
		}
	}
	if len(within) > 0 {
		p.WriteString("\nids to come within a side\n")
		p.forecasts(within)
	}
}

// forecasts says of each two issuers which of their ids may clash.
func (p *mergePage) forecasts(list []merge.Forecast) {
	for n, f := range list {
		if n > 0 {
			p.WriteString("\n")
		}
		if f.Within {
			p.say("", "%s (%s; %s)", f.Sides[0], f.NameA, f.NameB)
		} else {
			p.say("", "%s (%s) and %s (%s)", f.Sides[0], f.Issuers[0], f.Sides[1], f.Issuers[1])
		}
		for _, s := range f.Sentences {
			p.say("- ", "%s", s)
		}
		switch past := slices.ContainsFunc(f.Chances, merge.Chance.Settled); {
		case past && f.Compared:
			p.say("- ", "what both may have issued already was compared above, as far as all their ids were given")
		case past && f.Within:
			p.say("- ", "run snowfence check over the ids of %s: it shows whether both issued one id already", f.Sides[0])
		}
		if len(f.Advice) > 0 {
			p.line("what to do:")
		}
		for _, a := range f.Advice {
			p.advice("- ", a)
		}
	}
}
