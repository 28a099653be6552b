package registers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/counter"
)

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
