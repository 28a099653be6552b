package main

import (
	"fmt"
	"strconv"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/check"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
)

// textWidth is what text is wrapped to.
const textWidth = 80

// report prints what was found.
func (v *checkVerb) report(r check.Report) error {
	switch v.form {
	case jsonForm:
		return v.printJSON(r)
	case tableForm:
		var rows [][]string
		for _, d := range r.Named {
			for _, p := range d.Places {
				rows = append(rows, []string{d.ID, strconv.FormatUint(d.Count, 10), p.Source, p.Text})
			}
		}
		if len(rows) == 0 {
			return nil
		}
		return v.print(table([]column{{"id", true}, {"count", true}, {"source", false}, {"place", false}}, rows))
	default:
		return v.print(findingsText(r))
	}
}

// findingsText is the report for people.
func findingsText(r check.Report) string {
	var b strings.Builder
	if r.Duplicates == 0 {
		fmt.Fprintf(&b, "no duplicates: %s, all distinct\n", countOf(r.IDs, "id"))
	} else {
		fmt.Fprintf(&b, "%s: %s, %s distinct; %s more than once\n", countOf(r.Duplicates, "duplicate"), countOf(r.IDs, "id"), grouped(r.Distinct), occurs(r.Repeated))
	}
	if len(r.Sources) > 1 || r.Duplicates > 0 {
		b.WriteString("\n" + sourcesText(r))
	}
	if len(r.Named) > 0 {
		fmt.Fprintf(&b, "\nduplicates%s:\n", firstOf(uint64(len(r.Named)), r.Repeated))
		for _, d := range r.Named {
			fmt.Fprintf(&b, "  %s, %d times\n", d.ID, d.Count)
			for _, p := range d.Places {
				fmt.Fprintf(&b, "    %s, %s\n", p.Source, p.Text)
			}
			if more := d.Count - uint64(len(d.Places)); more > 0 {
				fmt.Fprintf(&b, "    and %d more\n", more)
			}
		}
	}
	rangesText(&b, r)
	causesText(&b, r)
	return b.String()
}

func occurs(n uint64) string {
	if n == 1 {
		return "1 id occurs"
	}
	return grouped(n) + " ids occur"
}

// firstOf says that a list is not all.
func firstOf(shown, all uint64) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf(", the first %s of %s", grouped(shown), grouped(all))
}

// sourcesText is the sources with what is double within and between them.
func sourcesText(r check.Report) string {
	var rows [][]string
	for _, s := range r.Sources {
		rows = append(rows, []string{s.Name, grouped(s.IDs), grouped(s.Within)})
	}
	text := table([]column{{"source", false}, {"ids", true}, {"duplicates within", true}}, rows)
	if len(r.Sources) < 2 {
		return text
	}
	rows = nil
	for _, p := range r.Between {
		if len(rows) == maxPairs {
			break
		}
		rows = append(rows, []string{p.A, p.B, grouped(p.Common)})
	}
	if len(rows) == 0 {
		return text + "\nno two sources have an id in common\n"
	}
	text += "\n" + table([]column{{"source", false}, {"and", false}, {"ids in common", true}}, rows)
	switch more := len(r.Between) - len(rows); {
	case r.Partial:
		text += "and many more pairs, too many to count: the numbers are least ones\n"
	case more > 0:
		text += fmt.Sprintf("and %s (-o json lists them all)\n", countOf(uint64(more), "more pair"))
	}
	return text
}

// maxPairs is how many pairs of sources the text lists, and maxCauses how many
// causes.
const (
	maxPairs  = 20
	maxCauses = 20
)

// rangesText lists the ranges, if any is longer than one id.
func rangesText(b *strings.Builder, r check.Report) {
	var rows [][]string
	for _, g := range r.Ranges {
		if g.Count > 1 {
			rows = append(rows, []string{g.First, g.Last, grouped(g.Count), strings.Join(g.Sources, ", ")})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\nranges without an id that occurs once, the longest%s:\n", firstOf(uint64(len(rows)), r.RangeCount))
		b.WriteString(indent(table([]column{{"first", true}, {"last", true}, {"ids", true}, {"in", false}}, rows), "  "))
	}
}

func causesText(b *strings.Builder, r check.Report) {
	if len(r.Causes) == 0 {
		return
	}
	under := ""
	switch {
	case r.Guessed:
		under = fmt.Sprintf(" (layout %s, guessed; --layout settles it)", r.Preset)
	case r.Preset != "":
		under = fmt.Sprintf(" (layout %s)", r.Preset)
	case r.Layout != "":
		under = fmt.Sprintf(" (layout %s)", r.Layout)
	}
	fmt.Fprintf(b, "\ncauses%s:\n", under)
	for i, c := range r.Causes {
		if i == maxCauses {
			fmt.Fprintf(b, "  and %d more (-o json lists them all)\n", len(r.Causes)-i)
			break
		}
		fmt.Fprintf(b, "  %s: %s in %s\n", c.Kind, countOf(c.Duplicates, "duplicate"), strings.Join(c.Sources, " and "))
		if c.From != nil && c.Duplicates > 0 {
			fmt.Fprintf(b, "    of %s to %s\n", decode.FormatTime(*c.From, 1e6), decode.FormatTime(*c.To, 1e6))
		}
		b.WriteString(wrap(c.Evidence, "    "))
		b.WriteString(wrap(c.Advice, "    -> "))
	}
}

// wrap breaks a text between words. The lines after the first are set in as far
// as the first one's beginning is long.
func wrap(text, beginning string) string {
	var b strings.Builder
	line := beginning
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > textWidth:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(beginning)) + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}
