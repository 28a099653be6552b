package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/plan"
	"snowfence.example/snowfence/internal/text"
)

// defaultWorkers is how many workers a plan is made for that names none.
const defaultWorkers = 1024

func (p program) plan() *cobra.Command {
	var asked plan.Requirements
	var layout snowfence.Layout
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Divide an id's bits, or check the claims about a layout",
		Long: `Plan offers the layouts that meet requirements, best first. With --layout the
requirements are claims about that layout, and each is answered with the real
number. Exit code 1 means that the answer is no.`,
		Example: `  snowfence plan --years 69 --workers 1024 --rate 4M
  snowfence plan --layout ms37-worker20-seq16 --years 93`,
	}
	out := p.report(cmd)
	flags := cmd.Flags()
	number := func(name, help string, value *float64, text string, parse func(string) (float64, error)) {
		flags.Var(&parsed[float64]{value: value, text: text, word: "N", parse: parse}, name, help)
	}
	flags.SortFlags = false
	number("years", "life from the epoch on, in years", &asked.Years, strconv.Itoa(plan.CustomaryYears), plan.ParseQuantity)
	number("workers", "how many worker ids", &asked.Workers, strconv.Itoa(defaultWorkers), plan.ParseCount)
	number("rate", "ids a second of all workers together", &asked.Rate, "", plan.ParseQuantity)
	number("worker-rate", "ids a second of any one worker", &asked.WorkerRate, "", plan.ParseQuantity)
	number("burst", "ids of one worker within one tick", &asked.Burst, "", plan.ParseCount)
	flags.Var(numberFlag(&asked.Bits, strconv.Itoa(plan.MaxBits), plan.MinBits, plan.MaxBits), "bits", "most bits of an id; 53 for JavaScript numbers")
	given := &parsed[snowfence.Layout]{value: &layout, word: "SPEC", parse: draft}
	flags.Var(given, "layout", "layout to check: a preset's name or a text form, also of one that does not fit")
	completeFlag(cmd, "layout", presetNames()...)

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := asked.Validate(); err != nil {
			return usage(cmd, err)
		}
		if given.text != "" {
			return out.planCheck(layout, asked)
		}
		asked.Years, asked.Workers = cmp.Or(asked.Years, plan.CustomaryYears), cmp.Or(asked.Workers, defaultWorkers)
		return out.planOffer(asked)
	}
	return cmd
}

// planOffer answers requirements.
func (out *report) planOffer(asked plan.Requirements) error {
	offer, err := plan.For(asked, snowfence.DefaultLayout().Epoch)
	if err != nil {
		return err
	}
	return out.verdict(struct {
		Asked plan.Requirements `json:"asked"`
		plan.Offer
	}{asked, offer}, fmt.Sprintf("asked: %s\n\n%s", asked, offerText(offer)), exitUnless(len(offer.Options) > 0), "no layout fits: "+offer.Problem)
}

// planCheck answers claims.
func (out *report) planCheck(l snowfence.Layout, claimed plan.Requirements) error {
	a, err := plan.Check(l, claimed, out.clock.Wall())
	if err != nil {
		return err
	}
	wrong := a.False()
	claims := fmt.Sprintf("%d of %s %s false", wrong, text.Count(len(a.Claims), "claim"), text.Plural(wrong, "is", "are"))
	return out.verdict(struct {
		Asked plan.Requirements `json:"asked"`
		plan.Assessment
	}{claimed, a}, assessmentText(l, a), exitUnless(a.Holds()), a.Widths+": "+cmp.Or(a.Problem, claims))
}

// draft is [plan.ParseDraft], with the shorter error of [config.ParseLayout] for a single word.
func draft(s string) (snowfence.Layout, error) {
	l, err := plan.ParseDraft(s)
	if _, short := config.ParseLayout(s); err != nil && short != nil {
		err = short
	}
	return l, err
}

// offerText lists the layouts that fit, or explains why none does.
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
	if len(rows) > 0 {
		p.Line("")
	} else {
		p.Line("nothing fits: %s", o.Problem)
	}
	for i, x := range o.Options {
		p.Line("%d  --layout %s", i+1, x.Layout)
	}
	return p.String()
}

// assessmentText shows the measures of a layout, the answers to the claims, and the layouts that fit instead.
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
		p.Line("\nlayouts for %s:\n", a.Offer.Need)
		p.WriteString(offerText(*a.Offer))
	}
	return p.String()
}
