package registers

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// Takeover is a plan to begin above another system's ids, or what was done of it.
type Takeover struct {
	Store, Namespace string
	Made             bool // the namespace is new
	Source           takeover.System
	Margin           time.Duration
	Plan             takeover.Plan // once applied, it has the finished steps only
	Applied          bool
}

// Documents returns the JSON of a step for each worker id, and then of the plan.
func (t Takeover) Documents() (all []page.Object) {
	floor := instant(t.Plan.Layout, t.Plan.Floor)
	for _, s := range t.Plan.Steps {
		all = append(all, page.Object{
			"type", "step", "worker", s.Worker, "source", t.Source, "evidence", s.Evidence, "floor", floor, "action", s.Action, "note?", s.Note,
		})
	}
	return append(all, page.Object{
		"type", "plan", "store", t.Store, "namespace", t.Namespace, "new", t.Made, "layout", t.Plan.Layout.String(), "source", t.Source,
		"floor", floor, "because", t.Plan.Because, "margin_seconds", t.Margin.Seconds(), "workers", len(t.Plan.Steps), "writes", t.Plan.Writes(), "applied", t.Applied,
	})
}

// Text is the takeover for people. Neighbours that differ in the worker id alone share a row.
func (t Takeover) Text(now time.Time) string {
	var p page.Page
	begins := t.Plan.Layout.TimeOf(t.Plan.Floor)
	shown := decode.FormatTime(begins, t.Plan.Layout.Unit)
	p.Line("take over from %s into namespace %s of %s%s", t.Source, t.Namespace, t.Store, map[bool]string{true: ", which is new"}[t.Made])
	p.Line("  layout  %s", t.Plan.Layout)
	p.Line("  floor   tick %d  %s  %s", t.Plan.Floor, shown, decode.Relative(begins, now))
	p.Line("  because %s, plus a margin of %s\n", t.Plan.Because, t.Margin)
	var rows [][]string
	for steps := t.Plan.Steps; len(steps) > 0; {
		s, n := steps[0], 1
		for n < len(steps) && steps[n].Worker == s.Worker+int64(n) && steps[n].Action == s.Action && steps[n].Evidence == s.Evidence && steps[n].Note == s.Note {
			n++
		}
		evidence := s.Evidence
		if s.Note != "" {
			evidence += " (" + s.Note + ")"
		}
		rows = append(rows, []string{text.Range{First: s.Worker, Last: s.Worker + int64(n) - 1}.String(), string(s.Action), fmt.Sprint(t.Plan.Floor), shown, evidence})
		steps = steps[n:]
	}
	p.Table("", "workers, action, >floor, time, evidence", rows)
	p.Line("\n%d worker ids; %d %s", len(t.Plan.Steps), t.Plan.Writes(), map[bool]string{true: "written", false: "to be written"}[t.Applied])
	return p.String()
}
