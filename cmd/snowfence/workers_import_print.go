package main

import (
	"fmt"
	"strconv"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
)

// stepDocument is what is done about a worker id, in JSON.
type stepDocument struct {
	Type     string          `json:"type"` // "step"
	Worker   int64           `json:"worker"`
	Source   source          `json:"source"`
	Evidence string          `json:"evidence"`
	Floor    *instant        `json:"floor"`
	Action   takeover.Action `json:"action"`
	Note     string          `json:"note,omitempty"`
}

// planDocument is a whole take-over, in JSON.
type planDocument struct {
	Type      string   `json:"type"` // "plan"
	Namespace string   `json:"namespace"`
	New       bool     `json:"new"` // the namespace did not exist
	Layout    string   `json:"layout"`
	Source    source   `json:"source"`
	Floor     *instant `json:"floor"`
	Because   string   `json:"because"`
	Margin    float64  `json:"margin_seconds"`
	Workers   int      `json:"workers"`
	Writes    int      `json:"writes"`
	Applied   bool     `json:"applied"`
}

// show prints a plan, or what was done; made says that the namespace is new.
func (v *importing) show(at *site, made bool, plan takeover.Plan, steps []takeover.Step, applied bool) error {
	done := takeover.Plan{Steps: steps}
	if v.form == jsonForm {
		for _, s := range steps {
			if err := v.printJSON(stepDocument{"step", s.Worker, v.source, s.Evidence, instantOf(plan.Layout, plan.Floor), s.Action, s.Note}); err != nil {
				return err
			}
		}
		return v.printJSON(planDocument{
			Type: "plan", Namespace: at.roster.Namespace, New: made, Layout: plan.Layout.String(), Source: v.source,
			Floor: instantOf(plan.Layout, plan.Floor), Because: plan.Because, Margin: v.margin.Seconds(),
			Workers: len(steps), Writes: done.Writes(), Applied: applied,
		})
	}
	rows := table(
		[]column{{"workers", false}, {"action", false}, {"floor", true}, {"time", false}, {"evidence", false}},
		stepRows(plan, steps))
	if v.form == tableForm {
		return v.print(rows)
	}
	floor := plan.Layout.TimeOf(plan.Floor)
	var b strings.Builder
	fmt.Fprintf(&b, "take over from %s into namespace %s", v.source, at.roster.Namespace)
	if made {
		b.WriteString(", which is new")
	}
	fmt.Fprintf(&b, "\n  layout  %s\n  floor   tick %d  %s  %s\n  because %s, plus a margin of %s\n\n%s\n",
		plan.Layout, plan.Floor, decode.FormatTime(floor, plan.Layout.Unit), decode.Relative(floor, v.clock.Wall()), plan.Because, v.margin, rows)
	count := "%d worker ids; %d to be written\n"
	if applied {
		count = "%d worker ids; %d written\n"
	}
	fmt.Fprintf(&b, count, len(steps), done.Writes())
	return v.print(b.String())
}

// stepRows are the rows of a plan; neighbours that have all in common share one.
func stepRows(plan takeover.Plan, steps []takeover.Step) [][]string {
	at := decode.FormatTime(plan.Layout.TimeOf(plan.Floor), plan.Layout.Unit)
	var rows [][]string
	for i := 0; i < len(steps); {
		s, j := steps[i], i+1
		for j < len(steps) && steps[j].Worker == steps[j-1].Worker+1 && steps[j].Action == s.Action && steps[j].Evidence == s.Evidence && steps[j].Note == s.Note {
			j++
		}
		workers := strconv.FormatInt(s.Worker, 10)
		if j > i+1 {
			workers += "-" + strconv.FormatInt(steps[j-1].Worker, 10)
		}
		evidence := s.Evidence
		if s.Note != "" {
			evidence += " (" + s.Note + ")"
		}
		rows = append(rows, []string{workers, string(s.Action), strconv.FormatInt(int64(plan.Floor), 10), at, evidence})
		i = j
	}
	return rows
}
