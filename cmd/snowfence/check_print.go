package main

import (
	"cmp"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/forensics/check"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// maxPairs is how many pairs of sources, and how many causes, the text lists. JSON lists all.
const maxPairs = 20

// checkText writes what was found: duplicates, their places, and why.
func (out *report) checkText(r check.Report) {
	switch {
	case r.IDs == 0:
		out.Line("nothing is known: no ids were read")
	case r.Duplicates == 0 && !r.Complete:
		out.Line("no duplicates among the %s that were read; whether all are different is not known: %s", text.Count(r.IDs, "id"), incomplete(r))
	case r.Duplicates == 0:
		out.Line("no duplicates: %s, all distinct", text.Count(r.IDs, "id"))
	default:
		out.Line("%s: %s, %s distinct; %s %s more than once", text.Count(r.Duplicates, "duplicate"), text.Count(r.IDs, "id"),
			text.Grouped(r.Distinct), text.Count(r.Repeated, "id"), text.Plural(r.Repeated, "occurs", "occur"))
	}
	var sources, pairs [][]string
	for _, s := range r.Sources {
		if s.Rounded != "" {
			out.Wrapped("", s.Name+": "+s.Rounded+"; "+source.RoundedAdvice)
		}
		sources = append(sources, []string{s.Name, text.Grouped(s.IDs), text.Grouped(s.Within)})
	}
	for _, pair := range r.Between[:min(len(r.Between), maxPairs)] {
		pairs = append(pairs, []string{pair.A, pair.B, text.Grouped(pair.Common)})
	}
	if len(sources) > 1 || r.Duplicates > 0 {
		out.Line("")
		out.Table("", "source, >ids, >duplicates within", sources)
	}
	if len(pairs) > 0 {
		out.Line("")
		out.Table("", "source, and, >ids in common", pairs)
	}
	if len(r.Named) > 0 {
		out.Line("\nduplicates, %s of %s:", text.Grouped(len(r.Named)), text.Grouped(r.Repeated))
	}
	for _, d := range r.Named {
		out.Line("  %s, %d times", d.ID, d.Count)
		for _, place := range d.Places {
			out.Line("    %s, %s", place.Source, place.Text)
		}
	}
	if len(r.Causes) == 0 {
		return
	}
	guessed := map[bool]string{true: ", guessed; --layout settles it"}[r.Guessed]
	out.Line("\ncauses (layout %s%s):", cmp.Or(r.Preset, r.Layout, "not known"), guessed)
	for _, c := range r.Causes[:min(len(r.Causes), maxPairs)] {
		out.Line("  %s: %s in %s", c.Kind, text.Count(c.Duplicates, "duplicate"), strings.Join(c.Sources, " and "))
		out.Wrapped("    ", c.Evidence)
		out.Wrapped("    -> ", c.Advice)
	}
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
