package overlap_test

import (
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// What Twitter's layout issues in one year, the default layout issues when it has
// come as far from its own epoch: unless their worker ids have other bits.
func ExampleEarliest() {
	all := func(layout string, workers overlap.Workers) overlap.Set {
		l, err := snowfence.ParseLayout(layout)
		if err != nil {
			fmt.Println(err)
		}
		return overlap.Set{Layout: l, Ticks: overlap.AllTicks(l), Workers: workers}
	}
	twitter, ours := all("twitter", overlap.Workers{First: 0, Last: 3}), all("default", overlap.Workers{First: 0, Last: 1023})
	since := twitter
	since.Ticks.First = since.Layout.TickAt(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	m, ok := overlap.Earliest(since, ours)
	fmt.Println(ok, m.At.Format(time.DateOnly), m.ID)
	fmt.Println(overlap.Meet(twitter, all("default", overlap.Workers{First: 4, Last: 1023})))
	// Output:
	// true 2035-02-27 1212161512043446272
	// false
}
