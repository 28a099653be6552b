package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// text is the verdict, and then what it comes from: the ids, who issues them, and
// the ones against the others.
func (v *merging) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", v.summary())
	width := 0
	for _, side := range v.sides {
		width = max(width, len(side.Name))
	}
	for i, side := range v.sides {
		for n, part := range v.parts(i) {
			name := ""
			if n == 0 {
				name = side.Name
			}
			fmt.Fprintf(&b, "  %-*s  %s\n", width, name, part)
		}
	}
	if v.tally != nil {
		section(&b, "ids now", v.tallyText())
	}
	if len(v.strays) > 0 {
		section(&b, "ids now against those to come", v.straysText())
	}
	section(&b, "ids to come", v.forecastText(false)+v.quarantinedText())
	if within := v.forecastText(true); within != "" {
		section(&b, "ids to come within a side", within)
	}
	return b.String()
}

// section writes a text under a title, set in by two columns.
func section(b *strings.Builder, title, text string) {
	b.WriteString("\n" + title + "\n")
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
}

// folded is [wrap] for what is set in by two columns afterwards.
func folded(text, beginning string) string {
	var b strings.Builder
	for line := range strings.Lines(wrap(text, "  "+beginning)) {
		b.WriteString(line[2:])
	}
	return b.String()
}

// summary is the verdict in a sentence.
func (v *merging) summary() string {
	switch v.verdict() {
	case idsClash:
		return fmt.Sprintf("clash: %s on more than one side", standText(v.tally.Clashing))
	case idsMayClash:
		return v.possibleText()
	}
	switch {
	case v.tally != nil && v.allIssued():
		return "none: no id stands on two sides, and none ever can"
	case v.tally != nil:
		return "none: no id stands on two sides"
	case len(v.forecasts) > 0 && v.allIssued():
		return "none: no id can ever be issued twice"
	case len(v.forecasts) > 0:
		return "none: no id that stands there can be issued again, and those who issue ids can never issue the same"
	}
	return "none: no id that stands there can be issued again"
}

// possibleText says where ids may clash: between sides, within one, or both.
func (v *merging) possibleText() string {
	within, across := v.clashingWithin()
	text := "ids can clash"
	if v.tally != nil {
		text = "no id stands on two sides now, but ids can clash yet"
	}
	if len(within) > 0 {
		if across || slices.ContainsFunc(v.strays, v.atStake) {
			text += ", also"
		}
		text += " within " + strings.Join(within, ", ")
	}
	return "possible: " + text
}

func standText(n uint64) string {
	if n == 1 {
		return "1 id stands"
	}
	return grouped(n) + " ids stand"
}

// allIssued reports whether it is known of every side who issues its ids.
func (v *merging) allIssued() bool {
	for _, side := range v.sides {
		if len(side.Namespaces)+len(side.Layouts) == 0 {
			return false
		}
	}
	return true
}

// parts are what a side consists of.
func (v *merging) parts(side int) []string {
	var parts []string
	for _, s := range v.sources {
		if s.side == side {
			part := fmt.Sprintf("%s: %s", s.name, countOf(s.rows, "id"))
			if s.skipped > 0 {
				part += fmt.Sprintf(", %s skipped", grouped(s.skipped))
			}
			parts = append(parts, part)
		}
	}
	for _, i := range v.issuers {
		if i.Side == v.sides[side].Name {
			parts = append(parts, fmt.Sprintf("%s: %s", i.Name, i.Layout))
		}
	}
	return parts
}

// sideNames are the sides of a run.
func (v *merging) sideNames(r merge.Run) string {
	var names []string
	for i, side := range v.sides {
		if r.On(i) {
			names = append(names, side.Name)
		}
	}
	return strings.Join(names, ", ")
}

// tallyText is what the ids of the sides have in common.
func (v *merging) tallyText() string {
	t := v.tally
	var b strings.Builder
	for i, side := range v.sides {
		if t.Twice[i] > 0 {
			fmt.Fprintf(&b, "%s has %s several times by itself, in %s: see snowfence check\n", side.Name, countOf(t.Twice[i], "id"), countOf(t.RowsTwice[i], "row"))
		}
	}
	if t.Clashing == 0 {
		var rows []string
		for i, side := range v.sides {
			if v.hasData(side.Name) {
				rows = append(rows, fmt.Sprintf("%s of %s", grouped(v.rowsOf(i)), side.Name))
			}
		}
		fmt.Fprintf(&b, "no id stands on two sides; compared were %s\n", strings.Join(rows, ", "))
		return b.String()
	}
	for _, pair := range v.pairs() {
		fmt.Fprintf(&b, "%s both in %s and in %s\n", standText(t.Between[pair]), v.sides[pair[0]].Name, v.sides[pair[1]].Name)
	}
	for i, s := range v.sources {
		if n := t.RowsIn[i]; n > 0 {
			fmt.Fprintf(&b, "%s: %s of %s %s\n", s.name, grouped(n), countOf(s.rows, "row"), numbered(n, "clashes", "clash"))
		}
	}
	fmt.Fprintf(&b, "at least %s to be renumbered%s\n", needText(t.Renumber), v.fewestText())
	for _, runs := range t.Runs() {
		b.WriteString("\n" + v.runsText(runs))
	}
	if len(t.First) > 0 {
		fmt.Fprintf(&b, "\nthe first of them:\n")
		for _, c := range t.First {
			fmt.Fprintf(&b, "  %s  %s\n", c.ID, strings.Join(v.places(c), "; "))
		}
	}
	return b.String()
}

func needText(n uint64) string {
	if n == 1 {
		return "1 row has"
	}
	return grouped(n) + " rows have"
}

// fewestText says which of two sides is the better to renumber.
func (v *merging) fewestText() string {
	side, rows, ok := v.tally.Fewest()
	if !ok {
		return ""
	}
	other := 1 - side
	if v.tally.RowsOf[other] == rows {
		return fmt.Sprintf(": as many in %s as in %s", v.sides[0].Name, v.sides[1].Name)
	}
	return fmt.Sprintf(": %s in %s, %s in %s", grouped(rows), v.sides[side].Name, grouped(v.tally.RowsOf[other]), v.sides[other].Name)
}

// runsText is a table of runs.
func (v *merging) runsText(runs merge.Runs) string {
	var b strings.Builder
	columns := []column{{"sides", false}, {"first", true}, {"last", true}, {"ids", true}}
	switch {
	case runs.Layout == nil:
		b.WriteString(folded(fmt.Sprintf("%s of numbers that lie less than %s apart (no layout is known: --layout groups by worker id and time)", countOf(uint64(runs.All), "run"), grouped(runs.Apart)), ""))
	default:
		b.WriteString(folded(fmt.Sprintf("%s of ids of one worker that lie at most %s apart, by the layout %s", countOf(uint64(runs.All), "run"), runs.Gap, runs.Layout), ""))
		columns = []column{{"worker", true}, {"sides", false}, {"from", false}, {"to", false}, {"ids", true}}
	}
	if runs.Outside > 0 {
		fmt.Fprintf(&b, "%s %s of this layout\n", countOf(runs.Outside, "id"), numbered(runs.Outside, "is none", "are none"))
	}
	var rows [][]string
	for _, r := range runs.List {
		row := []string{v.sideNames(r), r.First.String(), r.Last.String(), grouped(r.IDs)}
		if runs.Layout != nil {
			at := func(t time.Time) string { return decode.FormatTime(t, runs.Layout.Unit) }
			row = []string{workerName(r), v.sideNames(r), at(r.From), at(r.To), grouped(r.IDs)}
		}
		rows = append(rows, row)
	}
	b.WriteString(table(columns, rows))
	if more := runs.All - len(runs.List); more > 0 {
		fmt.Fprintf(&b, "and %s, none with more ids (--limit lists more)\n", countOf(uint64(more), "more run"))
	}
	return b.String()
}

func workerName(r merge.Run) string {
	if r.Worker == merge.NoWorker {
		return "several"
	}
	return strconv.FormatInt(r.Worker, 10)
}

// places says where a clashing id stands.
func (v *merging) places(c merge.Clash) []string {
	var all []string
	for _, s := range slices.SortedFunc(slices.Values(c.Stands), earlierStand) {
		all = append(all, v.sides[s.Side].Name+": "+v.sources[s.Source].name+" "+v.sources[s.Source].place(s.At))
	}
	if more := c.Rows - uint64(len(c.Stands)); more > 0 {
		all = append(all, fmt.Sprintf("and %s more", grouped(more)))
	}
	return all
}

// pairs are the pairs of sides that have ids in common.
func (v *merging) pairs() [][2]int {
	return slices.SortedFunc(maps.Keys(v.tally.Between), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
}

// rowsOf is how many rows of a side were read.
func (v *merging) rowsOf(side int) uint64 {
	var n uint64
	for _, s := range v.sources {
		if s.side == side {
			n += s.rows
		}
	}
	return n
}
