package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// maxStrayRows is how many worker ids of strays text and tables list. JSON lists
// all.
const maxStrayRows = 20

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
	section(&b, "ids to come", v.forecastText())
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
		if v.tally != nil {
			return "possible: no id stands on two sides now, but ids can clash yet"
		}
		return "possible: ids can clash"
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
			fmt.Fprintf(&b, "%s: %s of %s clash\n", s.name, grouped(n), countOf(s.rows, "row"))
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
		fmt.Fprintf(&b, "%s are none of this layout\n", countOf(runs.Outside, "id"))
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

// straysText is what there is to say of ids that an issuer may have issued, or may
// still issue.
func (v *merging) straysText() string {
	var b strings.Builder
	for _, s := range v.strays {
		if s.Used > 0 {
			settled := "only its own ids tell whether it did: name them as a part of side " + s.Issuer.Side
			if v.hasData(s.Issuer.Side) {
				settled = "its ids were compared above"
			}
			b.WriteString(folded(fmt.Sprintf("%s of %s: %s may have issued the same; %s", countOf(s.Used, "id"), s.Side, s.Issuer.Name, settled), ""))
		}
		if s.Open > 0 {
			b.WriteString(v.openText(s))
		}
	}
	if b.Len() == 0 {
		return "no id that stands there is one that may still be issued\n"
	}
	return b.String()
}

// openText is about the ids that may still be issued.
func (*merging) openText(s *merge.Strays) string {
	var b strings.Builder
	own := ""
	if s.Own {
		own = ", which can't have issued them yet"
	}
	b.WriteString(folded(fmt.Sprintf("%s of %s may still be issued by %s%s:", countOf(s.Open, "id"), s.Side, s.Issuer.Name, own), ""))
	workers := s.Workers()
	var rows [][]string
	for _, w := range workers[:min(len(workers), maxStrayRows)] {
		tick, at := lastOf(s, w)
		rows = append(rows, []string{strconv.FormatInt(w.Worker, 10), grouped(w.Open), strconv.FormatInt(int64(tick), 10), at})
	}
	b.WriteString(indent(table([]column{{"worker", true}, {"ids", true}, {"highest tick", true}, {"its time", false}}, rows), "    "))
	if more := len(workers) - maxStrayRows; more > 0 {
		fmt.Fprintf(&b, "  and %s more (-o json lists all)\n", countOf(uint64(more), "worker id"))
	}
	if s.Rest > 0 {
		fmt.Fprintf(&b, "  and %s of still others\n", countOf(s.Rest, "id"))
	}
	r, ok := s.Remedy()
	if !ok {
		return b.String()
	}
	b.WriteString(folded(r.Text, "  what to do: "))
	if r.Command != "" {
		b.WriteString("    " + r.Command + "\n")
	}
	return b.String()
}

// lastOf is the highest tick of the ids of a worker that may still be issued.
func lastOf(s *merge.Strays, w merge.Stray) (snowfence.Tick, string) {
	l := s.Issuer.Layout
	parts, err := l.Decompose(w.Last)
	if err != nil {
		return 0, "" // it was one of the layout when it was counted
	}
	return parts.Tick, decode.FormatTime(l.TimeOf(parts.Tick), l.Unit)
}

// forecastText is what may become of ids that are still to come.
func (v *merging) forecastText() string {
	var b strings.Builder
	if len(v.forecasts) == 0 {
		b.WriteString(folded("not known: less than two sides say who issues ids (namespace:URL#NAME or layout:SPEC)", ""))
	}
	for i, f := range v.forecasts {
		if i > 0 {
			b.WriteString("\n")
		}
		if len(v.forecasts) > 1 {
			b.WriteString(folded(fmt.Sprintf("%s (%s) and %s (%s)", f.A.Side, f.A.Name, f.B.Side, f.B.Name), ""))
		}
		for _, s := range f.Sentences() {
			b.WriteString(folded(s, "- "))
		}
		if f.Settles() && v.hasData(f.A.Side) && v.hasData(f.B.Side) {
			b.WriteString(folded("what both may have issued already was compared above, as far as all their ids were given", "- "))
		}
		advice := f.Advice()
		if len(advice) > 0 {
			b.WriteString("what to do:\n")
		}
		for _, s := range advice {
			b.WriteString(folded(s, "- "))
		}
	}
	for _, i := range v.issuers {
		if len(i.Quarantined) > 0 {
			fmt.Fprintf(&b, "%s: %s quarantined, and taken to stay so\n", i.Side, countOf(uint64(len(i.Quarantined)), "worker id"))
		}
	}
	return b.String()
}
