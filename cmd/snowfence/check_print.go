package main

import (
	"cmp"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/forensics/check"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/text"
)

// maxPairs is how many pairs of sources, and how many causes, the text lists. JSON lists all.
const maxPairs = 20

// checkText says what was found: duplicates, their places, and why.
func checkText(r check.Report) string {
	p := &page.Page{}
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
	var sources, pairs [][]string
	for _, s := range r.Sources {
		if s.Rounded != "" {
			p.Wrapped("", s.Name+": "+s.Rounded+"; "+source.RoundedAdvice)
		}
		sources = append(sources, []string{s.Name, text.Grouped(s.IDs), text.Grouped(s.Within)})
	}
	for _, pair := range r.Between[:min(len(r.Between), maxPairs)] {
		pairs = append(pairs, []string{pair.A, pair.B, text.Grouped(pair.Common)})
	}
	if len(sources) > 1 || r.Duplicates > 0 {
		p.Line("")
		p.Table("", "source, >ids, >duplicates within", sources)
	}
	if len(sources) > 1 {
		p.Line("")
		p.Table("", "source, and, >ids in common", pairs)
		switch more := len(r.Between) - len(pairs); {
		case len(pairs) == 0:
			p.Line("no two sources have an id in common")
		case more > 0 || r.Partial:
			p.Line("and %d more pairs, or more (-o json lists them)", more)
		}
	}
	if more := r.Repeated - uint64(len(r.Named)); len(r.Named) > 0 && more > 0 {
		p.Line("\nduplicates, the first %s of %s:", text.Grouped(len(r.Named)), text.Grouped(r.Repeated))
	} else if len(r.Named) > 0 {
		p.Line("\nduplicates:")
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
	causesText(p, r)
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

func causesText(p *page.Page, r check.Report) {
	if len(r.Causes) == 0 {
		return
	}
	under := cmp.Or(r.Preset, r.Layout)
	switch {
	case r.Guessed:
		under = " (layout " + under + ", guessed; --layout settles it)"
	case under != "":
		under = " (layout " + under + ")"
	}
	p.Line("\ncauses%s:", under)
	for _, c := range r.Causes[:min(len(r.Causes), maxPairs)] {
		of := ""
		if c.WorkerCount > 1 {
			of = " of " + text.Count(c.WorkerCount, "worker id")
		}
		p.Line("  %s: %s%s in %s", c.Kind, text.Count(c.Duplicates, "duplicate"), of, strings.Join(c.Sources, " and "))
		p.Wrapped("    ", c.Evidence)
		p.Wrapped("    -> ", c.Advice)
	}
}
