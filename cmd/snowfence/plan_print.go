package main

import (
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/internal/plan"
	"snowfence.example/snowfence/internal/text"
)

// offerText says what fits, or what would have to give.
func offerText(o plan.Offer) string {
	var p page.Page
	var rows [][]string
	for i, x := range o.Options {
		rows = append(rows, []string{
			strconv.Itoa(i + 1), x.Widths, plan.Years(x.Years), text.Grouped(x.Workers),
			text.Grouped(x.PerTick), plan.Quantity(x.WorkerRate), plan.Quantity(x.Rate),
		})
	}
	p.Table("", ">, layout, >years, >workers, >ids/tick, >ids/s each, >in all", rows)
	switch {
	case len(rows) > 0:
		p.Line("")
	case len(o.Relax) == 0:
		p.Line("nothing fits: %s\n\nlowering one requirement alone is not enough", o.Problem)
	default:
		p.Line("nothing fits: %s\n\nany one of these is enough:", o.Problem)
	}
	for i, x := range o.Options {
		p.Line("%d  --layout %s", i+1, x.Layout)
	}
	for _, r := range o.Relax {
		p.Line("  %s", r.Text)
	}
	return p.String()
}

// assessmentText is the measure of a layout, the answers to the claims, and what fits instead.
func assessmentText(l snowfence.Layout, a plan.Assessment) string {
	var p page.Page
	p.Line("%s, epoch %s", a.Widths, l.Epoch.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	if a.Problem != "" {
		p.Line("refused: %s", a.Problem)
	}
	until := ""
	if !a.Horizon.IsZero() {
		until = ", until " + a.Horizon.Format(time.DateOnly)
	}
	p.Line("\n  bits       %d\n  lasts      %s%s\n  workers    %s", a.Bits, plan.Amount(plan.Years(a.Years), "years"), until, text.Grouped(a.Workers))
	p.Line("  ids/tick   %s of a worker; a tick is %s", text.Grouped(a.PerTick), l.Unit)
	p.Line("  ids/s      %s of a worker, %s in all", plan.Quantity(a.WorkerRate), plan.Quantity(a.Rate))
	if len(a.Claims) > 0 {
		p.Line("")
	}
	for _, c := range a.Claims {
		p.Line("%-5v  %s", c.Holds, c.Answer)
	}
	if a.Offer != nil {
		p.Line("\nwhat fits for %s:\n", a.Offer.Need)
		p.WriteString(offerText(*a.Offer))
	}
	return p.String()
}
