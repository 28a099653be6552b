package registers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
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
	rows := [][]string{
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
	}
	var said page.Page
	for _, row := range rows {
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

// Verdict is the result of verify, in JSON.
type Verdict struct {
	Type      string      `json:"type"` // "verdict"
	Namespace string      `json:"namespace"`
	Valid     bool        `json:"valid"`
	Registers int64       `json:"registers"`
	Errors    int64       `json:"errors"`
	Warnings  int64       `json:"warnings"`
	Notes     int64       `json:"notes"`
	IDs       uint64      `json:"ids"`           // compared
	Pages     int64       `json:"journal_pages"` // compared
	Clocks    page.Object `json:"clocks"`
}

// Add counts a finding.
func (v *Verdict) Add(x roster.Finding) {
	switch x.Severity {
	case roster.Fault:
		v.Errors++
	case roster.Warning:
		v.Warnings++
	default:
		v.Notes++
	}
}

// Text is the verdict in a line.
func (v Verdict) Text() string {
	word, known := "valid", "nothing is known from a journal"
	if !v.Valid {
		word = "not valid"
	}
	if v.Pages > 0 {
		known = text.Count(v.Pages, "page") + " of journals compared"
	}
	return fmt.Sprintf("namespace %s: %s; %d registers read, %d errors, %d warnings, %d notes; %s compared; %s\n",
		v.Namespace, word, v.Registers, v.Errors, v.Warnings, v.Notes, text.Count(v.IDs, "id"), known)
}
