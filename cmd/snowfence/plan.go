package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/plan"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/text"
)

// defaultWorkers is how many workers a plan is made for that names none.
const defaultWorkers = 1024

func (p program) plan() *cobra.Command {
	var asked plan.Requirements
	var layout snowfence.Layout
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Divide an id's bits, or check what is claimed of a layout",
		Long: `Plan offers the layouts that meet requirements, best first, with how long they
last and how much they hold. If nothing fits, plan names each requirement that
you could lower, and how far.

With --layout the requirements are claims: each is answered with the real
number, even for a layout that cannot exist, and if one is false, plan offers
what fits. Exit code 1 means that the answer is no.

Rates: --rate is what all workers mint together, the load spread evenly;
--worker-rate is what any one of them must manage; --burst is how many ids one
worker must be able to mint within one tick.`,
		Example: `  snowfence plan --years 69 --workers 1024 --rate 4M
  snowfence plan --workers 8 --bits 53               exact as JavaScript numbers
  snowfence plan --layout baidu
  snowfence plan --layout 'ms 37 + server 20 + sequence 16' --years 93
  snowfence plan --layout twitter --burst 1024 --years 69`,
	}
	f := outputFlag(cmd)
	flags := cmd.Flags()
	number := func(name, help string, value *float64, text string) {
		flags.Var(&parsed[float64]{value: value, text: text, word: "N", parse: plan.ParseQuantity}, name, help)
	}
	whole := func(name, help string, value *int64, text string) {
		flags.Var(&parsed[int64]{value: value, text: text, word: "N", parse: plan.ParseCount}, name, help)
	}
	flags.SortFlags = false
	number("years", "life from the epoch on, in years", &asked.Years, strconv.Itoa(plan.CustomaryYears))
	whole("workers", "how many worker ids", &asked.Workers, strconv.Itoa(defaultWorkers))
	number("rate", "ids a second of all workers together", &asked.Rate, "")
	number("worker-rate", "ids a second of any one worker", &asked.WorkerRate, "")
	whole("burst", "ids of one worker within one tick", &asked.Burst, "")
	flags.Var(numberFlag(&asked.Bits, strconv.Itoa(plan.MaxBits), plan.MinBits, plan.MaxBits), "bits", "most bits of an id; 53 for JavaScript numbers")
	given := &parsed[snowfence.Layout]{value: &layout, word: "SPEC", parse: draft}
	flags.Var(given, "layout", "layout to check: a preset's name or a text form, also of one that does not fit")
	completeFlag(cmd, "layout", presetNames()...)

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := asked.Validate(); err != nil {
			return usage(cmd, err)
		}
		if given.text != "" {
			return p.planCheck(*f, layout, asked)
		}
		asked.Years, asked.Workers = cmp.Or(asked.Years, plan.CustomaryYears), cmp.Or(asked.Workers, defaultWorkers)
		return p.planOffer(*f, asked)
	}
	return cmd
}

// planOffer answers requirements.
func (p program) planOffer(f form, asked plan.Requirements) error {
	offer, err := plan.For(asked, snowfence.DefaultLayout().Epoch)
	if err != nil {
		return err
	}
	err = p.answer(f, struct {
		Asked plan.Requirements `json:"asked"`
		plan.Offer
	}{asked, offer}, offerTable(offer), "asked: "+askedText(asked)+"\n\n"+offerText(asked, offer))
	if err == nil && len(offer.Options) == 0 {
		p.note("no layout fits: %s", offer.Problem)
		return reported(exitFailure)
	}
	return err
}

// planCheck answers claims.
func (p program) planCheck(f form, l snowfence.Layout, claimed plan.Requirements) error {
	a, err := plan.Check(l, claimed, p.clock.Wall())
	if err != nil {
		return err
	}
	err = p.answer(f, struct {
		Asked plan.Requirements `json:"asked"`
		plan.Assessment
	}{claimed, a}, claimTable(a), checkText(l, claimed, a))
	if err == nil && !a.Holds() {
		p.note("%s: %s", a.Widths, refusal(a))
		return reported(exitFailure)
	}
	return err
}

// refusal is why a layout does not hold, in a line.
func refusal(a plan.Assessment) string {
	if a.Problem != "" {
		return a.Problem
	}
	wrong := 0
	for _, c := range a.Claims {
		if !c.Holds {
			wrong++
		}
	}
	return fmt.Sprintf("%d of %s %s false", wrong, text.Count(len(a.Claims), "claim"), text.Plural(wrong, "is", "are"))
}

// askedText lists requirements.
func askedText(r plan.Requirements) string {
	parts := []string{plan.Amount(plan.Years(r.Years), "year"), text.Count(r.Workers, "worker")}
	if r.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%s ids/s in all (%s each)", plan.Quantity(r.Rate), plan.Quantity(r.Rate/float64(r.Workers))))
	}
	if r.WorkerRate > 0 {
		parts = append(parts, plan.Quantity(r.WorkerRate)+" ids/s of any worker")
	}
	if r.Burst > 0 {
		parts = append(parts, text.Grouped(r.Burst)+" ids in a tick")
	}
	if r.Bits > 0 {
		parts = append(parts, strconv.Itoa(r.Bits)+" bits")
	}
	return strings.Join(parts, ", ")
}

// offerText is what fits, what nearly does, or what would have to give.
func offerText(asked plan.Requirements, o plan.Offer) string {
	var p page
	// options are numbered, with why each stands where it does, and how to use it.
	options := func(list []plan.Option) {
		p.WriteString(optionTable(list) + "\n")
		for i, o := range list {
			p.line("%d  %s\n   --layout %s", i+1, o.Why, o.Layout)
		}
	}
	switch {
	case len(o.Options) > 0:
		options(o.Options)
	case len(o.Relax) == 0:
		p.line("nothing fits: %s\n\nlowering one requirement alone is not enough", o.Problem)
	default:
		p.line("nothing fits: %s\n\nany one of these is enough:", o.Problem)
		for _, r := range o.Relax {
			p.line("  %s", r.Text)
		}
	}
	if len(o.Near) > 0 {
		p.line("\nclose, if a little less than %s will do:\n", plan.Amount(plan.Years(asked.Years), "year"))
		options(o.Near)
	}
	return p.String()
}

// optionTable is a line for each option, numbered.
func optionTable(options []plan.Option) string {
	rows := make([][]string, len(options))
	for i, o := range options {
		rows[i] = []string{
			strconv.Itoa(i + 1), o.Widths, plan.Years(o.Years), text.Grouped(o.Workers),
			text.Grouped(o.PerTick), plan.Quantity(o.WorkerRate), plan.Quantity(o.Rate),
		}
	}
	return table(">, layout, >years, >workers, >ids/tick, >ids/s each, >in all", rows)
}

// offerTable is the bare table: options, or else relaxations.
func offerTable(o plan.Offer) string {
	if len(o.Options) > 0 {
		return optionTable(o.Options)
	}
	rows := make([][]string, len(o.Relax))
	for i, r := range o.Relax {
		rows[i] = []string{r.Requirement, plan.Quantity(r.From), r.Text}
	}
	return table("relax, >asked, to", rows)
}

// claimTable is the layout itself and a line for each claim.
func claimTable(a plan.Assessment) string {
	layout := a.Widths
	if a.Problem != "" {
		layout += ": " + a.Problem
	}
	rows := [][]string{{"layout", strconv.FormatBool(a.Problem == ""), layout}}
	for _, c := range a.Claims {
		rows = append(rows, []string{c.Requirement, strconv.FormatBool(c.Holds), c.Answer})
	}
	return table("claim, true, answer", rows)
}

// checkText is the measure of a layout, the answers, and what fits instead.
func checkText(l snowfence.Layout, claimed plan.Requirements, a plan.Assessment) string {
	var p page
	p.line("%s, epoch %s", a.Widths, l.Epoch.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	if a.Problem != "" {
		p.line("refused: %s", a.Problem)
	}
	life := plan.Amount(plan.Years(a.Years), "year")
	if !a.Horizon.IsZero() {
		life += ", until " + a.Horizon.Format("2006-01-02")
	}
	p.line("\n  bits       %d\n  lasts      %s\n  workers    %s", a.Bits, life, text.Grouped(a.Workers))
	p.line("  ids/tick   %s of a worker; a tick is %s", text.Grouped(a.PerTick), l.Unit)
	p.line("  ids/s      %s of a worker, %s in all", plan.Quantity(a.WorkerRate), plan.Quantity(a.Rate))
	if len(a.Claims) > 0 {
		p.line("")
	}
	for _, c := range a.Claims {
		p.line("%-5v  %s", c.Holds, c.Answer)
	}
	if a.Offer != nil {
		need := claimed
		need.Workers, need.Years = cmp.Or(need.Workers, a.Workers), cmp.Or(need.Years, plan.CustomaryYears)
		p.line("\nwhat fits for %s:\n", askedText(need))
		p.WriteString(offerText(need, *a.Offer))
	}
	return p.String()
}

// draft is [plan.ParseDraft], with the shorter error of [config.ParseLayout] for a single word.
func draft(s string) (snowfence.Layout, error) {
	l, err := plan.ParseDraft(s)
	if _, short := config.ParseLayout(s); err != nil && !errors.As(short, new(*snowfence.LayoutSyntaxError)) && short != nil {
		err = short
	}
	return l, err
}
