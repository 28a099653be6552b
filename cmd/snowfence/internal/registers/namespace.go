package registers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/plan"
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

// NamespaceText is a namespace in full.
func NamespaceText(r *roster.Roster) string {
	l, record, traits := r.Layout(), r.Record(), r.Traits()
	now := r.Now()
	at := func(t time.Time) string { return decode.FormatTime(t, l.Unit) + "  " + decode.Relative(t, now) }
	layout := record.Layout
	presets := decode.PresetsOf(l)
	if len(presets) > 0 {
		layout += "  (" + strings.Join(presets, ", ") + ")"
	}
	datacenters := "all that the layout has"
	switch {
	case len(record.Datacenters) > 0:
		datacenters = strings.Trim(fmt.Sprint(record.Datacenters), "[]") + " of " + strconv.FormatInt(1<<l.Bits(snowfence.Datacenter), 10)
	case !hasDatacenter(l):
		datacenters = "none in this layout"
	}
	clocks := "the store has none; this host's is used"
	if byStore, ahead := r.Reference(); byStore {
		clocks = "the store's is used; this host's is " + apart(ahead)
	}
	var said page.Page
	for _, row := range [][2]string{
		{"namespace", r.Name()},
		{"layout", layout},
		{"epoch", at(l.Epoch)},
		{"horizon", horizonText(l) + "  " + decode.Relative(l.Horizon(), now)},
		{"worker ids", fmt.Sprintf("%d of the layout's %d", r.Capacity(), l.Workers())},
		{"datacenters", datacenters},
		{"rate", fmt.Sprintf("%s ids a second and worker id, %s in all", plan.Quantity(l.RatePerWorker()), plan.Quantity(l.RatePerWorker()*float64(r.Capacity())))},
		{"incarnation", record.Incarnation},
		{"created", decode.FormatTime(record.Created, time.Millisecond) + "  " + decode.Relative(record.Created, now)},
		{"store", traits.String()},
		{"clock", clocks},
	} {
		said.Line("%-13s %s", row[0], row[1])
	}
	return said.String()
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

// CounterText is a counter in full.
func CounterText(i counter.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "counter   %s, a %s of namespace %s\nnumbers   from %d by %d up to %d\n", i.Name, i.Kind, i.Namespace, i.Start, i.Increment, i.Limit)
	if i.Digits > 0 {
		fmt.Fprintf(&b, "dates     of %s, %d digits\n", i.Zone, i.Digits)
	}
	for _, lane := range i.Lanes {
		fmt.Fprintf(&b, "next      %s\n", strings.TrimSpace(lane.Name+" "+strconv.FormatInt(lane.Next, 10)))
	}
	fmt.Fprintf(&b, "created   %s\nwritten   %s by %s\n", i.Created.UTC().Format(time.RFC3339), i.Written.UTC().Format(time.RFC3339), i.Process)
	return b.String()
}
