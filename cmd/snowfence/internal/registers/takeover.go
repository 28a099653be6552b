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

// Step is what is done about a worker id, in JSON.
type Step struct {
	Type     string          `json:"type"` // "step"
	Worker   int64           `json:"worker"`
	Source   takeover.System `json:"source"`
	Evidence string          `json:"evidence"`
	Floor    *Instant        `json:"floor"`
	Action   takeover.Action `json:"action"`
	Note     string          `json:"note,omitempty"`
}

// Plan is a whole take-over, in JSON.
type Plan struct {
	Type      string          `json:"type"` // "plan"
	Store     string          `json:"store"`
	Namespace string          `json:"namespace"`
	New       bool            `json:"new"` // the namespace did not exist
	Layout    string          `json:"layout"`
	Source    takeover.System `json:"source"`
	Floor     *Instant        `json:"floor"`
	Because   string          `json:"because"`
	Margin    float64         `json:"margin_seconds"`
	Workers   int             `json:"workers"`
	Writes    int             `json:"writes"`
	Applied   bool            `json:"applied"`
}

// Documents returns a [Step] for each worker id, and then a [Plan].
func (t Takeover) Documents() (all []any) {
	floor := InstantOf(t.Plan.Layout, t.Plan.Floor)
	for _, s := range t.Plan.Steps {
		all = append(all, Step{"step", s.Worker, t.Source, s.Evidence, floor, s.Action, s.Note})
	}
	return append(all, Plan{
		Type: "plan", Store: t.Store, Namespace: t.Namespace, New: t.Made, Layout: t.Plan.Layout.String(), Source: t.Source,
		Floor: floor, Because: t.Plan.Because, Margin: t.Margin.Seconds(), Workers: len(t.Plan.Steps), Writes: t.Plan.Writes(), Applied: t.Applied,
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
