package registers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
)

// NamespaceOf returns a namespace as JSON has it.
func NamespaceOf(r *roster.Roster) page.Object {
	l, record, traits := r.Layout(), r.Record(), r.Traits()
	return page.Object{
		"namespace", r.Name(), "layout", record.Layout, "presets", decode.PresetsOf(l),
		"epoch", l.Epoch.UTC().Format(time.RFC3339Nano), "horizon", horizonText(l),
		"workers", l.Workers(), "capacity", r.Capacity(), "ids_per_second_and_worker", l.RatePerWorker(),
		"datacenters", append([]int64{}, record.Datacenters...), "incarnation", record.Incarnation, "created", record.Created.Format(time.RFC3339Nano),
		"store", page.Object{"engine", traits.Engine, "durable", traits.Durable, "loss_seconds", traits.Loss.Seconds(), "one_host", traits.OneHost},
		"clocks", ClocksOf(r),
	}
}

// horizonText is a layout's horizon to its unit.
func horizonText(l snowfence.Layout) string { return decode.FormatTime(l.Horizon(), l.Unit) }

// FindingOf returns a finding as JSON has it, and as a line of text. A finding without workers is about another key.
func FindingOf(x roster.Finding) (page.Object, string) {
	workers := slices.DeleteFunc(append([]int64{}, x.Workers...), func(n int64) bool { return n == roster.Stray })
	which := x.Key
	if len(workers) > 0 {
		which = "worker " + strings.ReplaceAll(strings.Trim(fmt.Sprint(workers), "[]"), " ", ",")
	}
	return page.Object{"type", "finding", "severity", x.Severity, "check", x.Check, "workers", workers, "key", x.Key, "text", x.Text},
		fmt.Sprintf("%s: %s: %s: %s\n", x.Severity, which, x.Check, x.Text)
}

// Verdict is the result of verify.
type Verdict struct {
	Namespace string
	Registers int64
	Found     map[roster.Severity]int64 // how many findings there are
	IDs       uint64                    // compared
	Pages     int64                     // of journals, compared
	Clocks    page.Object
}

// Document is the verdict in JSON.
func (v Verdict) Document() page.Object {
	return page.Object{
		"type", "verdict", "namespace", v.Namespace, "valid", v.Found[roster.Fault] == 0, "registers", v.Registers,
		"errors", v.Found[roster.Fault], "warnings", v.Found[roster.Warning], "notes", v.Found[roster.Note],
		"ids", v.IDs, "journal_pages", v.Pages, "clocks", v.Clocks,
	}
}

// Text is the verdict in a line.
func (v Verdict) Text() string {
	word, known := "valid", "nothing is known from a journal"
	if v.Found[roster.Fault] > 0 {
		word = "not valid"
	}
	if v.Pages > 0 {
		known = text.Count(v.Pages, "page") + " of journals compared"
	}
	return fmt.Sprintf("namespace %s: %s; %d registers read, %d errors, %d warnings, %d notes; %s compared; %s\n", v.Namespace, word,
		v.Registers, v.Found[roster.Fault], v.Found[roster.Warning], v.Found[roster.Note], text.Count(v.IDs, "id"), known)
}

// CounterOf returns a counter as JSON has it, with the next number of each date.
func CounterOf(i counter.Info) page.Object {
	var next []page.Object
	for _, lane := range i.Lanes {
		next = append(next, page.Object{"date?", lane.Name, "next", fmt.Sprint(lane.Next)})
	}
	return page.Object{
		"type", "counter", "namespace", i.Namespace, "name", i.Name, "kind", i.Kind,
		"start", fmt.Sprint(i.Start), "increment", fmt.Sprint(i.Increment), "limit", fmt.Sprint(i.Limit), "zone?", i.Zone, "digits?", i.Digits,
		"next", next, "created", i.Created.UTC().Format(time.RFC3339), "written", i.Written.UTC().Format(time.RFC3339), "by", i.Process.String(),
	}
}

// CounterColumns are the columns of a table of counters.
const CounterColumns = "counter,kind,date,next,limit,written,by"

// CounterRows returns a row of a table for each next number of a counter. Each row begins with the cells.
func CounterRows(i counter.Info, cells ...string) [][]string {
	var rows [][]string
	for _, lane := range i.Lanes {
		rows = append(rows, slices.Concat(cells, []string{
			i.Name, i.Kind, lane.Name, fmt.Sprint(lane.Next), fmt.Sprint(i.Limit), i.Written.UTC().Format(time.RFC3339), i.Process.String(),
		}))
	}
	return rows
}
