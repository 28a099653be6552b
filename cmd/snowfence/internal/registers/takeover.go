package registers

import (
	"iter"
	"strconv"
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
	Plan             takeover.Plan
	Steps            []takeover.Step
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

// Documents yields a [Step] for each worker id, and then a [Plan].
func (t Takeover) Documents() iter.Seq[any] {
	return func(yield func(any) bool) {
		floor := InstantOf(t.Plan.Layout, t.Plan.Floor)
		for _, s := range t.Steps {
			if !yield(Step{"step", s.Worker, t.Source, s.Evidence, floor, s.Action, s.Note}) {
				return
			}
		}
		yield(Plan{
			Type: "plan", Store: t.Store, Namespace: t.Namespace, New: t.Made, Layout: t.Plan.Layout.String(), Source: t.Source,
			Floor: floor, Because: t.Plan.Because, Margin: t.Margin.Seconds(), Workers: len(t.Steps), Writes: t.writes(), Applied: t.Applied,
		})
	}
}

// Text is the takeover for people.
func (t Takeover) Text(now time.Time) string {
	var p page.Page
	begins := t.Plan.Layout.TimeOf(t.Plan.Floor)
	shown := decode.FormatTime(begins, t.Plan.Layout.Unit)
	p.Line("take over from %s into namespace %s of %s%s", t.Source, t.Namespace, t.Store, map[bool]string{true: ", which is new"}[t.Made])
	p.Line("  layout  %s", t.Plan.Layout)
	p.Line("  floor   tick %d  %s  %s", t.Plan.Floor, shown, decode.Relative(begins, now))
	p.Line("  because %s, plus a margin of %s\n", t.Plan.Because, t.Margin)
	p.Table("", "workers, action, >floor, time, evidence", stepRows(t.Steps, strconv.FormatInt(int64(t.Plan.Floor), 10), shown))
	p.Line("\n%d worker ids; %d %s", len(t.Steps), t.writes(), map[bool]string{true: "written", false: "to be written"}[t.Applied])
	return p.String()
}

func (t Takeover) writes() int { return takeover.Plan{Steps: t.Steps}.Writes() }

// stepRows are the rows of a plan. Neighbours that differ in the worker id alone share one.
func stepRows(steps []takeover.Step, floor, at string) [][]string {
	var rows [][]string
	for i := 0; i < len(steps); {
		s, workers := steps[i], text.Range{First: steps[i].Worker, Last: steps[i].Worker}
		for i++; i < len(steps) && steps[i].Worker == workers.Last+1 && steps[i].Action == s.Action && steps[i].Evidence == s.Evidence && steps[i].Note == s.Note; i++ {
			workers.Last++
		}
		evidence := s.Evidence
		if s.Note != "" {
			evidence += " (" + s.Note + ")"
		}
		rows = append(rows, []string{workers.String(), string(s.Action), floor, at, evidence})
	}
	return rows
}
