package main

import (
	"strconv"

	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// stepDocument is what is done about a worker id, in JSON.
type stepDocument struct {
	Type     string          `json:"type"` // "step"
	Worker   int64           `json:"worker"`
	Source   takeover.System `json:"source"`
	Evidence string          `json:"evidence"`
	Floor    *instant        `json:"floor"`
	Action   takeover.Action `json:"action"`
	Note     string          `json:"note,omitempty"`
}

// planDocument is a whole take-over, in JSON.
type planDocument struct {
	Type      string          `json:"type"` // "plan"
	Store     string          `json:"store"`
	Namespace string          `json:"namespace"`
	New       bool            `json:"new"` // the namespace did not exist
	Layout    string          `json:"layout"`
	Source    takeover.System `json:"source"`
	Floor     *instant        `json:"floor"`
	Because   string          `json:"because"`
	Margin    float64         `json:"margin_seconds"`
	Workers   int             `json:"workers"`
	Writes    int             `json:"writes"`
	Applied   bool            `json:"applied"`
}

// show prints a plan, or what was done; made says that the namespace is new.
func (v *importing) show(at *site, made bool, plan takeover.Plan, steps []takeover.Step, applied bool) error {
	floor, writes := instantOf(plan.Layout, plan.Floor), takeover.Plan{Steps: steps}.Writes()
	if v.form == jsonForm {
		for _, s := range steps {
			if err := v.printJSON(stepDocument{"step", s.Worker, v.old.System, s.Evidence, floor, s.Action, s.Note}); err != nil {
				return err
			}
		}
		return v.printJSON(planDocument{
			Type: "plan", Store: at.settings.ShowStore(at.store), Namespace: at.roster.Namespace, New: made, Layout: plan.Layout.String(), Source: v.old.System,
			Floor: floor, Because: plan.Because, Margin: v.old.Margin.Seconds(),
			Workers: len(steps), Writes: writes, Applied: applied,
		})
	}
	begins := plan.Layout.TimeOf(plan.Floor)
	shown := decode.FormatTime(begins, plan.Layout.Unit)
	rows := table("workers, action, >floor, time, evidence", stepRows(steps, strconv.FormatInt(int64(plan.Floor), 10), shown))
	if v.form == tableForm {
		return v.print(rows)
	}
	var p page
	p.line("take over from %s into namespace %s of %s%s", v.old.System, at.roster.Namespace, at.settings.ShowStore(at.store), map[bool]string{true: ", which is new"}[made])
	p.line("  layout  %s", plan.Layout)
	p.line("  floor   tick %d  %s  %s", plan.Floor, shown, decode.Relative(begins, v.clock.Wall()))
	p.line("  because %s, plus a margin of %s\n", plan.Because, v.old.Margin)
	p.WriteString(rows + "\n")
	p.line("%d worker ids; %d %s", len(steps), writes, map[bool]string{true: "written", false: "to be written"}[applied])
	return v.print(p.String())
}

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
