package main

import (
	"fmt"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// maxStrayRows is how many worker ids of strays text and tables list. JSON lists
// all.
const maxStrayRows = 20

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
	b.WriteString(folded(fmt.Sprintf("%s of %s may still be issued by %s%s:", countOf(s.Open, "id"), s.Side, s.Issuer.Name, ownText(s)), ""))
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

// ownText says of a side's own ids why they may be issued again.
func ownText(s *merge.Strays) string {
	clock := fmt.Sprintf("by a clock that is more than %s ahead", merge.Skew)
	switch {
	case !s.Own:
		return ""
	case s.Below == 0:
		return ", which can't have issued them yet"
	case s.Below == s.Open:
		return ", or were already " + clock
	}
	return fmt.Sprintf(", which can't have issued %s of them yet; the others it may have, %s", grouped(s.Open-s.Below), clock)
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
func (v *merging) forecastText(within bool) string {
	var b strings.Builder
	var forecasts []merge.Forecast
	for _, f := range v.forecasts {
		if f.Within() == within {
			forecasts = append(forecasts, f)
		}
	}
	if len(forecasts) == 0 && !within {
		b.WriteString(folded("not known: less than two sides say who issues ids (namespace:URL#NAME or layout:SPEC)", ""))
	}
	for i, f := range forecasts {
		if i > 0 {
			b.WriteString("\n")
		}
		switch {
		case within:
			b.WriteString(folded(fmt.Sprintf("%s (%s; %s)", f.A.Side, f.NameA, f.NameB), ""))
		case len(forecasts) > 1:
			b.WriteString(folded(fmt.Sprintf("%s (%s) and %s (%s)", f.A.Side, f.A.Name, f.B.Side, f.B.Name), ""))
		}
		b.WriteString(v.oneForecastText(f))
	}
	return b.String()
}

// oneForecastText is what may become of the ids of two issuers.
func (v *merging) oneForecastText(f merge.Forecast) string {
	var b strings.Builder
	for _, s := range f.Sentences() {
		b.WriteString(folded(s, "- "))
	}
	switch {
	case !f.Settles():
	case v.settled(f):
		b.WriteString(folded("what both may have issued already was compared above, as far as all their ids were given", "- "))
	case f.Within():
		b.WriteString(folded("whether both issued the same already is for snowfence check to say, over the ids of "+f.A.Side, "- "))
	}
	advice := f.Advice()
	if len(advice) > 0 {
		b.WriteString("what to do:\n")
	}
	for _, a := range advice {
		if a.Command == "" {
			b.WriteString(folded(a.Text, "- "))
			continue
		}
		b.WriteString(folded(a.Text+":", "- "))
		b.WriteString("    " + a.Command + "\n") // however long: it is there to be copied
	}
	return b.String()
}

// quarantinedText says what a forecast relies on beside the registers.
func (v *merging) quarantinedText() string {
	var b strings.Builder
	for _, i := range v.issuers {
		if len(i.Quarantined) > 0 {
			fmt.Fprintf(&b, "%s: %s quarantined, and taken to stay so\n", i.Side, countOf(uint64(len(i.Quarantined)), "worker id"))
		}
	}
	return b.String()
}
