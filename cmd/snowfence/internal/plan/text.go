package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/text"
)

// String lists the requirements.
func (r Requirements) String() string {
	parts := []string{Amount(Years(r.Years), "year"), text.Count(r.Workers, "worker")}
	if r.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%s ids/s in all (%s each)", Quantity(r.Rate), Quantity(r.Rate/float64(r.Workers))))
	}
	if r.WorkerRate > 0 {
		parts = append(parts, Quantity(r.WorkerRate)+" ids/s of any worker")
	}
	if r.Burst > 0 {
		parts = append(parts, text.Grouped(r.Burst)+" ids in a tick")
	}
	if r.Bits > 0 {
		parts = append(parts, strconv.Itoa(r.Bits)+" bits")
	}
	return strings.Join(parts, ", ")
}

// Text is what fits, what nearly does, or what would have to give.
func (o Offer) Text(asked Requirements) string {
	var p page.Page
	// options are numbered, with why each stands where it does, and how to use it.
	options := func(list []Option) {
		p.WriteString(optionTable(list) + "\n")
		for i, o := range list {
			p.Line("%d  %s\n   --layout %s", i+1, o.Why, o.Layout)
		}
	}
	switch {
	case len(o.Options) > 0:
		options(o.Options)
	case len(o.Relax) == 0:
		p.Line("nothing fits: %s\n\nlowering one requirement alone is not enough", o.Problem)
	default:
		p.Line("nothing fits: %s\n\nany one of these is enough:", o.Problem)
		for _, r := range o.Relax {
			p.Line("  %s", r.Text)
		}
	}
	if len(o.Near) > 0 {
		p.Line("\nclose, if a little less than %s will do:\n", Amount(Years(asked.Years), "year"))
		options(o.Near)
	}
	return p.String()
}

// optionTable is a line for each option, numbered.
func optionTable(options []Option) string {
	rows := make([][]string, len(options))
	for i, o := range options {
		rows[i] = []string{
			strconv.Itoa(i + 1), o.Widths, Years(o.Years), text.Grouped(o.Workers),
			text.Grouped(o.PerTick), Quantity(o.WorkerRate), Quantity(o.Rate),
		}
	}
	return page.Table(">, layout, >years, >workers, >ids/tick, >ids/s each, >in all", rows)
}

// Text is the measure of a layout, the answers, and what fits instead.
func (a Assessment) Text(l snowfence.Layout, claimed Requirements) string {
	var p page.Page
	p.Line("%s, epoch %s", a.Widths, l.Epoch.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	if a.Problem != "" {
		p.Line("refused: %s", a.Problem)
	}
	life := Amount(Years(a.Years), "year")
	if !a.Horizon.IsZero() {
		life += ", until " + a.Horizon.Format("2006-01-02")
	}
	p.Line("\n  bits       %d\n  lasts      %s\n  workers    %s", a.Bits, life, text.Grouped(a.Workers))
	p.Line("  ids/tick   %s of a worker; a tick is %s", text.Grouped(a.PerTick), l.Unit)
	p.Line("  ids/s      %s of a worker, %s in all", Quantity(a.WorkerRate), Quantity(a.Rate))
	if len(a.Claims) > 0 {
		p.Line("")
	}
	for _, c := range a.Claims {
		p.Line("%-5v  %s", c.Holds, c.Answer)
	}
	if a.Offer != nil {
		need := claimed
		need.Workers, need.Years = cmp.Or(need.Workers, a.Workers), cmp.Or(need.Years, CustomaryYears)
		p.Line("\nwhat fits for %s:\n", need)
		p.WriteString(a.Offer.Text(need))
	}
	return p.String()
}
