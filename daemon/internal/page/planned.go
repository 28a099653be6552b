package page

import (
	"net/url"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/plan"
)

// defaultWorkers is the number of worker ids in a plan where the query leaves it out, as on the command line.
const defaultWorkers = 1024

// planOf answers the requirements of a query.
func planOf(q url.Values) (*Plan, error) {
	need := plan.Requirements{Years: plan.CustomaryYears, Workers: defaultWorkers}
	values := []*float64{&need.Years, &need.Workers, &need.WorkerRate}
	for i, name := range []string{"years", "workers", "rate"} {
		text, parse := q.Get(name), plan.ParseQuantity
		if name == "workers" {
			parse = plan.ParseCount
		}
		if text != "" {
			var err error
			if *values[i], err = parse(text); err != nil {
				return nil, &QueryError{name, text, "must be a number above 0, such as 1024, 10k or 4M"}
			}
		}
	}
	offer, err := plan.For(need, snowfence.DefaultLayout().Epoch)
	if err != nil {
		name, limit, _ := strings.Cut(err.Error(), ": ")
		return nil, &QueryError{name, q.Get(name), limit}
	}
	answer := &Plan{Years: need.Years, Workers: need.Workers, Rate: need.WorkerRate, Fits: []Fit{}, Misfits: []Misfit{}}
	for _, o := range offer.Options {
		answer.Fits = append(answer.Fits, Fit{
			Layout: o.Layout.String(), Widths: o.Widths, Fields: decode.FieldsOf(o.Layout), Years: o.Years, Ends: o.Horizon,
			Workers: strconv.FormatInt(o.Workers, 10), PerTick: strconv.FormatInt(o.PerTick, 10), EachRate: o.WorkerRate, Rate: o.Rate,
		})
	}
	for _, m := range offer.Misfits {
		answer.Misfits = append(answer.Misfits, Misfit{m.Name, plan.Widths(m.Layout), decode.FieldsOf(m.Layout), m.Why})
	}
	return answer, nil
}
