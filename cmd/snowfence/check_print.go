package main

import (
	"cmp"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/check"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// The text lists so many pairs of sources, and so many causes.
const (
	maxPairs  = 20
	maxCauses = 20
)

// checkPage is the report for people.
type checkPage struct {
	page.Page
	check.Report
}

// findingsText says what was found: duplicates, where they are, and why.
func findingsText(r check.Report) string {
	p := &checkPage{Report: r}
	switch {
	case r.IDs == 0:
		p.Line("nothing is known: no ids were read")
	case r.Duplicates == 0 && !r.Complete:
		p.Line("no duplicates among the %s that were read; whether all are different is not known: %s", text.Count(r.IDs, "id"), incomplete(r))
	case r.Duplicates == 0:
		p.Line("no duplicates: %s, all distinct", text.Count(r.IDs, "id"))
	default:
		p.Line("%s: %s, %s distinct; %s %s more than once", text.Count(r.Duplicates, "duplicate"), text.Count(r.IDs, "id"), text.Grouped(r.Distinct),
			text.Count(r.Repeated, "id"), text.Plural(r.Repeated, "occurs", "occur"))
	}
	if len(r.Sources) > 1 || r.Duplicates > 0 {
		p.sources()
	}
	if len(r.Named) > 0 {
		p.Line("\nduplicates%s:", firstOf(len(r.Named), r.Repeated))
	}
	for _, d := range r.Named {
		p.Line("  %s, %d times", d.ID, d.Count)
		for _, place := range d.Places {
			p.Line("    %s, %s", place.Source, place.Text)
		}
		if more := d.Count - uint64(len(d.Places)); more > 0 {
			p.Line("    and %d more", more)
		}
	}
	p.ranges()
	p.causes()
	return p.String()
}

// incomplete says why it is not known whether all ids are different.
func incomplete(r check.Report) string {
	if r.Invalid > 0 {
		return text.Count(r.Invalid, "line") + " " + text.Plural(r.Invalid, "was", "were") + " skipped"
	}
	for _, s := range r.Sources {
		if s.IDs == 0 {
			return s.Name + " has no ids"
		}
	}
	return "some look rounded"
}

// firstOf says that a list is not all.
func firstOf(shown int, all uint64) string {
	if uint64(shown) == all {
		return ""
	}
	return ", the first " + text.Grouped(shown) + " of " + text.Grouped(all)
}

// sources lists the sources with what is double within and between them.
func (p *checkPage) sources() {
	var rows, pairs [][]string
	for _, s := range p.Sources {
		rows = append(rows, []string{s.Name, text.Grouped(s.IDs), text.Grouped(s.Within)})
	}
	p.Line("")
	p.Table("", "source, >ids, >duplicates within", rows)
	if len(rows) < 2 {
		return
	}
	for _, pair := range p.Between[:min(len(p.Between), maxPairs)] {
		pairs = append(pairs, []string{pair.A, pair.B, text.Grouped(pair.Common)})
	}
	p.Line("")
	p.Table("", "source, and, >ids in common", pairs)
	switch more := len(p.Between) - len(pairs); {
	case len(pairs) == 0:
		p.Line("no two sources have an id in common")
	case p.Partial:
		p.Line("and many more pairs, too many to count: the numbers are least ones")
	case more > 0:
		p.Line("and %s (-o json lists them all)", text.Count(more, "more pair"))
	}
}

// ranges lists the ranges that are longer than one id.
func (p *checkPage) ranges() {
	var rows [][]string
	for _, g := range p.Ranges {
		if g.Count > 1 {
			rows = append(rows, []string{g.First, g.Last, text.Grouped(g.Count), strings.Join(g.Sources, ", ")})
		}
	}
	if len(rows) > 0 {
		p.Line("\nranges without an id that occurs once, the longest%s:", firstOf(len(rows), p.RangeCount))
	}
	p.Table("  ", ">first, >last, >ids, in", rows)
}

func (p *checkPage) causes() {
	if len(p.Causes) == 0 {
		return
	}
	under := cmp.Or(p.Preset, p.Layout)
	switch {
	case p.Guessed:
		under = " (layout " + under + ", guessed; --layout settles it)"
	case under != "":
		under = " (layout " + under + ")"
	}
	p.Line("\ncauses%s:", under)
	for _, c := range p.Causes[:min(len(p.Causes), maxCauses)] {
		p.Line("  %s: %s in %s", c.Kind, text.Count(c.Duplicates, "duplicate"), strings.Join(c.Sources, " and "))
		if c.From != nil && c.Duplicates > 0 {
			p.Line("    of %s to %s", decode.FormatTime(*c.From, 1e6), decode.FormatTime(*c.To, 1e6))
		}
		p.Wrapped("    ", c.Evidence)
		p.Wrapped("    -> ", c.Advice)
	}
	if more := len(p.Causes) - maxCauses; more > 0 {
		p.Line("  and %d more (-o json lists them all)", more)
	}
}
