package page

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/plan"
)

// defaultWorkers is how many worker ids are planned for where the query has none, as on the command line.
const defaultWorkers = 1024

// plan answers the requirements of a query.
func (p *Page) plan(q url.Values) (*Plan, error) {
	need := plan.Requirements{Years: plan.CustomaryYears, Workers: defaultWorkers}
	for _, part := range []struct {
		name  string
		value *float64
		parse func(string) (float64, error)
	}{{"years", &need.Years, plan.ParseQuantity}, {"workers", &need.Workers, plan.ParseCount}, {"rate", &need.WorkerRate, plan.ParseQuantity}} {
		if text := q.Get(part.name); text != "" {
			var err error
			if *part.value, err = part.parse(text); err != nil {
				return nil, &QueryError{part.name, text, "must be a number above 0, such as 1024, 10k or 4M"}
			}
		}
	}
	offer, err := plan.For(need, snowfence.DefaultLayout().Epoch)
	if err != nil {
		name, limit, _ := strings.Cut(err.Error(), ": ")
		return nil, &QueryError{name, q.Get(name), limit}
	}
	answer := &Plan{Years: need.Years, Workers: need.Workers, Rate: need.WorkerRate, Fits: []Fit{}, Misfits: []Misfit{}, Relaxing: []string{}}
	for _, o := range offer.Options {
		answer.Fits = append(answer.Fits, Fit{
			Layout: o.Layout.String(), Widths: o.Widths, Fields: decode.SpansOf(o.Layout), Years: o.Years, Ends: o.Horizon,
			Workers: strconv.FormatInt(o.Workers, 10), PerTick: strconv.FormatInt(o.PerTick, 10), EachRate: o.WorkerRate, Rate: o.Rate,
		})
	}
	for _, l := range offer.TooWide {
		bits := l.TotalBits()
		answer.misfit("ticks of "+l.Unit.String(), l, fmt.Sprintf("%d bits, %d more than the %d of an id", bits, bits-plan.MaxBits, plan.MaxBits))
	}
	for _, preset := range snowfence.Presets() {
		a, err := plan.Check(preset.Layout, need, p.Clock.Wall())
		if err != nil || a.Holds() {
			continue
		}
		var why []string
		for _, c := range a.Claims {
			if !c.Holds {
				why = append(why, c.Answer)
			}
		}
		answer.misfit(preset.Name, preset.Layout, cmp.Or(a.Problem, strings.Join(why, "; ")))
	}
	for _, r := range offer.Relax {
		answer.Relaxing = append(answer.Relaxing, r.Text)
	}
	return answer, nil
}

func (p *Plan) misfit(name string, l snowfence.Layout, why string) {
	p.Misfits = append(p.Misfits, Misfit{name, plan.Widths(l), decode.SpansOf(l), why})
}
