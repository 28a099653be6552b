package main

import (
	"fmt"
	"strconv"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// tableText is a row for each thing that was found.
func (v *merging) tableText() string {
	columns := []column{{"what", false}, {"sides", false}, {"worker", true}, {"from", false}, {"to", false}, {"ids", true}, {"text", false}}
	rows := [][]string{{"verdict", "", "", "", "", "", string(v.verdict())}}
	if v.tally != nil {
		for _, runs := range v.tally.Runs() {
			for _, r := range runs.List {
				row := []string{"clash", v.sideNames(r), "-", r.First.String(), r.Last.String(), grouped(r.IDs), "ids"}
				if runs.Layout != nil {
					at := func(t time.Time) string { return decode.FormatTime(t, runs.Layout.Unit) }
					row = []string{"clash", v.sideNames(r), workerName(r), at(r.From), at(r.To), grouped(r.IDs), runs.Layout.String()}
				}
				rows = append(rows, row)
			}
		}
	}
	for _, s := range v.strays {
		for _, w := range s.Workers() {
			_, at := lastOf(s, w)
			rows = append(rows, []string{"stray", s.Side + ", " + s.Issuer.Side, strconv.FormatInt(w.Worker, 10), "-", at, grouped(w.Open), s.Issuer.Name})
		}
	}
	for _, f := range v.forecasts {
		sides := f.A.Side + ", " + f.B.Side
		if f.Within() {
			sides = f.A.Side
		}
		if len(f.Chances) == 0 {
			rows = append(rows, []string{"never", sides, "-", "-", "-", "-", f.Sentences()[0]})
		}
		for _, c := range f.Chances {
			rows = append(rows, []string{chanceWord(c), sides, workerPair(c), decode.FormatTime(c.First.At, time.Millisecond), "-", "-", c.First.ID.String()})
		}
	}
	return table(columns, rows)
}

// chanceWord is when the second of two equal ids may be issued.
func chanceWord(c merge.Chance) string {
	if c.A == merge.Past && c.B == merge.Past {
		return string(merge.Past)
	}
	return string(merge.Future)
}

func workerPair(c merge.Chance) string {
	if c.First.A.Worker == c.First.B.Worker {
		return strconv.FormatInt(c.First.A.Worker, 10)
	}
	return fmt.Sprintf("%d, %d", c.First.A.Worker, c.First.B.Worker)
}
